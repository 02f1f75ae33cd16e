/** Lessons as lines of a FORK.md, which Forklift's agent reads. */
import { visible, wrap } from '../../../core/text.ts'
import type { Lesson } from './lesson.ts'

const WIDTH = 118

/** A section of Markdown with the lessons that are not retired, by line; none where there are no such lessons. */
export function linesForForkMd(lessons: readonly Lesson[]): string[] {
  const active = lessons.filter(({ retired }) => !retired)
  if (active.length === 0) return []
  return [
    '## Lessons',
    '',
    ...active.flatMap(({ title, says, date }) =>
      wrap(`- ${visible(title)} (${date}): ${visible(says.replace(/\s+/g, ' '))}`, WIDTH).map((row, at) =>
        at === 0 ? row : `  ${row}`,
      ),
    ),
  ]
}
