/** Tags: creating lightweight and annotated ones, renaming and deleting them. */
import { Failure } from '../../../core/failure.ts'
import { whyNotSigned } from '../../../core/git/commits.ts'
import { type NewObject, type Objects, oidOf } from '../../../core/git/objects.ts'
import { listRefs, type Move, type RefName } from '../../../core/git/refs.ts'
import { asText, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError, read, run } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import { whyNoName } from '../branches/ref-names.ts'
import { verifyUtf8 } from './remotes.ts'

export const TAGS = 'refs/tags/'

/**
 * A tag to create or delete: the move of its ref. `message`: of an annotated tag, which {@link writeAnnotatedTag} makes
 * at the commit that the move names.
 */
export type TagPlan = {
  kind: string
  does: string
  words: string
  move: Move
  message?: string
  /** Of a rename: the deletion of the old ref, and the tag object with the new name that an annotated tag needs. */
  renamed?: { move: Move; made: NewObject[] }
  warnings: string[]
}

/** Plans a tag, annotated if there is a message. Throws a {@link Failure} if git does not accept the name. */
export async function planTag(objects: Objects, name: string, at: Oid, message: string | undefined): Promise<TagPlan> {
  const { repository } = objects
  const words = visiblePath(name)
  const ref = refOf(name)
  const commit = await objects.info(`${at}^{commit}`)
  if (!commit) throw new Failure(`There is no commit ${at.slice(0, 8)} in this repository.`)
  await verifyFree(objects, ref)
  const text = message?.trim() ?? ''
  if (text.includes('\0')) throw new Failure('A message can have no NUL character in it: take it out.')
  if (text === '' && (await wantsSignedTags(repository)))
    throw new Failure('Tags are signed here (tag.gpgSign), and a signed tag needs a message: enter one.')
  const move: Move = { ref, from: undefined, to: commit.oid }
  const plan = { kind: 'tag', does: `tag ${commit.oid.slice(0, 8)} as ${words}`, words: `creates the tag ${words}` }
  return { ...plan, move, ...(text !== '' && { message: text }), warnings: [] }
}

/** Throws a {@link Failure} if there is a tag of this name, or one beside which git keeps none. */
async function verifyFree(objects: Objects, ref: RefName): Promise<void> {
  const words = visiblePath(ref.slice(TAGS.length))
  if (await objects.info(ref)) throw isThereAlready(words)
  const others = await listRefs(objects.repository, [TAGS])
  const inTheWay = others.find(other => other.name.startsWith(`${ref}/`) || ref.startsWith(`${other.name}/`))
  if (inTheWay)
    throw new Failure(
      `Git keeps no tag ${words} beside ${visiblePath(inTheWay.name.slice(TAGS.length))}: choose another name.`,
    )
}

/**
 * Plans the rename of a tag. An annotated tag has its name in it, too, so it becomes another object with the same
 * message, tagger and date. Throws a {@link Failure} if there is none, if it is signed, or if the name is taken.
 */
export async function planTagRename(objects: Objects, name: string, to: string): Promise<TagPlan> {
  const [ref, target] = [refOf(name), refOf(to)]
  const words = visiblePath(name)
  const there = await objects.info(ref)
  if (!there) throw new Failure(`There is no tag ${words}.`)
  await verifyFree(objects, target)
  const made = there.type === 'tag' ? [await renamedTag(objects, there.oid, name, to)] : []
  const oid = made[0] ? oidOf(objects.repository.format, made[0]) : there.oid
  const does = `rename the tag ${words} to ${visiblePath(to)}`
  return {
    ...{ kind: 'rename tag', does, words: `renames the tag ${words}`, warnings: [] },
    move: { ref: target, from: undefined, to: oid },
    renamed: { move: { ref, from: there.oid, to: undefined }, made },
  }
}

/**
 * The first line of a signature at the end of a tag, as git finds it: of OpenPGP (also of old versions), X.509 or SSH.
 */
const SIGNATURE = /^-----BEGIN (?:PGP SIGNATURE|PGP MESSAGE|SIGNED MESSAGE|SSH SIGNATURE)-----/m
/** The field of a signature for the other hash algorithm, in the head of a tag. */
const SIGNATURE_FIELD = /^gpgsig/m

/** An annotated tag with another name. */
async function renamedTag(objects: Objects, oid: Oid, name: string, to: string): Promise<NewObject> {
  const text = Buffer.from((await objects.read(oid))?.bytes ?? []).toString('latin1')
  const end = text.indexOf('\n\n')
  if (SIGNATURE.test(text.slice(end)) || SIGNATURE_FIELD.test(text.slice(0, end)))
    throw new Failure(
      `The tag ${visiblePath(name)} is signed with its name: create a new tag at its commit, and delete this one.`,
    )
  const head = text.slice(0, end).replace(/^tag .*$/m, () => `tag ${to}`)
  return { type: 'tag', bytes: Buffer.from(head + text.slice(end), 'latin1') }
}

const isThereAlready = (words: string): Failure =>
  new Failure(`There is a tag ${words} already: delete it first, or choose another name.`)

/** Whether git signs a tag that is made without a message or option: then it asks for a message. */
const wantsSignedTags = async (repository: Repository): Promise<boolean> =>
  (await read(repository, ['config', '--type=bool', '--get', 'tag.gpgSign'], { ok: [0, 1] })) === 'true'

/**
 * Makes an annotated tag with its ref, by git itself: the user's identity, tag.gpgSign and tag.forceSignAnnotated
 * apply, and no hook runs. Returns the tag object. Throws a {@link Failure} if there is a tag of that name by now, if
 * git knows no identity, or if signing fails.
 */
export async function writeAnnotatedTag(repository: Repository, move: Move, message: string): Promise<Oid> {
  const name = move.ref.slice(TAGS.length)
  verifyUtf8(name)
  // Without --annotate, which would override tag.forceSignAnnotated. Lines that begin with # are part of the message.
  const flags = ['-c', 'core.hooksPath=/dev/null', 'tag', '--cleanup=whitespace', '--file=-']
  try {
    await run(repository, [...flags, '--', asText(name), move.to ?? ''], { input: `${message}\n` })
  } catch (error) {
    if (error instanceof GitError && /already exists/.test(error.stderr)) throw isThereAlready(visiblePath(name))
    throw whyNotSigned(error, 'tag')
  }
  return await read(repository, ['rev-parse', '--verify', asText(move.ref)])
}

/** Plans the deletion of a tag here, and of that on a remote. Throws a {@link Failure} if there is none here. */
export async function planTagDeletion(objects: Objects, name: string, remote?: string): Promise<TagPlan> {
  const words = visiblePath(name)
  const ref = refOf(name)
  const there = await objects.info(ref)
  if (!there) throw new Failure(`There is no tag ${words}.`)
  const on = remote === undefined ? ' here' : ` here and on ${visiblePath(remote)}`
  const plan = { kind: 'delete tag', does: `delete the tag ${words}`, words: `deletes the tag ${words}${on}` }
  const warnings =
    remote === undefined ? ['A tag that was pushed stays on its remote, and a fetch brings it back.'] : []
  return { ...plan, move: { ref, from: there.oid, to: undefined }, warnings }
}

/** The ref of a tag. Throws a {@link Failure} if git does not accept the name. */
export function refOf(name: string): RefName {
  const why = whyNoName(TAGS, name)
  if (why === undefined) return `${TAGS}${name}`
  throw new Failure(`${visiblePath(name) || 'Nothing'} can't be the name of a tag: ${why}.`)
}
