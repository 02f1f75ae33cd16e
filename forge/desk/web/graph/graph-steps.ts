/** The steps on commits, branches, tags and remotes: each opens a dialog with a preview. */
import { signal } from '@preact/signals'
import type { CommitRow } from '../../contract/reading.ts'
import type { Source } from '../../contract/steps.ts'
import { STEP_TOPIC, showDone } from '../merging/after-step.ts'
import { tagWarnings } from '../page/case-twins.ts'
import { type Choice, following, type PickContent, type StepContent, type StepWay } from '../page/dialog-content.ts'
import { type RemoteBranch, remoteBranches } from '../page/remote-branches.ts'
import type { Page } from '../page/state.ts'
import { branchesToPick, choiceOf, finish, openSteps } from '../steps/source-steps.ts'
import { branchSource, commitSource, nameAfter, sourceAfter } from '../steps/step-ways.ts'
import { baseName, folderOf, named, readable, shortId, toName, typedName, withoutTricks } from '../ui/names.ts'
import { byVersion } from '../ui/versions.ts'

/** Everything that can be merged into a branch or be a rebase's new base: other branches, remote branches and tags. */
function sourcesFor(page: Page, branch: string): (Omit<Choice, 'run'> & { source: Source })[] {
  const refs = page.graph.refs.value
  const local = branchesToPick(page)
    .filter(({ name }) => name !== branch)
    .map(info => ({ ...choiceOf(info), source: branchSource(info.name, info.tip) }))
  const remote = (refs?.remotes ?? []).flatMap(({ name: remote, branches }) =>
    branches.map(({ ref, name, tip }) => {
      const words = `${remote}/${name}`
      return { key: ref, kind: 'remote branch' as const, icon: 'cloud' as const, words, source: { commit: tip, words } }
    }),
  )
  const tags = byVersion(refs?.tags ?? []).map(({ ref, name, tip }) => {
    return { key: ref, kind: 'tag' as const, icon: 'tag' as const, words: name, source: { commit: tip, words: name } }
  })
  return [...local, ...remote, ...tags]
}

/** Asks what to merge into a branch. */
export function mergeInto(page: Page, branch: string): void {
  page.graph.needRefs()
  page.dialog.value = following(branch, it => mergeIntoContent(page, it))
}

function mergeIntoContent(page: Page, branch: string): PickContent {
  return {
    kind: 'pick',
    title: `Merge into ${readable(branch)}`,
    label: 'Branch or tag to merge',
    list: 'Branches',
    none: 'No other branch',
    choices: () =>
      sourcesFor(page, branch).map(({ source, ...choice }) => ({
        ...choice,
        step: { step: 'merge', source, onto: branch },
        run: () => openSteps(page, source, branch, 'merge'),
      })),
  }
}

/** Asks what to rebase a branch onto. */
export function rebaseOnto(page: Page, branch: string): void {
  page.graph.needRefs()
  page.dialog.value = following(branch, it => rebaseOntoContent(page, it))
}

function rebaseOntoContent(page: Page, branch: string): PickContent {
  return {
    kind: 'pick',
    title: `Rebase ${readable(branch)}`,
    label: 'Branch or tag to rebase onto',
    list: 'Branches',
    none: 'No other branch',
    choices: () =>
      sourcesFor(page, branch).map(({ source, ...choice }) => {
        const step = { step: 'rebase', branch, onto: source } as const
        return { ...choice, step, run: () => openRebase(page, branch, source) }
      }),
  }
}

/** Shows how a branch would be rebased onto a source, and rebases it. */
export function openRebase(page: Page, branch: string, onto: Source): void {
  page.dialog.value = rebaseContent(page, branch, onto)
}

function rebaseContent(page: Page, branch: string, onto: Source): StepContent {
  const explains = `Rebases the commits that only ${readable(branch)} has onto ${readable(onto.words)}.`
  return {
    kind: 'step',
    title: `Rebase ${readable(branch)} onto ${readable(onto.words)}`,
    ways: [{ key: 'rebase', words: 'Rebase', button: 'Rebase', explains, step: { step: 'rebase', branch, onto } }],
    first: 0,
    renamed: (from, to) =>
      branch === from || onto.branch === from
        ? rebaseContent(page, nameAfter(branch, from, to), sourceAfter(onto, from, to))
        : undefined,
    isDone: done => finish(page, done),
  }
}

