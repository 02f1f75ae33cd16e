/** A desk whose branches main and topic have diverged, for tests of merges. */
import type { Path } from '../../core/git/repository.ts'
import type { Source } from '../../forge/desk/contract/steps.ts'
import type { Work } from '../../forge/desk/work.ts'
import { ask, type Desk, type DeskOptions, makeDesk } from './desk.ts'
import { commit, type Files } from './git.ts'

/** The files of the common ancestor, and the changes of each side. */
export type Sides = { base: Files; ours: Files; theirs: Files }

export type Pair = Desk & { base: string; ours: string; theirs: string; source: Source }

/** Makes a desk with the two branches on a bare repository, or on a checkout of main. */
export async function makePair({ base, ours, theirs }: Sides, options: DeskOptions = { bare: true }): Promise<Pair> {
  const desk = await makeDesk(options)
  const root = await commit(desk.path, 'main', base, { message: 'Begin\n' })
  await desk.git('update-ref', 'refs/heads/topic', root)
  const one = await commit(desk.path, 'main', ours, { message: 'Change ours\n' })
  const other = await commit(desk.path, 'topic', theirs, { message: 'Change theirs\n' })
  if (!options.bare) await desk.git('reset', '--hard', '-q')
  await desk.work.look()
  const source = { commit: other, branch: 'topic', words: 'topic' }
  return Object.assign(desk, { base: root, ours: one, theirs: other, source })
}

/** Numbered lines, `count` of them, some replaced. */
export const lines = (changes: Record<number, string> = {}, count = 9): string =>
  Array.from({ length: count }, (_, at) => `${changes[at + 1] ?? `line ${at + 1}`}\n`).join('')

/** The rows (files) of the merge that waits in a branch: path and state of each. */
export async function rowsIn(work: Work, branch = 'main'): Promise<[Path, string, string][]> {
  const merging = await work.mergings.in(branch)
  return (merging?.files ?? []).map(({ path, kind, state }) => [path, kind, state])
}

/** Types the message of the merge that waits in a branch, as the page does. */
export async function typeMessage(work: Work, branch: string, message: string): Promise<void> {
  const shown = await work.mergings.in(branch)
  const { theirsCommit = '', message: before = '' } = shown ?? {}
  await ask(work, 'keep merging message', { branch, theirs: theirsCommit, before, message })
}

/** A topic of five commits: the first, third and fifth change the same lines as main. */
export async function makeChain() {
  const base = { 'a.txt': lines(), 'b.txt': lines() }
  const ours = { 'a.txt': lines({ 1: 'main 1', 5: 'main 5', 9: 'main 9' }) }
  const desk = await makePair({ base, ours, theirs: { 'a.txt': lines({ 1: 'topic 1' }) } })
  const author = 'Bea <bea@example.org>'
  const steps: [string, Files][] = [
    ['Two', { 'b.txt': lines({ 2: 'topic b' }) }],
    ['Three', { 'a.txt': lines({ 1: 'topic 1', 5: 'topic 5' }) }],
    ['Four', { 'c.txt': 'c\n' }],
    ['Five', { 'a.txt': lines({ 1: 'topic 1', 5: 'topic 5', 9: 'topic 9' }) }],
  ]
  for (const [message, files] of steps) await commit(desk.path, 'topic', files, { message: `${message}\n`, author })
  await desk.work.look()
  const onto = { commit: desk.ours, branch: 'main', words: 'main' }
  return Object.assign(desk, { step: { step: 'rebase', branch: 'topic', onto } as const })
}
