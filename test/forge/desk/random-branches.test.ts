/** Random work on several branches by a desk and a terminal: merges, rebases, renames and undo lose no typed word. */

import { expect, test } from 'bun:test'
import { Failure } from '../../../core/failure.ts'
import { closeFile, openFile } from '../../../forge/desk/branches/places.ts'
import type { Work } from '../../../forge/desk/work.ts'
import { ask, conflictsIn, type DraftConflict, Editor, makeDesk, textOf } from '../../support/desk.ts'
import { commit, tryGit } from '../../support/git.ts'
import { type Random, randomFrom } from '../../support/random.ts'

const START = Array.from({ length: 12 }, (_, at) => `line ${at}\n`).join('')
const FILES = ['a.txt', 'b.txt', 'folder/c.txt']
/** The files, and the names that they may get. */
const NAMES = [...FILES, 'x.txt', 'folder/y.txt']
const BRANCHES = ['main', 'one', 'two', 'three']

/** The steps of a round. FORGE_ROUNDS=100 plays more rounds, FORGE_FIRST=42 begins with the 42nd. */
const STEPS = 40
const ROUNDS = Number(process.env.FORGE_ROUNDS ?? 3)
const FIRST = Number(process.env.FORGE_FIRST ?? 1)

const textOfSide = (side: DraftConflict['draft']): string => (typeof side === 'string' ? side : '')

class Round {
  readonly random: Random
  readonly words = new Set<string>()
  readonly log: string[] = []

  constructor(
    seed: number,
    readonly path: string,
    readonly work: Work,
  ) {
    this.random = randomFrom(seed)
  }

  newWord(by: string): string {
    const word = `<${by}-${this.words.size}>`
    this.words.add(word)
    return word
  }

  /** Runs a step. That a user is told why it is not possible now is fine, and any other error is not. */
  async try(words: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await run()
      this.log.push(words)
    } catch (error) {
      if (!(error instanceof Failure)) throw new Error(`${words}, after:\n${this.log.join('\n')}`, { cause: error })
      this.log.push(`(${words}: ${error.message})`)
    }
  }

  async branch(work: Work): Promise<string> {
    return this.random.pick((await work.describeBranches()).map(({ name }) => name))
  }

  async tip(branch: string): Promise<string> {
    return (await tryGit(this.path, ['rev-parse', branch])).stdout.trim()
  }
}

type Step = (round: Round) => Promise<unknown>

const type: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  const path = round.random.pick(NAMES)
  const file = await openFile(work.branches, { kind: 'branch', branch }, path)
  if (file.kind !== 'text') return
  const editor = new Editor(work, branch, path, file)
  const starts = [...editor.text.matchAll(/^/gm)].map(({ index }) => index)
  const word = round.newWord('desk')
  try {
    await editor.type(`${word}\n`, round.random.pick(starts))
    round.log.push(`type ${word} in ${path} of ${branch}`)
  } catch (error) {
    round.words.delete(word)
    if (!/faster|resolve|can be edited|read-only|is no/.test((error as Error).message)) throw error
  }
  await closeFile(work.branches, { kind: 'branch', branch }, path)
}

const byHand: Step = async round => {
  const branch = await round.branch(round.work)
  const path = round.random.pick(NAMES)
  const { code, stdout } = await tryGit(round.path, ['show', `${branch}:${path}`])
  if (code !== 0) return
  const lines = stdout.split('\n')
  const word = round.newWord('terminal')
  lines.splice(round.random.below(lines.length), 0, word)
  await commit(round.path, branch, { [path]: lines.join('\n') })
  round.log.push(`commit ${word} in ${path} of ${branch} in a terminal`)
}

const save: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  const paths = round.random.chance(0.6) ? ('all' as const) : [round.random.pick(NAMES)]
  await round.try(`save ${paths} of ${branch}`, () => ask(work, 'save', { branch, paths }))
}

const twoBranches = async (round: Round) => {
  const work = round.work
  const [from, to] = [await round.branch(work), await round.branch(work)]
  return { work, from, to, tip: await round.tip(from) }
}

const merge: Step = async round => {
  const { work, from, to, tip } = await twoBranches(round)
  if (from === to) return
  const source = { commit: tip, branch: from, words: from }
  const isCommitWanted = round.random.chance(0.5)
  await round.try(`merge ${from} into ${to}`, () => work.steps.do({ step: 'merge', source, onto: to, isCommitWanted }))
}

const rebase: Step = async round => {
  const { work, from, to, tip } = await twoBranches(round)
  if (from === to) return
  const onto = { commit: tip, branch: from, words: from }
  await round.try(`rebase ${to} onto ${from}`, () => work.steps.do({ step: 'rebase', branch: to, onto }))
}

const pick: Step = async round => {
  const { work, from, to, tip } = await twoBranches(round)
  if (from === to) return
  await round.try(`cherry-pick of ${from} onto ${to}`, () =>
    work.steps.do({ step: 'cherry-pick', commits: [tip], onto: to }),
  )
}

const amend: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  // What an amended merge has of its own goes in a rebase, as git leaves merges out.
  if ((await tryGit(round.path, ['rev-parse', '--verify', '--quiet', `${branch}^2`])).code === 0) return
  const rewriting = { do: 'amend', isWithDrafts: round.random.chance(0.7) } as const
  await round.try(`amend ${branch} ${rewriting.isWithDrafts}`, () =>
    work.steps.do({ step: 'rewrite', branch, rewriting, message: 'Amended' }),
  )
}