/** Asks for a commit, or for a branch and one of its commits that `branch` lacks, and cherry-picks it. */
export function cherryPickOnto(page: Page, branch: string): void {
  page.graph.needRefs()
  page.dialog.value = following(branch, it => cherryPickOntoContent(page, it))
}

function cherryPickOntoContent(page: Page, branch: string): PickContent {
  return {
    kind: 'pick',
    title: `Cherry-pick a commit onto ${readable(branch)}`,
    label: 'Commit: its message, author or hash. Or a branch or tag that has it',
    list: 'Commits and branches',
    none: 'No other branch',
    found: commit => choiceOfCommit(page, branch, commit),
    choices: () =>
      sourcesFor(page, branch).map(({ source, ...choice }) => ({
        ...choice,
        run: () => pickCommit(page, branch, source),
      })),
  }
}

/** At most this many commits of a branch are offered, the newest. */
const MAX_COMMITS_TO_PICK = 300

function pickCommit(page: Page, branch: string, from: Source): void {
  const rows = signal<CommitRow[] | undefined>(undefined)
  const at = { kind: 'commit', commit: from.commit } as const
  page.connection.ask('history', { at, beyond: { kind: 'branch', branch }, from: 0, count: MAX_COMMITS_TO_PICK }).then(
    answer => {
      rows.value = answer.rows
    },
    error => {
      page.dialog.value = undefined
      page.complain(error, { topic: STEP_TOPIC })
    },
  )
  const contentOf = (onto: string, source: Source): PickContent => ({
    kind: 'pick',
    title: `Cherry-pick from ${readable(source.words)} onto ${readable(onto)}`,
    label: 'Commit: words of its subject, its author or its hash',
    list: 'Commits',
    none: `${readable(onto)} has all commits of ${readable(source.words)}`,
    choices: () => rows.value?.map(commit => choiceOfCommit(page, onto, commit)),
    renamed: (before, now) =>
      onto === before || source.branch === before
        ? contentOf(nameAfter(onto, before, now), sourceAfter(source, before, now))
        : undefined,
  })
  page.dialog.value = contentOf(branch, from)
}

function choiceOfCommit(page: Page, branch: string, { oid, subject, author }: CommitRow): Choice {
  // Rows and sources are named by byte strings.
  const words = toName(subject)
  return {
    key: oid,
    kind: 'commit',
    icon: 'commit',
    words,
    meta: `${withoutTricks(author.name)} · ${shortId(oid)}`,
    run: () => openSteps(page, { ...commitSource(oid), words }, branch, 'cherry-pick'),
  }
}

/** Which remote a push offers first: one by its name, or that of a remote-tracking branch. */
type PushTo = { remote: string } | { upstream: string }

/**
 * The remotes that a branch, or without one a tag, can be pushed to: first `to`, without it that of `git push`, else
 * origin. Complains if there is none.
 */
async function remotesForPush(page: Page, branch?: string, to?: PushTo): Promise<string[]> {
  const [refs, configured] = await Promise.all([
    page.graph.needRefs(),
    page.connection.ask('push remote', { ...(branch !== undefined && { branch }) }).catch(() => null),
  ])
  if (!refs) return []
  const names = refs.remotes.map(({ name }) => name)
  if (names.length === 0)
    page.complain('No remote to push to: add one by Add a remote… in the palette of the repository view.', {
      topic: STEP_TOPIC,
    })
  const wanted = refs.remotes.find(({ name, branches }) => {
    if (!to) return false
    return 'remote' in to ? name === to.remote : branches.some(({ ref }) => ref === `refs/remotes/${to.upstream}`)
  })
  const first = [wanted?.name, configured, 'origin'].find(it => it && names.includes(it))
  return [...names.filter(name => name === first), ...names.filter(name => name !== first)]
}

/** Pushes a tag to a remote, which is chosen if there are several. */
export async function pushTag(page: Page, name: string): Promise<void> {
  const remotes = await remotesForPush(page)
  if (remotes.length === 0) return
  page.dialog.value = {
    kind: 'step',
    title: `Push the tag ${readable(name)}`,
    ways: remotes.map(remote => ({
      key: remote,
      words: `To ${readable(remote)}`,
      button: 'Push',
      explains: `Adds the tag, and the commits that it needs, to ${readable(remote)}. A tag of that name there is not overwritten.`,
      step: { step: 'push tag', name, remote },
    })),
    first: 0,
    isDone: done => finish(page, { ...done, isUndoable: false }),
  }
}

