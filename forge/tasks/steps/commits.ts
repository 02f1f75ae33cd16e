/**
 * The commits of steps. Trailers say which step and request each belongs to, so that a repeated step finds its commit.
 */
import { Failure } from '../../../core/failure.ts'
import { headIn, listCheckouts, mainFolder } from '../../../core/git/checkouts.ts'
import {
  bytesOf,
  type CommitIdentity,
  identityLine,
  parseCommit,
  readIdentity,
  textOf,
} from '../../../core/git/commits.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { RefMoved, type RefName } from '../../../core/git/refs.ts'
import type { Path, Repository } from '../../../core/git/repository.ts'
import { makeTree, type TreeChange } from '../../../core/git/trees.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import { cleanMessage } from '../../ai/commit-message.ts'
import type { Oid, StepPlace, TaskId } from '../contract.ts'

/** The trailers of a step's commit. */
type Trailers = { run: string; task?: TaskId; step: string; attempt: number; request: string }

/** A commit message: a model's text, cleaned, and the trailers of this program. */
export function stepMessage(words: string, place: StepPlace, request: string): string {
  const { run, task, step, attempt } = place
  const trailers = [
    `Forge-Run: ${run}`,
    ...(task === undefined ? [] : [`Forge-Task: ${task}`]),
    `Forge-Step: ${step}`,
    `Forge-Attempt: ${attempt}`,
    `Forge-Request: ${request}`,
  ]
  return `${cleanMessage(subjectFirst(words)) ?? 'Do a step'}\n\n${trailers.join('\n')}\n`
}

/** Puts the first sentence of several on a line of its own. */
function subjectFirst(words: string): string {
  const [, first = words, rest = ''] = /^(.{3,100}?)[.!]\s+(\S.*)$/s.exec(words.trim()) ?? []
  return rest === '' ? first.replace(/\.$/, '') : `${first}\n\n${rest}`
}

/** The trailers of a step's commit; undefined where a commit has none of these. */
export async function trailersOf(
  objects: Objects,
  commit: Oid,
): Promise<(Trailers & { parent: Oid | undefined }) | undefined> {
  const object = await objects.read(commit, { limit: 1 << 20 })
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { message, parents } = parseCommit(object.bytes)
  // Trailers are read from the last paragraph only: a model may have written the paragraphs above.
  const last = textOf(message, undefined).trimEnd().split('\n\n').at(-1) ?? ''
  const values = new Map(
    Array.from(last.matchAll(/^Forge-(\w+): (.*)$/gm), ([, name = '', value = '']) => [name, value]),
  )
  const [run, task, step] = ['Run', 'Task', 'Step'].map(name => values.get(name))
  if (run === undefined || step === undefined) return undefined
  const told = { run, step, attempt: Number(values.get('Attempt')), request: values.get('Request') ?? '' }
  return { ...told, task, parent: parents[0] }
}

/** At most this many commits of an attempt are searched. */
const MAX_STEPS = 2000

/**
 * Finds a step's commit among the ancestors of a tip, and the commit at which its attempt began; undefined where they
 * are not found.
 */
export async function findStep(
  objects: Objects,
  tip: Oid | undefined,
  place: StepPlace,
  request: string | undefined,
): Promise<{ commit?: Oid; parent?: Oid; began?: Oid }> {
  let found: { commit?: Oid; parent?: Oid } = {}
  let at = tip
  for (let steps = 0; at !== undefined && steps < MAX_STEPS; steps++) {
    const told = await trailersOf(objects, at)
    const isOwn = told?.run === place.run && told.task === place.task && told.attempt === place.attempt
    if (!told || !isOwn) return { ...found, began: at }
    if (!found.commit && told.step === place.step && told.request === request)
      found = { commit: at, parent: told.parent }
    at = told.parent
  }
  return found
}

/**
 * Sets a ref to a commit, whatever it was at: two workers of the same step come to the same commit. `may` can refuse,
 * given the ref's present commit. Gives whether the ref is at the commit then. @throws Failure where the ref is a
 * branch that is checked out, as the files there would not match.
 */
export async function setRef(
  objects: Objects,
  ref: RefName,
  to: Oid,
  { message, may = async () => true }: { message: string; may?: (from: Oid | undefined) => Promise<boolean> },
): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const from = (await objects.info(ref))?.oid
    if (from === to) return true
    if (!(await may(from))) return false
    await verifyFree(objects.repository, ref)
    try {
      await moveRefsPatiently(objects.repository, [{ ref, from, to }], { message, own: 'refs/forge/' })
      return true
    } catch (error) {
      if (!(error instanceof RefMoved) || tries > 20) throw error
    }
  }
}

async function verifyFree(repository: Repository, ref: RefName): Promise<void> {
  if (!ref.startsWith('refs/heads/')) return
  // Whether the repository has a main work tree, only git can say. Git is asked only if the HEAD of the common git
  // folder, which is that work tree's, is at this branch.
  const main = (await headIn(repository.commonDir)) === ref ? await mainFolder(repository) : undefined
  const checkouts = await listCheckouts(repository, main)
  const checkout = checkouts.find(({ head }) => head === ref)
  if (!checkout) return
  const folder = visible(checkout.folder)
  throw new Failure(
    `The branch ${visiblePath(ref.slice('refs/heads/'.length))} is checked out in ${folder}, so it is not moved: ` +
      'check out another one there, or git switch --detach.',
  )
}

/** The user's git identity without a date. Throws a Failure that says what to set where there is none. */
export async function readUser(repository: Repository): Promise<CommitIdentity> {
  const line = (await readIdentity(repository, 'AUTHOR')).toString('latin1')
  const [, name = '', email = ''] = /^(.*?) ?<(.*)> \d+ [+-]\d{4}$/s.exec(line) ?? []
  const bytes = Buffer.from(`${name} <${email}>`, 'latin1')
  return { name, email, bytes }
}

/** The identity with a date: seconds since 1970, in UTC. */
export const personAt = (person: CommitIdentity, seconds: number): CommitIdentity => ({
  ...person,
  date: { seconds, zone: '+0000' },
})

/**
 * Commits changes on a base, with all objects written by one git process; gives the base itself where they change
 * nothing. No ref moves.
 */
export async function commitOn(
  objects: Objects,
  {
    base,
    changes,
    message,
    who,
  }: { base: Oid; changes: ReadonlyMap<Path, TreeChange>; message: string; who: CommitIdentity },
): Promise<Oid> {
  const { oid: tree, made } = await makeTree(objects, base, changes)
  if (tree === (await objects.info(`${base}^{tree}`))?.oid) return base
  const line = identityLine(who)
  const bytes = bytesOf({ tree, parents: [base], message }, line, line)
  return (await writeObjects(objects.repository, [...made, { type: 'commit', bytes }])).at(-1) ?? ''
}

/** The date of the newest of some commits, in seconds. A merge gets this date, so that it is always the same commit. */
export async function newestOf(objects: Objects, commits: readonly Oid[]): Promise<number> {
  const found = await Promise.all(commits.map(oid => objects.read(oid, { limit: 1 << 20 })))
  return Math.max(
    0,
    ...found.map(object => (object?.bytes ? (parseCommit(object.bytes).committer.date?.seconds ?? 0) : 0)),
  )
}
