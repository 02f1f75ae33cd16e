/** What can be done with commits, branches, tags and remotes: each by a dialog that shows it before it happens. */
import type { Source } from '../../contract/steps.ts'
import { sentence, undo } from '../app/actions.ts'
import type { StepWay } from '../app/dialog-content.ts'
import type { Page } from '../app/state.ts'
import { goToFirstConflict } from '../merging/merging-actions.ts'
import { readable, toName } from '../ui/names.ts'
import { buttonOf, explain, stepOf, titleInto, WAYS, type Way } from './step-ways.ts'

/** Opens the dialog of a source that was dropped on a branch, or that one was chosen for. */
export function openSteps(page: Page, source: Source, onto: string, first: Way = 'merge'): void {
  const target = page.branch(onto)
  const ways = WAYS.flatMap((way): StepWay[] => {
    const step = stepOf(way, source, onto, target?.tip)
    if (!step) return []
    return [{ key: way, words: buttonOf(way), button: buttonOf(way), explains: explain(way, source, onto), step }]
  })
  const at = ways.findIndex(({ key }) => key === first)
  page.dialog.value = {
    kind: 'step',
    title: `${readable(source.words)} → ${readable(onto)}`,
    ways,
    first: Math.max(0, at),
    isDone: done => finish(page, done),
  }
}

/** One notice is about what was done last here. */
const TOPIC = 'step'

/** Until something else is done: what is undone by then is another operation. */
export function untilMore(page: Page): (page: Page) => boolean {
  const before = page.desk.peek()?.canUndo
  let own: string | undefined
  return ({ desk }) => {
    const now = desk.value?.canUndo
    if (own === undefined && now !== before) own = now
    return own === undefined || now === own
  }
}

/** Says what was done, with a way back, and shows where a person goes on. */
function finish(
  page: Page,
  { words, merging, isUndoable }: { words: string; merging?: string; isUndoable: boolean },
): void {
  page.notify({
    topic: TOPIC,
    tone: merging === undefined ? 'plain' : 'warn',
    title: sentence(words),
    lasts: merging === undefined ? untilMore(page) : now => now.branch(merging)?.merging !== undefined,
    ...(isUndoable && { actions: [{ words: 'Undo', run: () => void undo(page) }] }),
  })
  page.spoken.value = words
  if (merging === undefined) {
    page.graph.focusWanted.value++
    return
  }
  goToFirstConflict(page, page.open({ kind: 'branch', branch: merging }))
}

/** Asks for the branch first: each with the word of how this would come out there. */
export function chooseTarget(page: Page, source: Source, way: Way): void {
  page.dialog.value = {
    kind: 'target',
    title: titleInto(way, source),
    source,
    way,
    run: onto => openSteps(page, source, onto, way),
  }
}

export function newBranchAt(page: Page, { commit, words }: Source): void {
  page.dialog.value = {
    kind: 'ask',
    title: 'New branch',
    label: `Its name; it begins at ${readable(words)}`,
    value: '',
    button: 'Make',
    run: async typed => {
      const branch = toName(typed)
      await page.connection.ask('new branch', { branch, from: commit })
      page.open({ kind: 'branch', branch })
    },
  }
}

export function tagAt(page: Page, { commit, words }: Source): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Tag ${readable(words)}`,
    label: 'The name of the tag',
    value: '',
    button: 'Tag',
    hint: 'It stays on this machine until it is pushed.',
    run: async typed => {
      const { words: said } = await page.connection.ask('do', {
        step: { step: 'tag', name: toName(typed), at: commit },
      })
      finish(page, { words: said, isUndoable: true })
    },
  }
}

export function deleteTag(page: Page, name: string): void {
  page.dialog.value = {
    kind: 'confirm',
    title: `Delete the tag ${readable(name)}?`,
    words: ['The commit stays where it is, and a remote keeps its own tag. Undo brings it back.'],
    button: 'Delete',
    isDangerous: true,
    run: async () => {
      const { words } = await page.connection.ask('do', { step: { step: 'delete tag', name } })
      finish(page, { words, isUndoable: true })
    },
  }
}

/** Fetches at once: it moves no branch of this machine. */
export async function fetchRemotes(page: Page, remote?: string): Promise<void> {
  if (page.graph.progress.peek() !== undefined) return
  page.graph.progress.value = 'Fetching…'
  try {
    const { words } = await page.connection.ask('do', { step: { step: 'fetch', ...(remote && { remote }) } })
    page.spoken.value = words
    page.notify({ topic: TOPIC, tone: 'plain', title: sentence(words) })
  } catch (error) {
    page.complain(error, { topic: TOPIC })
  } finally {
    page.graph.progress.value = undefined
  }
}

export function pull(page: Page, branch: string): void {
  const way = (how: 'fast-forward' | 'merge' | 'rebase', words: string, explains: string): StepWay => ({
    key: how,
    words,
    button: 'Pull',
    explains,
    step: { step: 'pull', branch, how },
  })
  const name = readable(branch)
  const from = readable(page.branch(branch)?.upstream?.name ?? 'its upstream branch')
  page.dialog.value = {
    kind: 'step',
    title: `Pull ${from} into ${name}`,
    ways: [
      way('fast-forward', 'Fast-forward', `${name} moves forward to ${from}, if it has no commits of its own.`),
      way('merge', 'Merge', `Merges ${from} into ${name}.`),
      way('rebase', 'Rebase', `Rebases the commits that only ${name} has onto ${from}.`),
    ],
    fetchesFor: branch,
    first: (page.branch(branch)?.upstream?.ahead ?? 0) > 0 ? 1 : 0,
    isDone: done => finish(page, done),
  }
}

export function push(page: Page, branch: string): void {
  const remotes = page.graph.refs.peek()?.remotes.map(({ name }) => name) ?? []
  const followed = page.branch(branch)?.upstream?.name ?? ''
  const own =
    remotes.find(name => followed.startsWith(`${name}/`)) ?? (remotes.includes('origin') ? 'origin' : remotes[0])
  if (own === undefined) {
    page.complain('There is no remote to push to: add one with git remote add.', { topic: TOPIC })
    return
  }
  const ways = [own, ...remotes.filter(name => name !== own)].flatMap((remote): StepWay[] => [
    {
      key: remote,
      words: `To ${readable(remote)}`,
      button: 'Push',
      explains: `Adds the commits of ${readable(branch)} that ${readable(remote)} does not have yet.`,
      step: { step: 'push', branch, remote, isForced: false },
    },
    {
      key: `${remote} forced`,
      words: `Force push to ${readable(remote)}`,
      button: 'Force push with lease',
      isDangerous: true,
      explains: `Overwrites the branch on ${readable(remote)} (git push --force-with-lease), unless it has moved since the last fetch.`,
      step: { step: 'push', branch, remote, isForced: true },
    },
  ])
  page.dialog.value = {
    kind: 'step',
    title: `Push ${readable(branch)}`,
    ways,
    first: 0,
    pull: () => pull(page, branch),
    isDone: done => finish(page, { ...done, isUndoable: false }),
  }
}

export function stopStep(page: Page): void {
  page.connection.ask('stop step', {}).catch(error => page.complain(error))
}
