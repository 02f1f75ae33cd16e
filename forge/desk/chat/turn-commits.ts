/** Finds the commits of turns: what each changed, and whether it was undone. */
import type { Bounds } from '../../../core/git/bounds.ts'
import type { Oid, Path, Repository } from '../../../core/git/repository.ts'
import { asText, fields } from '../../../core/git/repository.ts'
import { GitError, run } from '../../../core/git/run.ts'
import { isOfForge } from '../branches/forge-folder.ts'
import { TURN, UNDOES } from './turn-ends.ts'

export type TurnCommit = {
  oid: Oid
  subject: string
  /** The changed files, without the conversation. Without line counts if a file is not text. */
  files: {
    path: Path
    status: 'added' | 'changed' | 'deleted' | 'renamed'
    added?: number
    deleted?: number
  }[]
  /** Whether a later commit undid the turn. */
  isUndone: boolean
}

/** At most this many turns are listed, the newest. */
const MAX_TURNS = 2000
/** Limits of the git log that searches for the commits of turns. It ends at the age of the conversation. */
const BOUNDS: Bounds = { seconds: 10, memory: Number.POSITIVE_INFINITY, output: 32 << 20 }
/** How far the clocks of several machines may differ, in seconds. */
const CLOCK_SLACK_S = 86_400

const trailer = (key: string): string => `%(trailers:key=${key},valueonly,separator=%x2C)`
const FORMAT = ['%H', '%s', trailer(TURN), trailer(UNDOES)].join('%x00')
/**
 * Matches a record of --numstat: the numbers of added and of deleted lines, and the path. For a renamed file, that is
 * empty, and its old and its new path follow.
 */
const STAT = /^\n?(\d+|-)\t(\d+|-)\t(.*)$/s
/**
 * Matches the kind of a change, whose path is the next field (of a renamed file, its old and its new path); line counts
 * follow after all of these.
 */
const RAW = /^\n?:\d+ \d+ \S+ \S+ ([A-Z])/
const RENAMED = 'R'

/** The commits of turns in the history of a commit, by turn id, made since a time in seconds. */
export async function turnCommits(repository: Repository, tip: Oid, since: number): Promise<Map<string, TurnCommit>> {
  const words = [TURN, UNDOES].map(key => `--grep=^${key}: `)
  const diff = ['--find-renames', '--raw', '--numstat', '--no-ext-diff', '--no-textconv', '--diff-merges=first-parent']
  const args = [
    'log',
    '-z',
    ...words,
    ...diff,
    `--since=${Math.max(since - CLOCK_SLACK_S, 0)}`,
    `--max-count=${MAX_TURNS}`,
  ]
  const found = await readNewest(repository, [...args, `--format=${FORMAT}`, tip, '--'])
  const undone = new Set(found.map(({ undoes }) => undoes))
  // The newest comes first; if two commits have the same turn id, the older one counts.
  return new Map(
    found.flatMap(({ turn, undoes: _, ...it }) => (turn ? [[turn, { ...it, isUndone: undone.has(turn) }]] : [])),
  )
}

/** The output of git log, or its newest part if it takes too long or is too large. */
async function readNewest(repository: Repository, args: readonly string[]): Promise<ReturnType<typeof readLog>> {
  const pieces: Buffer[] = []
  const onOutput = (piece: Buffer): undefined => {
    pieces.push(piece)
  }
  try {
    await run(repository, args, { onOutput, bounds: BOUNDS })
    return readLog(fields(Buffer.concat(pieces)))
  } catch (error) {
    if (!(error instanceof GitError && error.ending.bound)) throw error
    // Of output that was cut off, the last commit may be incomplete.
    return readLog(fields(Buffer.concat(pieces))).slice(0, -1)
  }
}

function readLog(words: readonly string[]) {
  const commits: { oid: Oid; subject: string; turn: string; undoes: string; files: TurnCommit['files'] }[] = []
  for (let at = 0; at < words.length; ) {
    const [oid = '', subject = '', turn = '', undoes = ''] = words.slice(at, at + 4)
    const files: TurnCommit['files'] = []
    const statuses = new Map<Path, string>()
    for (at += 4; at < words.length; ) {
      const [, letter] = RAW.exec(words[at] ?? '') ?? []
      if (letter === undefined) break
      const paths = letter === RENAMED ? 2 : 1
      statuses.set(words[at + paths] ?? '', letter)
      at += 1 + paths
    }
    while (at < words.length) {
      const [, added, deleted, own] = STAT.exec(words[at] ?? '') ?? []
      if (own === undefined) break
      const path = own === '' ? (words[at + 2] ?? '') : own
      at += own === '' ? 3 : 1
      if (isOfForge(path)) continue
      const file = { path, status: statusOf(statuses.get(path)) }
      files.push(added === '-' ? file : { ...file, added: Number(added), deleted: Number(deleted) })
    }
    commits.push({ oid, subject: asText(subject), turn, undoes, files })
  }
  return commits
}

function statusOf(letter: string | undefined): TurnCommit['files'][number]['status'] {
  if (letter === 'A') return 'added'
  if (letter === RENAMED) return 'renamed'
  return letter === 'D' ? 'deleted' : 'changed'
}