/** Asks for another name of a tag, which one on a remote does not get. */
export function renameTag(page: Page, name: string): void {
  const warning = tagWarnings(page, name)
  page.dialog.value = {
    kind: 'ask',
    title: `Rename the tag ${readable(name)}`,
    label: 'New name',
    value: readable(name),
    button: 'Rename',
    hint: 'A tag that was pushed keeps its name on the remote.',
    warn: typed => warning(typedName(typed, folderOf(name), baseName(name))),
    run: async typed => {
      const to = typedName(typed, folderOf(name), baseName(name))
      const { words } = await page.connection.ask('do', { step: { step: 'rename tag', name, to } })
      finish(page, { words, isUndoable: true })
    },
  }
}

/** Deletes a tag here only, or on a remote, too. */
export async function deleteTag(page: Page, name: string): Promise<void> {
  const refs = await page.graph.needRefs()
  if (!refs) return
  const way = (key: string, words: string, explains: string, remote?: string): StepWay => ({
    ...{ key, words, button: 'Delete', isDangerous: true, explains },
    step: { step: 'delete tag', name, ...(remote !== undefined && { remote }) },
  })
  page.dialog.value = {
    kind: 'step',
    title: `Delete the tag ${readable(name)}?`,
    ways: [
      way('here', 'Only here', 'Deletes the tag in this repository. The commit stays where it is. Undo restores it.'),
      ...refs.remotes.map(remote => {
        const there = readable(remote.name)
        const explains = `Deletes the tag here, and on ${there} for all who use it, unless it is another one there. Undo pushes it again.`
        return way(`remote ${remote.name}`, `Also on ${there}`, explains, remote.name)
      }),
    ],
    first: 0,
    isDone: done => finish(page, { ...done, isUndoable: true }),
  }
}

/** Deletes a branch on its remote, after a preview. A local branch that tracks it stays. */
export function deleteRemoteBranch(page: Page, { ref, remote, name }: RemoteBranch): void {
  const explains = `Deletes the branch on ${readable(remote)} for all who use it (git push --delete), unless it has moved there since the last fetch. Undo pushes it again.`
  page.dialog.value = {
    kind: 'step',
    title: `Delete the branch ${named(name)} on ${named(remote)}?`,
    ways: [
      {
        ...{ key: 'delete', words: 'Delete', button: 'Delete', isDangerous: true, explains },
        step: { step: 'delete remote branch', ref },
      },
    ],
    first: 0,
    isDone: done => finish(page, { ...done, isUndoable: true }),
  }
}

/** Fetches without a preview, since no local branch moves. */
export async function fetchRemotes(
  page: Page,
  { remote, branch }: { remote?: string; branch?: string } = {},
): Promise<void> {
  if (page.graph.progress.peek() !== undefined) return
  page.graph.progress.value = 'Fetching…'
  try {
    const step = { step: 'fetch', ...(remote && { remote }), ...(branch && { branch }) } as const
    const { words, isUndoable = false } = await page.connection.ask('do', { step })
    if (isUndoable) showDone(page, { words, isUndoable })
    else page.tell({ topic: STEP_TOPIC, title: words })
  } catch (error) {
    page.complain(error, { topic: STEP_TOPIC })
  } finally {
    page.graph.progress.value = undefined
  }
}

async function hasUpstream(page: Page, branch: string): Promise<boolean> {
  const step = { step: 'pull', branch, how: 'fast-forward' } as const
  const { offers } = await page.connection.ask('preview', { step }).catch(() => ({ offers: undefined }))
  return offers !== 'publish'
}

/** The remote that has a branch of this name: origin before the others. */
async function remoteWith(page: Page, branch: string): Promise<string | undefined> {
  await page.graph.needRefs()
  const remotes = remoteBranches(page).flatMap(({ name, remote }) => (name === branch ? [remote] : []))
  return remotes.includes('origin') ? 'origin' : remotes[0]
}

