/** Which commit last changed each line of a file. */
import { Failure } from '../failure.ts'
import type { Objects } from './objects.ts'
import { asText, isOid, type Oid, type Path } from './repository.ts'
import { run } from './run.ts'
import { entryAt } from './trees.ts'

/** Lines of a file, counted from 1, that come from one commit; `from`: the number of the first one in that commit. */
export type BlamedLines = { commit: Oid; line: number; from: number; count: number }
export type BlamedCommit = {
  oid: Oid
  /** The file's path in this commit; undefined where git prints the path with escapes. */
  path: Path | undefined
  /** The author's name. */
  name: string
  /** Seconds since 1970, by the author. */
  authored: number
  subject: string
  /** Whether a shallow clone ends at this commit: its lines may be of an earlier one. */
  isCut: boolean
  /** The commit before this one that has the file, too, and its path there. */
  previous: { oid: Oid; path: Path | undefined } | undefined
}
export type Blame = { lines: BlamedLines[]; commits: BlamedCommit[] }

/**
 * The file that lists commits which changed only how the code looks: blame attributes their lines to earlier commits.
 */
export const IGNORED_COMMITS: Path = '.git-blame-ignore-revs'
/** At most this many bytes of .git-blame-ignore-revs are read, and at most this many of the commits in it ignored. */
const [MAX_LIST_BYTES, MAX_IGNORED] = [1 << 20, 1000]
/** Seconds after which a blame is given up. */
const BLAME_SECONDS = 60

/**
 * Finds the commit of each line of a file as it is in a commit, by `git blame`. Commits that the file
 * `.git-blame-ignore-revs` of that commit names are ignored. Gives no lines where the commit has no regular file at the
 * path. Throws a {@link Failure} where it takes too long, and the signal's reason where that is aborted.
 */
export async function blame(objects: Objects, commit: Oid, path: Path, signal?: AbortSignal): Promise<Blame> {
  const { repository } = objects
  const entry = await entryAt(objects, commit, path)
  if (!entry || !/^100/.test(entry.mode)) return { lines: [], commits: [] }
  const ignored = (await ignoredCommits(objects, commit)).map(oid => `--ignore-rev=${oid}`)
  const where = signal ? { ...repository, signal } : repository
  const words = [
    '-c',
    'blame.ignoreRevsFile=',
    '-c',
    'core.quotePath=false',
    '--literal-pathspecs',
    'blame',
    '--incremental',
    '--no-textconv',
  ]
  const answer = await run(where, [...words, '--encoding=UTF-8', ...ignored, commit, '--', asText(path)], {
    ok: [0],
    bounds: { seconds: BLAME_SECONDS, memory: Number.POSITIVE_INFINITY, output: Number.POSITIVE_INFINITY },
  }).catch(error => {
    if (error?.ending?.bound) throw new Failure(`git blame took more than ${BLAME_SECONDS} s, and was ended.`)
    throw error
  })
  return parse(answer.stdout.toString('latin1'), repository.isShallow)
}

/** Gives the commits in a tree's {@link IGNORED_COMMITS}, without those that this repository does not have. */
async function ignoredCommits(objects: Objects, treeish: Oid): Promise<Oid[]> {
  const entry = await entryAt(objects, treeish, IGNORED_COMMITS)
  const list = entry?.mode.startsWith('100') ? await objects.read(entry.oid, { limit: MAX_LIST_BYTES }) : undefined
  const lines = list?.bytes?.toString('latin1').split('\n') ?? []
  const named = lines.map(line => line.replace(/#.*/, '').trim()).filter(it => isOid(objects.repository.format, it))
  const some = [...new Set(named)].slice(0, MAX_IGNORED)
  const infos = await Promise.all(some.map(oid => objects.info(oid)))
  return some.filter((_, at) => infos[at]?.type === 'commit')
}

const plainPath = (printed: string): Path | undefined => (printed.startsWith('"') ? undefined : printed)

function previousOf(printed: string): BlamedCommit['previous'] {
  const [oid = '', path = ''] = printed.split(/ (.*)/s)
  return { oid, path: plainPath(path) }
}

/** Reads what `git blame --incremental` prints. It prints the fields of a commit only with the commit's first lines. */
function parse(printed: string, isShallow: boolean): Blame {
  const lines: BlamedLines[] = []
  const commits = new Map<Oid, BlamedCommit>()
  let current: BlamedCommit | undefined
  for (const line of printed.split('\n')) {
    const [, oid, from, at, count] = /^([0-9a-f]{40,64}) (\d+) (\d+) (\d+)$/.exec(line) ?? []
    if (oid !== undefined) {
      current = commits.get(oid) ?? newCommit(oid)
      commits.set(oid, current)
      lines.push({ commit: oid, line: Number(at), from: Number(from), count: Number(count) })
      continue
    }
    if (!current) continue
    const [key = '', value = ''] = line.split(/ (.*)/s)
    if (key === 'author') current.name = asText(value)
    else if (key === 'author-time') current.authored = Number(value)
    else if (key === 'summary') current.subject = asText(value)
    else if (key === 'boundary') current.isCut = isShallow
    else if (key === 'filename') current.path = plainPath(value)
    else if (key === 'previous') current.previous = previousOf(value)
  }
  return { lines: lines.sort((one, other) => one.line - other.line), commits: [...commits.values()] }
}

const newCommit = (oid: Oid): BlamedCommit => ({
  oid,
  path: undefined,
  name: '',
  authored: 0,
  subject: '',
  isCut: false,
  previous: undefined,
})
