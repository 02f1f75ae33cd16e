/** Answers the page's questions about the work on branches. */
import type { branchQuestions } from '../contract/branches.ts'
import type { Handlers } from '../contract/question.ts'
import type { At } from '../contract/values.ts'
import type { Window } from '../server/window.ts'
import { discard, messageForSave, save } from './branch-commits.ts'
import { deleteBranch, deletionOf, newBranch } from './branch-operations.ts'
import { draftsElsewhere, draftsOnto, saveElsewhere } from './branch-split.ts'
import { setUpstream } from './branch-upstream.ts'
import { copyFiles } from './copies.ts'
import { deletedFile, restoreFile } from './deleted-files.ts'
import { NotAnEdit } from './documents.ts'
import { addFiles, addOrReplaceFiles, deleteFiles, move } from './file-operations.ts'
import { changeLineEnds } from './line-ends.ts'
import { setExecutable } from './modes.ts'
import type { OpenBranches } from './open-branches.ts'
import { saveParts, takeBackParts } from './parts.ts'
import { closeFile, isSamePlace, openFile } from './places.ts'
import { pathsNow } from './renamed-files.ts'
import { replaceInFiles } from './replace-in-files.ts'
import { applyStash } from './stash-drafts.ts'
import { dropStashAt } from './stash-drops.ts'
import { shownOperations } from './undo.ts'
import { addUnsentText } from './unsent-text.ts'

/** At most this many operations in one reply. */
const MAX_OPERATIONS = 500

/** The questions answered here: those about branches that do not also concern chats, which work.ts answers. */
type OwnQuestions = Omit<
  typeof branchQuestions,
  'rename branch' | 'restore branch' | 'undo' | 'redo' | 'why not reversed'
>

export function branchHandlers(branches: OpenBranches): Handlers<OwnQuestions, Window> {
  const work = (branch: string) => branches.work(branch)
  return {
    async open({ at, path }, window) {
      const file = await openFile(branches, at, path)
      if (!window.isGone) window.shown.push({ at, path })
      // The window was closed while the file was read.
      else await closeFile(branches, at, path)
      return file
    },
    /** Closes a file for a window, unless it has not opened it. It may not know yet that the branch was renamed. */
    async close({ at, path }, { shown }) {
      const placeIn = (wanted: At) => shown.findIndex(it => it.path === path && isSamePlace(it.at, wanted))
      const isKnown = at.kind === 'commit' || placeIn(at) >= 0
      const now: At = isKnown ? at : { kind: 'branch', branch: await branches.nameNow(at.branch) }
      const place = placeIn(now)
      if (place < 0) return
      shown.splice(place, 1)
      await closeFile(branches, now, path)
    },
    async edit({ branch, path, version, edits }) {
      const there = await work(branch)
      try {
        const taken = there.edit(path, version, edits)
        // The edits reach all windows as news.
        return taken.accepted ? { accepted: true } : taken
      } catch (error) {
        if (!(error instanceof NotAnEdit)) throw error
        return { accepted: false, refused: error.message, isOfOtherText: true }
      }
    },
    async 'add unsent text'({ branch: before, since, ...typed }) {
      const branch = await branches.nameNow(before)
      const now = since === undefined ? undefined : await pathsNow(branches, branch, { since, paths: [typed.path] })
      const [path = typed.path] = now?.paths ?? []
      // The commit of the old path would show the renamed file as a new one.
      const from = path === typed.path ? since : undefined
      return { branch, path, ...(await addUnsentText(await work(branch), { ...typed, path, since: from })) }
    },
    save: async ({ branch, paths, message }) => ({ commit: await save(await work(branch), paths, message) }),
    'save parts': async ({ branch, parts, message }) => ({
      commit: await saveParts(await work(branch), parts, message),
    }),
    'take back': async ({ branch, commit, parts }) => await takeBackParts(await work(branch), commit, parts),
    'apply stash': async ({ branch, commit }) => await applyStash(await work(branch), commit),
    'drop stash': ({ commit }) => dropStashAt(branches, commit),
    'follow again': ({ branch }) => branches.room.checkouts.followAgain(branch),
    'save elsewhere': async ({ branch, to }) => ({ commit: await saveElsewhere(branches, branch, to) }),
    async 'drafts elsewhere'({ branch, from, to }, window) {
      const gone = await draftsElsewhere(branches, branch, from, to)
      window.tellOthers({ say: 'drafts moved', branch, to, ...gone })
      return gone
    },
    async 'drafts onto'({ branch, to }, window) {
      const gone = await draftsOnto(branches, branch, to)
      window.tellOthers({ say: 'drafts moved', branch, to, ...gone })
      return gone
    },
    async discard({ branch, paths }, window) {
      const gone = await discard(await work(branch), paths)
      window.tellOthers({ say: 'files gone', branch, ...gone })
      return gone
    },
    'replace in files': async ({ branch, ...wanted }) => await replaceInFiles(await work(branch), wanted),
    'change line ends': async ({ branch, path, lineEnd }) => ({
      isChanged: await changeLineEnds(await work(branch), path, lineEnd),
    }),
    'set executable': async ({ branch, path, isExecutable }) =>
      await setExecutable(await work(branch), path, isExecutable),
    message: async ({ branch, paths }) => ({ message: await messageForSave(await work(branch), paths) }),
    'new file': async ({ branch, path }) => await addFiles(await work(branch), [{ path, bytes: new Uint8Array() }]),
    'add files': async ({ branch, files, isReplacing }) => {
      const added = files.map(({ path, base64 }) => ({ path, bytes: Buffer.from(base64, 'base64') }))
      return { existing: await addOrReplaceFiles(await work(branch), added, isReplacing) }
    },
    copy: async ({ branch, ...wanted }) => ({ paths: await copyFiles(branches, await work(branch), wanted) }),
    move: async ({ branch, moves }) => await move(await work(branch), moves),
    'restore file': async ({ branch, path }) => await restoreFile(await work(branch), path),
    'deleted file': async ({ branch, path }) => await deletedFile(await work(branch), path),
    delete: async ({ branch, paths }) => ({ operation: await deleteFiles(await work(branch), paths) }),
    'new branch': ({ branch, from, tracks }) => newBranch(branches, branch, from, tracks),
    'set upstream': ({ branch, upstream }) => setUpstream(branches, branch, upstream),
    'branch deletion': async ({ branch }) => await deletionOf(branches, branch),
    'delete branch': ({ branch, ...seen }) => deleteBranch(branches, branch, seen),
    'name now': async ({ branch }) => ({ branch: await branches.nameNow(branch) }),
    'paths now': async ({ branch, ...asked }) => await pathsNow(branches, branch, asked),
    operations: ({ from, count }) => shownOperations(branches, from, Math.min(count, MAX_OPERATIONS)),
  }
}
