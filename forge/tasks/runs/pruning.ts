/**
 * Prunes a run: its refs, its folder, and those branches whose work is on a branch of the user's. A landed result is
 * one commit there; its many small commits, and attempts that failed, are kept at `refs/forge/kept/`, so that nothing
 * is lost. A run with finished work that is not landed stays: without its plan and signatures, that work could not be
 * landed any more.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { listCheckouts, mainFolder } from '../../../core/git/checkouts.ts'
import { independentOf, mergeBases, outsideOf } from '../../../core/git/commits.ts'
import { mergeTrees } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { listRefs, type Move, type Ref, type RefName, readHead } from '../../../core/git/refs.ts'
import { isOid, type Oid, type Repository } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { RUNS } from '../../formats/tasks-json.ts'
import { KEPT } from '../../operations.ts'
import type { RunId } from '../contract.ts'
import { attemptsRef, BRANCHES, resultRef, runsFolder, verifyRunId } from './folder.ts'

type Environment = Record<string, string | undefined>

export type Pruned = {
  /** Whether the run itself stays, since finished work of it is not landed. */
  isKept: boolean
  refs: RefName[]
  /** Branches of the run that are not removed. */
  kept: RefName[]
  /** Removed branches whose commits still have a ref, the combined result first. */
  saved: { branch: string; at: RefName }[]
  /** Removed branches whose commits no ref has any more. */
  lost: { branch: string; at: Oid }[]
}

/**
 * Removes a run's refs and folder, and those of its branches that are landed or merged; where the combined result is
 * landed, all of them. Where finished work is not landed, removes only branches. With `all`, removes everything, landed
 * or not. A branch that is checked out stays. The caller has to make sure that the run has ended.
 */
export async function pruneRun(
  objects: Objects,
  run: RunId,
  { env, all }: { env: Environment; all: boolean },
): Promise<Pruned> {
  const { repository } = objects
  const id = verifyRunId(run)
  const [own, branches] = await Promise.all([
    listRefs(repository, [`${RUNS}${id}/`]),
    listRefs(repository, [`${BRANCHES}${id}/`]),
  ])
  const checkouts = await listCheckouts(repository, await mainFolder(repository))
  const free = branches.filter(({ name }) => !checkouts.some(({ head }) => head === name))
  const attempts = own.filter(({ name }) => name.startsWith(attemptsRef(id)))
  const landed = await landedOf(objects, id, branches)
  const isAllLanded = branches.some(({ name, oid }) => name === resultRef(id) && landed.has(oid))
  const going = free.filter(({ oid }) => all || isAllLanded || landed.has(oid))
  const isKept =
    !all && own.length > 0 && !isAllLanded && branches.some(({ name, oid }) => isFinished(name) && !landed.has(oid))
  // Attempts are on refs that are not branches; they are listed under the branch names by which the user can restore
  // them.
  const ending = [...going, ...(isKept ? [] : attempts.map(it => ({ ...it, name: branchOfAttempt(id, it.name) })))]
  const safe = all ? { moves: [], saved: [] } : await save(objects, ending)
  const moves = [...(isKept ? [] : own), ...going].map(({ name, oid }) => ({ ref: name, from: oid, to: undefined }))
  await moveRefsPatiently(repository, [...safe.moves, ...moves], { message: `forge: prune ${id}`, own: 'refs/forge/' })
  if (!isKept) await rm(join(await runsFolder(repository, env), id), { recursive: true, force: true })
  const lost = await outsideOf(repository, tipsOf(ending), ['--glob=refs/*'])
  return {
    isKept,
    refs: moves.map(({ ref }) => ref),
    kept: branches.filter(branch => !going.includes(branch)).map(({ name }) => name),
    saved: safe.saved,
    lost: ending.filter(({ oid }) => lost.has(oid)).map(({ name, oid }) => ({ branch: shortName(name), at: oid })),
  }
}

/** Whether a ref is a combined result or a task's result. */
const isFinished = (ref: RefName): boolean => /\/(result|done)$/.test(ref)

