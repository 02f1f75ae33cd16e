/** Tags: creating lightweight and annotated ones, and deleting them. */
import { Failure } from '../../../core/failure.ts'
import { readIdentity } from '../../../core/git/commits.ts'
import { isRefName, type NewObject, type Objects, oidOf } from '../../../core/git/objects.ts'
import type { Move, RefName } from '../../../core/git/refs.ts'
import { listRefs } from '../../../core/git/refs.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { read } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'

export const TAGS = 'refs/tags/'

/** A tag to create or delete: the move of its ref, and its object, if annotated. */
export type TagPlan = { kind: string; does: string; words: string; move: Move; made: NewObject[]; warnings: string[] }

/** Plans a tag, annotated if there is a message. Throws a {@link Failure} if git does not accept the name. */
export async function planTag(objects: Objects, name: string, at: Oid, message: string | undefined): Promise<TagPlan> {
  const { repository } = objects
  const words = visiblePath(name)
  const ref = refOf(name)
  const commit = await objects.info(`${at}^{commit}`)
  if (!commit) throw new Failure(`There is no commit ${at.slice(0, 8)} in this repository.`)
  if (await objects.info(ref))
    throw new Failure(`There is a tag ${words} already: delete it first, or choose another name.`)
  const others = await listRefs(repository, [TAGS])
  const inTheWay = others.find(other => other.name.startsWith(`${ref}/`) || ref.startsWith(`${other.name}/`))
  if (inTheWay)
    throw new Failure(
      `Git keeps no tag ${words} beside ${visiblePath(inTheWay.name.slice(TAGS.length))}: choose another name.`,
    )
  const text = message?.trim() ?? ''
  const plan = { kind: 'tag', does: `tag ${commit.oid.slice(0, 8)} as ${words}`, words: `makes the tag ${words}` }
  if (text === '') return { ...plan, move: { ref, from: undefined, to: commit.oid }, made: [], warnings: [] }
  if (text.includes('\0')) throw new Failure('A message can have no NUL character in it: take it out.')
  const tagger = await readIdentity(repository, 'COMMITTER')
  const head = Buffer.from(`object ${commit.oid}\ntype commit\ntag ${name}\ntagger `, 'latin1')
  const tag: NewObject = { type: 'tag', bytes: Buffer.concat([head, tagger, Buffer.from(`\n\n${text}\n`)]) }
  const wantsSigning =
    (await read(repository, ['config', '--type=bool', '--get', 'tag.gpgSign'], { ok: [0, 1] })) === 'true'
  const warnings = wantsSigning ? ['Tags are not signed here, though tag.gpgSign is set: git tag -s does that.'] : []
  return { ...plan, move: { ref, from: undefined, to: oidOf(repository.format, tag) }, made: [tag], warnings }
}

/** Plans the deletion of a tag. Throws a {@link Failure} if there is none. */
export async function planTagDeletion(objects: Objects, name: string): Promise<TagPlan> {
  const words = visiblePath(name)
  const ref = refOf(name)
  const there = await objects.info(ref)
  if (!there) throw new Failure(`There is no tag ${words}.`)
  const plan = { kind: 'delete tag', does: `delete the tag ${words}`, words: `deletes the tag ${words}` }
  const warnings = ['A tag that was pushed stays on its remote.']
  return { ...plan, move: { ref, from: there.oid, to: undefined }, made: [], warnings }
}

/** The ref of a tag. Throws a {@link Failure} if git does not accept the name. */
export function refOf(name: string): RefName {
  const ref = `${TAGS}${name}`
  if (isRefName(ref) && !name.startsWith('-')) return ref
  throw new Failure(
    `${visiblePath(name) || 'Nothing'} can't be the name of a tag: no spaces, no ~ ^ : ? * [ \\, no .. and no dash at its start.`,
  )
}
