/** The preview matches the result, and the result matches git's own in a checkout. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { readSignature } from '../../../../forge/desk/branches/save.ts'
import { planCherryPick } from '../../../../forge/desk/steps/cherry-pick.ts'
import { planMerge } from '../../../../forge/desk/steps/merge.ts'
import { Outlooks } from '../../../../forge/desk/steps/outlooks.ts'
import { writeChain } from '../../../../forge/desk/steps/perform.ts'
import type { StepPlan } from '../../../../forge/desk/steps/plan.ts'
import { planRebase } from '../../../../forge/desk/steps/rebase.ts'
import { PERSON } from '../../../support/desk.ts'
import { gitWith, PLAIN, tryGit } from '../../../support/git.ts'
import { randomPairs } from '../../../support/random-histories.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { makeFolder } from '../../../support/repository.ts'

/** The number of random pairs of branches that each test tries; FORGE_PAIRS=1000 tries more. */
const PAIRS = Number(process.env.FORGE_PAIRS ?? 80)
const HANDS = 2
/** The time limit for all pairs, in milliseconds, with room for a busy machine. */
const TIMEOUT_MS = Math.max(300_000, PAIRS * 2_000)

/** For one in a thousand pairs of random branches git fails with this message; the desk must fail, too. */
const BROKEN = 'null sha1'

/** The result of a step by git or by the desk: its commits, and the files in conflict if it stopped. */
type Outcome = { commits: string[]; conflicts: string[]; stoppedAt: string; isNothing: boolean }

/** A checkout in which git runs the same step as the desk, to compare the results. */
class Hand {
  constructor(
    readonly path: string,
    readonly made: string,
  ) {}

  git = (...args: string[]) => gitWith(this.path, args, undefined, PERSON)
  try = (...args: string[]) => tryGit(this.path, args, undefined, { ...PERSON, GIT_EDITOR: 'true' })

  async go(branch: string): Promise<void> {
    await this.git('checkout', '-q', '-f', '--detach', branch)
  }

  async clean(): Promise<void> {
    await this.git('reset', '-q', '--hard')
    await this.git('clean', '-q', '-f', '-d', '-x')
  }

  async outcome(from: string, code: number): Promise<Outcome> {
    const [log, unmerged, head] = await Promise.all([
      this.git('log', '--reverse', '--topo-order', '--first-parent', `--format=${this.made}`, `${from}..HEAD`),
      this.git('ls-files', '-u', '-z'),
      this.try('rev-parse', '--quiet', '--verify', code === 0 ? 'HEAD' : 'REBASE_HEAD'),
    ])
    const paths = unmerged
      .split('\0')
      .filter(Boolean)
      .map(line => line.split('\t').slice(1).join('\t'))
    return {
      commits: log
        .split('\x01')
        .filter(it => it.trim() !== '')
        .map(it => it.trim()),
      conflicts: plainNames(paths),
      stoppedAt: code === 0 ? '' : head.stdout.trim(),
      isNothing: false,
    }
  }
}

/** Shortens the names of files that git puts aside: in a rebase, they end with the commit's id and title. */
const plainNames = (paths: readonly string[]): string[] =>
  [...new Set(paths.map(path => path.replace(/~.*$/, '~')))].sort()

