/**
 * The lessons of a repository: the files of a commit's tree at refs/forge/playbooks, one for each lesson, one with all
 * of them for a FORK.md, and the list of runs whose outcomes are counted. Any number of processes may change them: each
 * change is made on top of what is there.
 */
import { FORK_LESSONS, PLAYBOOKS } from '../../../core/formats/fork-lessons.ts'
import type { CommitIdentity } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import { listFiles, type TreeChange } from '../../../core/git/trees.ts'
import type { Oid, RunId } from '../contract.ts'
import { changeFilesAt } from '../runs/ref-files.ts'
import { linesForForkMd } from './fork-md.ts'
import { type Lesson, lessonAsMarkdown, parseLesson } from './lesson.ts'

/**
 * At most this many lessons are kept: retired ones and those with the fewest successes are removed first, a person's
 * last.
 */
const MAX_LESSONS = 200
/** At most this many files and bytes of a file are read. */
const MAX_FILES = 2000
const MAX_FILE_BYTES = 64 << 10
/** At most this many runs are remembered as counted: the newest. */
const MAX_COUNTED = 1000
const COUNTED: Path = 'counted'

/** All lessons, and the runs whose outcomes are in the lessons' counts of tasks that they were given to. */
export type Playbooks = { lessons: readonly Lesson[]; counted: readonly RunId[] }

/** The lessons in a commit, by default the newest. A file that is no lesson is left out. */
export async function readPlaybooks(objects: Objects, tip = PLAYBOOKS as string): Promise<Playbooks> {
  const commit = await objects.info(tip)
  if (!commit) return { lessons: [], counted: [] }
  const { files } = await listFiles(objects, commit.oid, { limit: MAX_FILES })
  const lessons: Lesson[] = []
  let counted: RunId[] = []
  for (const { path, oid } of files) {
    const text = (await objects.read(oid, { limit: MAX_FILE_BYTES }))?.bytes?.toString()
    if (text === undefined) continue
    if (path === COUNTED) counted = text.split('\n').filter(Boolean)
    if (!path.endsWith('.md')) continue
    const lesson = parseLesson(text)
    if (!('complaints' in lesson) && path === fileOf(lesson)) lessons.push(lesson)
  }
  return { lessons: lessons.sort((a, b) => (a.id < b.id ? -1 : 1)), counted }
}

const fileOf = ({ id }: Pick<Lesson, 'id'>): Path => `${id}.md`

/**
 * Changes the stored lessons: `change` gets the present lessons and returns the new ones, or undefined to change
 * nothing. It is called again if another process has changed the lessons meanwhile. Gives the lessons after the change.
 */
export async function changePlaybooks(
  objects: Objects,
  change: (before: Playbooks) => Playbooks | undefined,
  { words, who }: { words: string; who: CommitIdentity },
): Promise<Playbooks> {
  let after: Playbooks = { lessons: [], counted: [] }
  const changes = async (tip: Oid | undefined) => {
    const before = await readPlaybooks(objects, tip ?? PLAYBOOKS)
    const wanted = change(before) ?? before
    after = { lessons: kept(wanted.lessons), counted: wanted.counted.slice(-MAX_COUNTED) }
    return changesOf(before, after)
  }
  await changeFilesAt(objects, PLAYBOOKS, changes, { words, who })
  return after
}

function changesOf(before: Playbooks, after: Playbooks): Map<Path, TreeChange> {
  const changes = new Map<Path, TreeChange>()
  const ids = new Set(after.lessons.map(({ id }) => id))
  for (const lesson of before.lessons) if (!ids.has(lesson.id)) changes.set(fileOf(lesson), undefined)
  for (const lesson of after.lessons)
    changes.set(fileOf(lesson), { mode: '100644', bytes: Buffer.from(lessonAsMarkdown(lesson)) })
  if (after.counted.length > 0)
    changes.set(COUNTED, { mode: '100644', bytes: Buffer.from(`${after.counted.join('\n')}\n`) })
  const lines = linesForForkMd(after.lessons)
  changes.set(FORK_LESSONS, { mode: '100644', bytes: Buffer.from(lines.map(line => `${line}\n`).join('')) })
  return changes
}

/** The lessons to keep where there are too many. */
function kept(lessons: readonly Lesson[]): readonly Lesson[] {
  if (lessons.length <= MAX_LESSONS) return lessons
  const worth = (lesson: Lesson) => [lesson.by === 'person', !lesson.retired, lesson.firstTry].map(Number)
  const order = (a: Lesson, b: Lesson): number => {
    const [left, right] = [worth(a), worth(b)]
    const at = left.findIndex((it, place) => it !== right[place])
    return at < 0 ? b.date.localeCompare(a.date) : (right[at] ?? 0) - (left[at] ?? 0)
  }
  return lessons.toSorted(order).slice(0, MAX_LESSONS)
}