/** Without an upstream branch there is nothing to pull: offers to publish the branch. */
function offerToPublish(page: Page, branch: string): void {
  page.dialog.value = following(branch, it => ({
    kind: 'confirm',
    title: `${readable(it)} has no upstream branch`,
    words: [
      `There is nothing to pull from. Publish ${readable(it)} to a remote first: it then tracks the branch there.`,
    ],
    button: 'Publish branch…',
    run: () => push(page, it),
  }))
}

/**
 * `forPush`: the remote, where a push to it needs the pull: then it is from the branch there that the push goes to, and
 * its notice offers the push.
 */
export async function pull(page: Page, branch: string, forPush?: string): Promise<void> {
  // The desk's state names a branch's upstream only once the commits ahead and behind are counted, so the server is
  // asked.
  const isUntracked = forPush === undefined && !page.branch(branch)?.upstream && !(await hasUpstream(page, branch))
  const namesake = isUntracked ? await remoteWith(page, branch) : undefined
  if (isUntracked && namesake === undefined) {
    offerToPublish(page, branch)
    return
  }
  const remote = forPush ?? namesake
  // Why a pull is impossible is what its preview says.
  const asked = { branch, ...(remote !== undefined && { remote }) }
  const usual = await page.connection.ask('way to pull', asked).catch(() => 'fast-forward' as const)
  page.dialog.value = pullContent(page, branch, { remote, usual, isForPush: forPush !== undefined })
}

interface PullFrom {
  remote: string | undefined
  /** What `git pull` would do. */
  usual: string
  /** Whether the pull is for a push, which its notice then offers. */
  isForPush: boolean
}

function pullContent(page: Page, branch: string, pulled: PullFrom): StepContent {
  const { remote, usual, isForPush } = pulled
  const fromRemote = remote !== undefined && { remote }
  const way = (how: 'fast-forward' | 'merge' | 'rebase', words: string, explains: string): StepWay => ({
    key: how,
    words,
    button: 'Pull',
    explains,
    step: { step: 'pull', branch, how, ...fromRemote },
  })
  const name = readable(branch)
  const own = page.branch(branch)?.upstream?.name
  const isOther = remote !== undefined && !own?.startsWith(`${remote}/`)
  const from = readable(isOther ? `${remote}/${branch}` : (own ?? 'its upstream branch'))
  const ways = [
    way('fast-forward', 'Fast-forward', `${name} moves forward to ${from}, if it has no commits of its own.`),
    way('merge', 'Merge', `Merges ${from} into ${name}.`),
    way('rebase', 'Rebase', `Rebases the commits that only ${name} has onto ${from}.`),
  ]
  return {
    kind: 'step',
    title: `Pull ${from} into ${name}`,
    ways,
    fetches: { step: 'fetch', ...(remote === undefined ? { branch } : { remote }) },
    first: ways.findIndex(({ key }) => key === usual),
    renamed: (from, to) => (branch === from ? pullContent(page, to, pulled) : undefined),
    isDone: done => {
      const next = { words: 'Push…', run: () => void push(page, branch, remote === undefined ? undefined : { remote }) }
      finish(page, isForPush ? { ...done, next } : done)
    },
  }
}

export async function push(page: Page, branch: string, to?: PushTo): Promise<void> {
  const remotes = await remotesForPush(page, branch, to)
  if (remotes.length > 0) page.dialog.value = pushContent(page, branch, remotes)
}

/** The dialog of a push to one of these remotes, the first of which is chosen. */
function pushContent(page: Page, branch: string, remotes: readonly string[]): StepContent {
  const isNew = page.branch(branch)?.upstream === undefined
  const ways = remotes.flatMap((remote): StepWay[] => [
    {
      key: remote,
      words: `To ${readable(remote)}`,
      button: isNew ? 'Publish' : 'Push',
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
  return {
    kind: 'step',
    title: `${isNew ? 'Publish' : 'Push'} ${readable(branch)}`,
    ways,
    first: 0,
    renamed: (from, to) => (branch === from ? pushContent(page, to, remotes) : undefined),
    pull: remote => void pull(page, branch, remote),
    isDone: done => finish(page, { ...done, isUndoable: false }),
  }
}

export function stopStep(page: Page): void {
  page.connection.ask('stop step', {}).catch(error => page.complain(error, { topic: STEP_TOPIC }))
}