async function makeCases() {
  const folder = await makeFolder()
  const path = join(folder.path, 'repository')
  await gitWith('/', ['init', '-q', '--template=', '-b', 'none', path])
  const seeds = Array.from({ length: PAIRS }, (_, at) => at + 1)
  await gitWith(path, ['fast-import', '--quiet', '--force'], randomPairs(seeds))
  await gitWith(path, ['repack', '-q', '-a', '-d'])
  await gitWith(path, ['pack-refs', '--all'])
  const hands = Array.from({ length: HANDS }, (_, at) => join(folder.path, `hand${at}`))
  // One by one: git reads the files of a worktree that another git is still writing.
  for (const hand of hands) await gitWith(path, ['worktree', 'add', '-q', '--detach', hand, '1/base'])
  const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
  const objects = openObjects(repository)
  const dispose = async () => {
    await objects[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  }
  return { path, seeds, hands, objects, [Symbol.asyncDispose]: dispose }
}
type Cases = Awaited<ReturnType<typeof makeCases>>

/** Runs a function for each pair, with as many in parallel as there are checkouts. */
async function withEach(cases: Cases, made: string, does: (seed: number, hand: Hand) => Promise<void>): Promise<void> {
  const rest = [...cases.seeds]
  await Promise.all(
    cases.hands.map(async path => {
      const hand = new Hand(path, made)
      for (let seed = rest.shift(); seed !== undefined; seed = rest.shift()) await does(seed, hand)
    }),
  )
}

const tipOf = async ({ objects }: Cases, branch: string): Promise<string> =>
  (await objects.info(`refs/heads/${branch}`))?.oid ?? ''

/** The result of the desk's plan, with its commits written, but no ref moved. */
async function outcomeOf({ objects, path }: Cases, plan: StepPlan, from: string, made: string): Promise<Outcome> {
  const { repository } = objects
  const tip = await writeChain(objects, plan.onto, plan.chain, readSignature(repository))
  const log = await gitWith(path, [
    'log',
    '--reverse',
    '--topo-order',
    '--first-parent',
    `--format=${made}`,
    `${from}..${tip}`,
  ])
  const conflicts = plainNames((plan.stop?.merge.stages ?? []).map(stage => stage.path))
  const commits = log
    .split('\x01')
    .filter(it => it.trim() !== '')
    .map(it => it.trim())
  const trees = await gitWith(path, ['rev-parse', `${tip}^{tree}`])
  // The last commit has the files of the preview.
  if (!plan.stop) expect(trees).toBe(plan.tree)
  return { commits, conflicts, stoppedAt: plan.stop?.theirs ?? '', isNothing: plan.is === 'nothing' }
}

const COMMIT = '%T %an %ae %ad%n%B%x01'
/**
 * The format of `git log` for a commit made by a merge. The commits that it brings from the other branch are not
 * compared.
 */
const MERGE = '%T %P%n%B%x01'

test(
  `${PAIRS} random pairs are merged as git merge does it`,
  async () => {
    await using cases = await makeCases()
    const outlooks = new Outlooks(cases.objects)
    let [clean, stopped] = [0, 0]
    await withEach(cases, MERGE, async (seed, hand) => {
      const [ours, theirs] = [`${seed}/ours`, `${seed}/theirs`]
      const target = { branch: ours, tip: await tipOf(cases, ours) }
      const source = { commit: await tipOf(cases, theirs), branch: theirs, words: theirs }
      const plan = await planMerge(cases.objects, source, target, {})
      await hand.go(ours)
      const { code, stdout } = await hand.try('merge', '--no-edit', '-m', plan.message?.trim() ?? 'none', theirs)
      const git = { ...(await hand.outcome(ours, code)), stoppedAt: '', isNothing: /up to date/.test(stdout) }
      const desk = { ...(await outcomeOf(cases, plan, target.tip, MERGE)), stoppedAt: '' }
      expect({ seed, ...desk }).toEqual({ seed, ...git })
      const is = code !== 0 ? 'conflicts' : git.isNothing ? 'nothing' : 'clean'
      const outlook = await outlooks.ofMerge(target.tip, source.commit)
      expect({ seed, is: plan.is, outlook: outlook.is }).toEqual({ seed, is, outlook: is })
      if (code === 0) clean++
      else stopped++
      await hand.clean()
    })
    // Clean and stopped steps both occur often.
    expect(Math.min(clean, stopped)).toBeGreaterThan(PAIRS / 10)
  },
  TIMEOUT_MS,
)

test(
  `${PAIRS} random branches are rebased as git rebase does it`,
  async () => {
    await using cases = await makeCases()
    let [clean, stopped] = [0, 0]
    await withEach(cases, COMMIT, async (seed, hand) => {
      const [ours, theirs] = [`${seed}/ours`, `${seed}/theirs`]
      const onto = { commit: await tipOf(cases, ours), branch: ours, words: ours }
      await hand.go(theirs)
      const { code, stdout, stderr } = await hand.try('rebase', ours)
      const planned = planRebase(cases.objects, { branch: theirs, tip: await tipOf(cases, theirs) }, onto)
      if (stderr.includes(BROKEN)) {
        expect(await refusedBy(planned)).toThrow('Git itself fails')
        await hand.git('rebase', '--quit')
        return await hand.clean()
      }
      const plan = await planned
      const isNothing = / is up to date/.test(stdout + stderr)
      const git = { ...(await hand.outcome(ours, code)), isNothing }
      const desk = await outcomeOf(cases, plan, onto.commit, COMMIT)
      if (isNothing) desk.commits = git.commits
      expect({ seed, ...desk }).toEqual({ seed, ...git })
      if (code === 0) clean++
      else {
        stopped++
        await hand.git('rebase', '--quit')
      }
      await hand.clean()
    })
    expect(Math.min(clean, stopped)).toBeGreaterThan(PAIRS / 10)
  },
  TIMEOUT_MS,
)

test(
  `commits of ${PAIRS} random branches are picked as git cherry-pick does it`,
  async () => {
    await using cases = await makeCases()
    let [clean, stopped] = [0, 0]
    await withEach(cases, COMMIT, async (seed, hand) => {
      const [ours, theirs] = [`${seed}/ours`, `${seed}/theirs`]
      const target = { branch: ours, tip: await tipOf(cases, ours) }
      const list = await hand.git('rev-list', '--no-merges', '--reverse', '--topo-order', theirs, `^${ours}`)
      const picked = list
        .split('\n')
        .filter(Boolean)
        .slice(0, 1 + (seed % 3))
      if (picked.length === 0) return
      await hand.go(ours)
      let { code, stdout, stderr } = await hand.try('cherry-pick', ...picked)
      // Commits that become empty are skipped; git asks first.
      while (code !== 0 && /is now empty/.test(stdout + stderr))
        ({ code, stdout, stderr } = await hand.try('cherry-pick', '--skip'))
      const planned = planCherryPick(cases.objects, picked, target)
      if (stderr.includes(BROKEN)) {
        expect(await refusedBy(planned)).toThrow('Git itself fails')
        await hand.git('cherry-pick', '--quit')
        return await hand.clean()
      }
      const plan = await planned
      const stoppedAt = code === 0 ? '' : await hand.git('rev-parse', 'CHERRY_PICK_HEAD')
      const git = { ...(await hand.outcome(ours, code)), stoppedAt, isNothing: false }
      const desk = { ...(await outcomeOf(cases, plan, target.tip, COMMIT)), isNothing: false }
      expect({ seed, ...desk }).toEqual({ seed, ...git })
      if (code === 0) clean++
      else {
        stopped++
        await hand.git('cherry-pick', '--quit')
      }
      await hand.clean()
    })
    expect(Math.min(clean, stopped)).toBeGreaterThan(PAIRS / 10)
  },
  TIMEOUT_MS,
)
