/**
 * Commits of steps: each says by its trailers where it belongs and which request it came of, so that a step that is
 * done again after a crash finds it.
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

/** What the trailers of a commit say. */
type Trailers = { run: string; task?: TaskId; step: string; attempt: number; request: string }

/** A message with trailers: the words of a model, cleaned, and what only this program writes. */
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

/** The first sentence by itself, where there are more. */
function subjectFirst(words: string): string {
  const [, first = words, rest = ''] = /^(.{3,100}?)[.!]\s+(\S.*)$/s.exec(words.trim()) ?? []
  return rest === '' ? first.replace(/\.$/, '') : `${first}\n\n${rest}`
}

/** The trailers of a commit; undefined where it has none of ours. */
export async function trailersOf(
  objects: Objects,
  commit: Oid,
): Promise<(Trailers & { parent: Oid | undefined }) | undefined> {
  const object = await objects.read(commit, { limit: 1 << 20 })
  if (object?.type !== 'commit' || !object.bytes) return undefined
  const { message, parents } = parseCommit(object.bytes)
  // The last paragraph alone: what is above it, a model may have written.
  const last = textOf(message, undefined).trimEnd().split('\n\n').at(-1) ?? ''
  const values = new Map(
    Array.from(last.matchAll(/^Forge-(\w+): (.*)$/gm), ([, name = '', value = '']) => [name, value]),
  )
  const [run, task, step] = ['Run', 'Task', 'Step'].map(name => values.get(name))
  if (run === undefined || step === undefined) return undefined
  const told = { run, step, attempt: Number(values.get('Attempt')), request: values.get('Request') ?? '' }
  return { ...told, task, parent: parents[0] }
}

/** The most steps that an attempt is looked through for. */
const MAX_STEPS = 2000

/** A step's commit among those that lead to a tip, and where its attempt began; undefined where that is not known. */
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
 * Lets a ref be at a commit, wherever it was: two that do the same step come to the same end. `may` has the last word
 * on where it is seen now; without it, every place is left.
 * @throws Failure where it is a branch that a person has checked out: their files would be another commit's.
 */
export async function setRef(
  objects: Objects,
  ref: RefName,
  to: Oid,
  { message, may = async () => true }: { message: string; may?: (from: Oid | undefined) => Promise<boolean> },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const from = (await objects.info(ref))?.oid
    if (from === to || !(await may(from))) return
    await verifyFree(objects.repository, ref)
    try {
      return await moveRefsPatiently(objects.repository, [{ ref, from, to }], { message, own: 'refs/forge/' })
    } catch (error) {
      if (!(error instanceof RefMoved) || tries > 20) throw error
    }
  }
}

async function verifyFree(repository: Repository, ref: RefName): Promise<void> {
  if (!ref.startsWith('refs/heads/')) return
  // Only git can say whether there is a main work tree: it is asked where that would be on this branch.
  const main = (await headIn(repository.commonDir)) === ref ? await mainFolder(repository) : undefined
  const checkouts = await listCheckouts(repository, main)
  const checkout = checkouts.find(({ head }) => head === ref)
  if (!checkout) return
  const folder = visible(checkout.folder)
  throw new Failure(
    `The branch ${visiblePath(ref.slice('refs/heads/'.length))} is checked out in ${folder}, and nobody moves it under ` +
      'you: check out another one there, or git switch --detach.',
  )
}

/** The user, at no time. Throws a Failure that says what to set where git knows no name. */
export async function readUser(repository: Repository): Promise<CommitIdentity> {
  const line = (await readIdentity(repository, 'AUTHOR')).toString('latin1')
  const [, name = '', email = ''] = /^(.*?) ?<(.*)> \d+ [+-]\d{4}$/s.exec(line) ?? []
  const bytes = Buffer.from(`${name} <${email}>`, 'latin1')
  return { name, email, bytes }
}

/** The same person at a time. */
export const personAt = (person: CommitIdentity, seconds: number): CommitIdentity => ({
  ...person,
  date: { seconds, zone: '+0000' },
})

/**
 * A commit of changes on a base, all of it written by one git; the base itself where they change nothing. No ref moves.
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

/** When a commit was made, in seconds: what stands on several is dated by the newest, and so is always the same. */
export async function newestOf(objects: Objects, commits: readonly Oid[]): Promise<number> {
  const found = await Promise.all(commits.map(oid => objects.read(oid, { limit: 1 << 20 })))
  return Math.max(
    0,
    ...found.map(object => (object?.bytes ? (parseCommit(object.bytes).committer.date?.seconds ?? 0) : 0)),
  )
}
