/** Lists, resolves and moves refs; several move together or not at all. */
import { isRefName, type ObjectName, type Objects, openObjects } from './objects.ts'
import { asText, isOid, noOid, type Oid, type Repository } from './repository.ts'
import { GitError, read, run } from './run.ts'

/** The full name of a ref, beginning with `refs/`, one character per byte like a path: see asBytes and asText. */
export type RefName = string
export type Ref = {
  name: RefName
  /** The object that the ref names: mostly a commit; a tag object for an annotated tag. */
  oid: Oid
  /** The ref that a symbolic ref points to. */
  symbolic?: RefName
  /** The object that a tag object points to. */
  peeled?: Oid
}

/** Lists the refs below some prefixes (`refs/heads/`, `refs/tags/v1`: whole folders or names), sorted by name. */
export async function listRefs(repository: Repository, prefixes: readonly string[] = ['refs/']): Promise<Ref[]> {
  const list = ['for-each-ref', '--format=%(refname)%00%(objectname)%00%(symref)', ...prefixes.map(asText)]
  const [{ stdout }, peeled] = await Promise.all([run(repository, list), peeledTags(repository)])
  const lines = stdout.toString('latin1').split('\n')
  return lines.filter(Boolean).map(line => {
    const [name = '', oid = '', symbolic] = line.split('\0')
    const target = peeled.get(name)
    return { name, oid, ...(symbolic && { symbolic }), ...(target && { peeled: target }) }
  })
}

/**
 * The targets of tag objects by the name of the tag. Git has them in packed-refs; for-each-ref would open every object.
 */
async function peeledTags(repository: Repository): Promise<Map<RefName, Oid>> {
  const { code, stdout } = await run(repository, ['show-ref', '--dereference'], { ok: [0, 1, 128] })
  const lines = stdout.toString('latin1').matchAll(/^([0-9a-f]+) (.*)\^\{\}$/gm)
  const told = Array.from(lines, ([, oid = '', name = '']) => [name, oid] as const)
  // Git stops at a ref whose object is missing: then the tags are read one by one.
  return new Map(code === 128 ? await peeledOneByOne(repository) : told)
}

async function peeledOneByOne(repository: Repository): Promise<(readonly [RefName, Oid])[]> {
  const { stdout } = await run(repository, ['for-each-ref', '--format=%(refname)', 'refs/tags/'])
  await using objects = openObjects(repository)
  const names = stdout.toString('latin1').split('\n').filter(Boolean)
  const both = names.map(name => Promise.all([name, objects.info(name), objects.info(`${name}^{}`)]))
  return (await Promise.all(both)).flatMap(([name, tag, target]) =>
    target && tag?.type === 'tag' ? [[name, target.oid] as const] : [],
  )
}

/** The commit that a ref, HEAD or a tag names; undefined where there is none, as before the first commit. */
export async function resolve(objects: Objects, name: ObjectName): Promise<Oid | undefined> {
  return (await objects.info(`${name}^{commit}`))?.oid
}

/** What HEAD points to: a branch, which may have no commit yet, or a detached commit. */
export async function readHead(repository: Repository): Promise<{ ref?: RefName; oid?: Oid }> {
  const [ref, oid] = await Promise.all([
    run(repository, ['symbolic-ref', '--quiet', 'HEAD'], { ok: [0, 1] }),
    read(repository, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], { ok: [0, 1] }),
  ])
  const name = ref.stdout.toString('latin1').trimEnd()
  return { ...(name && { ref: name }), ...(oid && { oid }) }
}

/** The move of a ref. `from` undefined: the ref must not exist yet; `to` undefined: it is deleted. */
export type Move = { ref: RefName; from: Oid | undefined; to: Oid | undefined }

/** A ref was not at its expected commit, so no ref was moved. */
export class RefMoved extends Error {
  constructor(
    readonly ref: RefName,
    readonly expected: Oid | undefined,
    readonly found: Oid | undefined,
  ) {
    super(`${asText(ref)} is at ${found ?? 'nothing'}, not at ${expected ?? 'nothing'}: nothing was moved`)
  }
}

/**
 * Moves refs, all of them or none, each from its expected commit. A ref whose `from` and `to` are equal is only
 * verified. A symbolic ref moves the ref it points to. The message is written to reflogs, which git does not keep in a
 * bare repository by default.
 *
 * Throws {@link RefMoved} where a ref is elsewhere, and {@link GitError} where git can't move it (a lock of another git
 * process, a ref whose name is a folder of another, a missing object).
 */
export async function moveRefs(
  repository: Repository,
  moves: readonly Move[],
  { message }: { message: string },
): Promise<void> {
  verifyMoves(repository, moves)
  if (moves.length === 0) return
  const none = noOid(repository.format)
  const commands = moves.map(({ ref, from = none, to = none }) =>
    from === to ? `verify ${ref}\0${from}\0` : `update ${ref}\0${to}\0${from}\0`,
  )
  const input = Buffer.from(['start\0', ...commands, 'prepare\0', 'commit\0'].join(''), 'latin1')
  // A reflog message is one line.
  const words = message.replace(/\s+/g, ' ').trim()
  try {
    // A reference-transaction hook may be untrusted code.
    const quiet = ['-c', 'core.hooksPath=/dev/null']
    await run(repository, [...quiet, 'update-ref', '--stdin', '-z', ...(words ? ['-m', words] : [])], { input })
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    await verifyUnmoved(repository, moves)
    throw movedAndBack(error, moves) ?? error
  }
}

/**
 * Packs all refs into one file: thousands of refs in files of their own slow down every git command that lists them.
 */
export async function packRefs(repository: Repository): Promise<void> {
  await run(repository, ['-c', 'core.hooksPath=/dev/null', 'pack-refs', '--all'])
}

function verifyMoves({ format }: Repository, moves: readonly Move[]): void {
  for (const { ref, from, to } of moves) {
    if (!isRefName(ref)) throw new Error(`${JSON.stringify(ref)} is no full name of a ref`)
    const odd = [from, to].find(oid => oid !== undefined && !isOid(format, oid))
    if (odd !== undefined) throw new Error(`${JSON.stringify(odd)} is no full object id`)
  }
  const seen = new Set<RefName>()
  const twice = moves.find(({ ref }) => seen.size === seen.add(ref).size)
  if (twice) throw new Error(`${asText(twice.ref)} can't go two ways at once`)
}

/**
 * The ref that had moved according to git's error message, even if the ref is back at its expected commit by now;
 * undefined where the message names no ref.
 */
function movedAndBack({ stderr }: GitError, moves: readonly Move[]): RefMoved | undefined {
  const [, name, found] = /cannot lock ref '(.+)': is at ([0-9a-f]+) but expected/.exec(stderr) ?? []
  const move = moves.find(({ ref }) => asText(ref) === name)
  return move && new RefMoved(move.ref, move.from, found)
}

async function verifyUnmoved(repository: Repository, moves: readonly Move[]): Promise<void> {
  const now = new Map((await listRefs(repository)).map(({ name, oid }) => [name, oid]))
  for (const { ref, from } of moves) if (now.get(ref) !== from) throw new RefMoved(ref, from, now.get(ref))
}
