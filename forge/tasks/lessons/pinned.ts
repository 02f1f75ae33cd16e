/** Stores the lessons with which a run begins, and names in its journal the lessons that each request was given. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Reference } from '../contract.ts'
import type { RunStore } from '../runs/store.ts'
import type { Lesson } from './lesson.ts'
import { readPlaybooks } from './playbooks.ts'

/** The kind of references by which the journal's lines name the lessons of a request. */
const OF_LESSON = 'lesson '
export const lessonReference = (lesson: Lesson, oid: Oid): Reference => ({ kind: `${OF_LESSON}${lesson.id}`, oid })

/** The id of the lesson that a reference names; undefined where it names none. */
export const lessonNamedBy = ({ kind }: Reference): string | undefined =>
  kind.startsWith(OF_LESSON) ? kind.slice(OF_LESSON.length) : undefined

/**
 * Stores a copy of the repository's present lessons with a run, so that the run's requests stay the same whatever is
 * learned meanwhile. Gives undefined where there are no lessons.
 */
export async function pinLessons(objects: Objects, store: RunStore): Promise<Reference | undefined> {
  const { lessons } = await readPlaybooks(objects)
  const active = lessons.filter(({ retired }) => !retired)
  if (active.length === 0) return undefined
  // The counts (how often each lesson was given, and how often it helped) are set to 0, since no request has them.
  return await store.putJson(
    'lessons',
    active.map(lesson => ({ ...lesson, given: 0, firstTry: 0 })),
  )
}

/** The lessons that are pinned for a run; the list was written by {@link pinLessons}, and is not validated. */
export async function pinnedLessons(store: RunStore, reference: Reference | undefined): Promise<Lesson[]> {
  return reference ? ((await store.readJson(reference)) as Lesson[]) : []
}