const branchOfAttempt = (run: RunId, ref: RefName): RefName => `${BRANCHES}${run}/${ref.slice(attemptsRef(run).length)}`

const tipsOf = (refs: readonly Ref[]): Oid[] => [...new Set(refs.map(({ oid }) => oid))]

const shortName = (ref: RefName): string => ref.slice('refs/heads/'.length)

/** The user's branches, as options of rev-list. */
const USERS = ['--exclude=forge/*', '--branches']

/** The tips of a run's branches that are on a branch of the user's, merged or landed. */
async function landedOf(objects: Objects, run: RunId, branches: readonly Ref[]): Promise<Set<Oid>> {
  const { repository } = objects
  if (branches.length === 0) return new Set()
  const told = await landingsOf(repository, run)
  const tips = tipsOf(branches)
  const unmerged = await outsideOf(repository, tips, USERS)
  const here = (await readHead(repository)).oid
  const landed = new Set<Oid>()
  for (const tip of tips)
    if (told.has(tip) || !unmerged.has(tip) || (here !== undefined && (await addsNothing(objects, here, tip))))
      landed.add(tip)
  // Everything that a landed tip builds on was landed with it.
  const open = await outsideOf(repository, tips, [...landed])
  return new Set(tips.filter(tip => !open.has(tip)))
}

/** The tips of a run that commits on the user's branches name as landed. */
async function landingsOf(repository: Repository, run: RunId): Promise<Set<Oid>> {
  const wanted = ['--fixed-strings', `--grep=Forge-Run: ${run}`, '--format=%(trailers:key=Forge-Landed,valueonly)']
  // Only commits that are newer than the run's base.
  const where = [...USERS, '--not', `--glob=${BRANCHES}${run}/`]
  const words = (await read(repository, ['log', ...wanted, ...where])).split('\n')
  return new Set(words.filter(word => isOid(repository.format, word)))
}

/** Whether a merge would change nothing: then the content is already there. */
async function addsNothing(objects: Objects, here: Oid, tip: Oid): Promise<boolean> {
  const { repository } = objects
  if ((await mergeBases(repository, here, tip)).length === 0) return false
  const merge = await mergeTrees(repository, here, tip, { objects })
  return merge.conflicts.length === 0 && merge.tree === (await objects.info(`${here}^{tree}`))?.oid
}

/**
 * Keeps the commits of branches that are to be removed: makes a ref for each whose commits no other ref would reach.
 */
async function save(objects: Objects, going: readonly Ref[]): Promise<{ moves: Move[]; saved: Pruned['saved'] }> {
  const { repository } = objects
  const unkept = await outsideOf(repository, tipsOf(going), [...USERS, `--glob=${KEPT}*`])
  const open = resultFirst(going.filter(({ oid }) => unkept.has(oid)))
  // A tip that another one contains needs no ref.
  const tips = await independentOf(repository, tipsOf(open))
  const names = firstNames(open)
  const moves = tips.map(tip => {
    const ref = `${KEPT}${shortName(names.get(tip) ?? '')}-${tip.slice(0, 8)}`
    return { ref, from: undefined, to: tip }
  })
  const made = moves.map(({ ref, to }) => ({ name: ref, oid: to }))
  const kept = firstNames([...(await listRefs(repository, [KEPT])), ...made])
  const saved = resultFirst(going).flatMap(({ name, oid }) => {
    const at = kept.get(oid)
    return at === undefined ? [] : [{ branch: shortName(name), at }]
  })
  return { moves, saved }
}

const resultFirst = (branches: readonly Ref[]): Ref[] => {
  const isResult = ({ name }: Ref) => name.endsWith('/result')
  return branches.toSorted((one, other) => Number(isResult(other)) - Number(isResult(one)))
}

/** Of the names of each commit the first one. */
const firstNames = (refs: readonly Ref[]): Map<Oid, RefName> =>
  new Map(refs.toReversed().map(({ name, oid }) => [oid, name]))