const renameBranch: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  const to = round.random.pick([...BRANCHES, 'renamed'])
  if (branch === to) return
  if (round.random.chance(0.5)) {
    await round.try(`rename ${branch} to ${to}`, () => ask(work, 'rename branch', { branch, to }))
    return
  }
  const { code } = await tryGit(round.path, ['branch', '-m', branch, to])
  if (code === 0) round.log.push(`git branch -m ${branch} ${to}`)
}

const newBranch: Step = async round => {
  const work = round.work
  const from = await round.tip(await round.branch(work))
  const branch = round.random.pick(BRANCHES)
  await round.try(`new branch ${branch}`, () => ask(work, 'new branch', { branch, from }))
}

const moveFile: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  const [from, to] = [round.random.pick(NAMES), round.random.pick(NAMES)]
  if (from === to) return
  await round.try(`move ${from} to ${to} in ${branch}`, () => ask(work, 'move', { branch, moves: [{ from, to }] }))
}

const moveDrafts: Step = async round => {
  const { work, from, to } = await twoBranches(round)
  if (round.random.chance(0.6)) {
    await round.try(`drafts of ${from} onto ${to}`, () => ask(work, 'drafts onto', { branch: from, to }))
    return
  }
  const name = round.random.pick([...BRANCHES, 'new'])
  const at = await round.tip(from)
  await round.try(`drafts of ${from} to the new branch ${name}`, () =>
    ask(work, 'drafts elsewhere', { branch: from, from: at, to: name }),
  )
}

const settle: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  const merging = await ask(work, 'merging', { branch })
  for (const { path, state } of merging?.files ?? []) {
    if (state !== 'open') continue
    await round.try(`both of ${path} in ${branch}`, () => ask(work, 'take side', { branch, path, side: 'both' }))
  }
  if (merging && merging.kind !== 'drafts')
    await round.try(`finish ${branch}`, () => ask(work, 'finish merging', { branch }))
}

const update: Step = async round => {
  const work = round.work
  const branch = await round.branch(work)
  if ((await ask(work, 'merging', { branch })) === null) return
  await round.try(`update ${branch}`, () => ask(work, 'update merging', { branch }))
}

const undo: Step = async round => {
  const work = round.work
  const branch = round.random.chance(0.5) ? await round.branch(work) : undefined
  let words = ''
  await round.try(`undo ${branch ?? ''}`, async () => {
    words = (await work.undo(undefined, branch)).words
  })
  if (words) round.log.push(`  ${words}`)
}

const redo: Step = async round => {
  const work = round.work
  await round.try('redo', () => work.redo())
}

const STEPS_OF_ROUND: Step[] = [
  ...[type, type, type, type, type, type, byHand, save, save, settle, settle, merge, merge, rebase, pick, amend],
  ...[renameBranch, newBranch, moveFile, moveDrafts, update, undo, undo, redo],
]

/** All that a window can show: the texts of branches with their drafts, the sides of conflicts, and commits. */
async function shownIn(work: Work, path: string): Promise<string> {
  const all: string[] = []
  const { stdout } = await tryGit(path, ['for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/forge/drafts'])
  const branches = new Set(
    stdout
      .trim()
      .split('\n')
      .map(ref => ref.replace(/^refs\/(heads|forge\/drafts)\//, '')),
  )
  for (const branch of branches) {
    for (const name of NAMES) {
      all.push((await textOf(work, branch, name).catch(() => undefined)) ?? '')
      all.push((await tryGit(path, ['show', `refs/heads/${branch}:${name}`])).stdout)
    }
    for (const { draft, tip } of await conflictsIn(work, branch)) all.push(textOfSide(draft), textOfSide(tip))
  }
  return all.join('')
}

/** The content of all files that the repository has in any version. */
async function keptIn(path: string): Promise<string> {
  const { stdout } = await tryGit(path, ['cat-file', '--batch-all-objects', '--batch', '--unordered'])
  return stdout
}

for (let seed = FIRST; seed < FIRST + ROUNDS; seed++)
  test(`no word is lost in random round ${seed} on several branches`, async () => {
    await using desk = await makeDesk({ files: Object.fromEntries(FILES.map(path => [path, START])), bare: true })
    // As in a checkout: a rename by git leaves a trace there.
    await desk.git('config', 'core.logAllRefUpdates', 'true')
    await commit(desk.path, 'main', { 'second.txt': 'second\n' })
    for (const name of BRANCHES.slice(1, 3)) await desk.git('branch', name, 'main')
    const round = new Round(seed, desk.path, desk.work)
    for (let at = 0; at < STEPS; at++) {
      await round.random.pick(STEPS_OF_ROUND)(round)
      if (round.random.chance(0.5)) await desk.work.flush()
      if (round.random.chance(0.5)) await desk.work.look()
    }
    await desk.work.flush()
    await desk.work.look()
    const kept = await keptIn(desk.path)
    expect({ lost: [...round.words].filter(word => !kept.includes(word)), log: round.log }).toMatchObject({ lost: [] })
    const shown = await shownIn(desk.work, desk.path)
    expect({ hidden: [...round.words].filter(word => !shown.includes(word)), log: round.log }).toMatchObject({
      hidden: [],
    })
    await desk.git('fsck', '--strict', '--no-dangling')
  }, 240_000)
