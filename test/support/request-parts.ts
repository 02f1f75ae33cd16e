/** The bytes of a request to a model by purpose, so that a test shows where a change of a prompt adds bytes. */
import type { Request } from '../../forge/ai/request.ts'

/** A part of a request; `path` where it has the content of a file, or describes it. */
export type RequestPart = { part: string; path?: string; bytes: number; text: string }

/** How each part of a request begins, on a line outside of code blocks; the first match counts. */
const STARTS: readonly [part: string, start: RegExp][] = [
  ['run', /^# (?:Background|The whole piece of work)/],
  ['instructions', /^The file "([^"]+)" (?:says how this project is written|begins)/],
  ['list of files', /^# The files of (?:the project|this branch)/],
  ['related', /^(?:The file|Of the file) "([^"]+)"(?: is imported here| uses these files|, which is not shown)/],
  ['related', /^Commits that changed/],
  ['files', /^The file "([^"]+)"/],
  ['names and subjects', /^(?:Where names of the first|Subjects of the last)/],
  ['facts', /^# (?:What can be run|How tasks went|What the repository knows)/],
  ['looked at', /^# What you have looked at/],
  ['change', /^# The change/],
  ['task', /^# (?:The task |The questions that you answer)/],
  ['orders', /^# (?:What the person|What is asked|The step that)/],
]

/** All parts of a request, in order. Their bytes are those that are sent, without the JSON around them. */
export function partsOf({ tools, system, messages }: Pick<Request, 'tools' | 'system' | 'messages'>): RequestPart[] {
  const whole = (part: string, text: string): RequestPart => ({ part, text, bytes: Buffer.byteLength(text) })
  const parts = [
    whole('tools', tools.length > 0 ? JSON.stringify(tools) : ''),
    whole('system', system.map(({ text }) => text).join('\n\n')),
  ]
  const texts = messages.flatMap(({ blocks }) => blocks.flatMap(block => ('text' in block ? [block.text] : [])))
  let fence: string | undefined
  let open: { part: string; path?: string; lines: string[] } = { part: 'other', lines: [] }
  const close = () => {
    const { part, path, lines } = open
    const text = lines.join('\n')
    if (text.trim() !== '') parts.push({ ...whole(part, text), ...(path !== undefined && { path }) })
  }
  for (const line of texts.join('\n\n').split('\n')) {
    const [, mark] = /^(`{3,})/.exec(line) ?? []
    const isBorder = mark !== undefined && (fence === undefined || line === fence)
    const found = fence === undefined ? STARTS.find(([, start]) => start.test(line)) : undefined
    if (isBorder) fence = fence === undefined ? mark : undefined
    if (found) {
      close()
      const path = found[1].exec(line)?.[1]
      open = { part: found[0], lines: [], ...(path !== undefined && { path }) }
    }
    open.lines.push(line)
  }
  close()
  return parts
}

/** The bytes of each part, and in total. */
export function bytesByPart(parts: readonly RequestPart[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { part, bytes } of parts) sums[part] = (sums[part] ?? 0) + bytes
  return { ...sums, all: parts.reduce((sum, { bytes }) => sum + bytes, 0) }
}
