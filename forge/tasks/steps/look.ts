/** Runs the chat's reading tools for a planner, on the files of a commit. */
import type { Objects } from '../../../core/git/objects.ts'
import { short, visible } from '../../../core/text.ts'
import { readingTools } from '../../ai/built-in-tools.ts'
import { contextWithoutPerson } from '../../ai/tool.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { Oid } from '../contract.ts'
import type { LookCall } from './answers.ts'

/** At most this many characters of one result. */
const MAX_RESULT = 12_000
/** At most this many characters of the results of all calls together. */
const MAX_RESULTS = 60_000

/**
 * Runs calls of reading tools, and gives their results as one text, each below its call. Changes nothing in the
 * repository.
 */
export async function lookAtAll(
  objects: Objects,
  base: Oid,
  looks: readonly LookCall[],
  signal: AbortSignal,
): Promise<string> {
  const tools = new Map(readingTools().map(tool => [tool.description.name, tool]))
  const room = contextWithoutPerson(new WorkInProgressVfs(objects, base), signal)
  const parts: string[] = []
  let left = MAX_RESULTS
  for (const { name, arguments: sent } of looks) {
    const head = `## ${name} ${short(visible(JSON.stringify(sent)), 300)}`
    if (left <= 0) {
      parts.push(`${head}\nThere is no room for more in one round.`)
      continue
    }
    const result = await tools.get(name)?.run(sent, room)
    const text = cutAtLine(result?.text ?? `There is no tool ${visible(name)}.`, Math.min(MAX_RESULT, left))
    left -= text.length
    parts.push(`${head}\n${text}`)
  }
  return parts.join('\n\n')
}

function cutAtLine(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.lastIndexOf('\n', most)
  return `${text.slice(0, end > 0 ? end : most).toWellFormed()}\n(There is more: ask for fewer lines.)`
}
