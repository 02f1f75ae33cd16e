/** Checks of texts, for work that is no code: computed here from the files, without running a command. */
import { posix } from 'node:path'
import { asBytes, asText, type Path } from '../../../core/git/repository.ts'
import { visible, visiblePath } from '../../../core/text.ts'
import type { Finding } from './findings.ts'

export type TextCheck = 'citations' | 'complete' | 'format'

/** A text file that an attempt has written. */
export type WrittenText = { path: Path; text: string }

/** A function that tells whether a tree has a file or folder of this path. */
type Exists = (path: Path) => Promise<boolean>

/** The findings of a check in some texts; empty where all is well. */
export async function checkTexts(check: TextCheck, texts: readonly WrittenText[], exists: Exists): Promise<Finding[]> {
  const found = await Promise.all(
    texts.map(async written => {
      if (check === 'citations') return await citations(written, exists)
      return check === 'complete' ? gaps(written) : malformed(written)
    }),
  )
  return found.flat()
}

const isMarkdown = (path: Path): boolean => /\.(md|markdown|mdx)$/i.test(path)

const finding = ({ path }: WrittenText, line: number, words: string): Finding => {
  const shown = visiblePath(path)
  return { path: shown, line, words, key: `${shown} ${words}` }
}

/** The lines of a text outside of code fences, with their numbers. */
function* prose({ text }: WrittenText): Generator<[number: number, line: string]> {
  let fence: string | undefined
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    const [, mark] = /^ {0,3}(```+|~~~+)/.exec(line) ?? []
    if (mark && fence === undefined) fence = mark
    else if (mark && fence !== undefined && mark.startsWith(fence)) fence = undefined
    else if (fence === undefined) yield [at + 1, line]
  }
}

/**
 * Checks that every Markdown link leads to an existing file or a valid address, that every [1] and [^note] is defined,
 * and that every defined note is cited.
 */
async function citations(written: WrittenText, exists: Exists): Promise<Finding[]> {
  if (!isMarkdown(written.path)) return []
  const found: Finding[] = []
  const cited = new Map<string, number>()
  const said = new Set<string>()
  for (const [number, line] of prose(written)) {
    const plain = line.replace(/`[^`]*`/g, '')
    const [, definition] = /^ {0,3}\[(\^?[^\]\s]{1,100})\]:/.exec(plain) ?? []
    if (definition) said.add(definition.toLowerCase())
    else
      for (const [, label = ''] of plain.matchAll(/(?<!!)\[(\^[^\]\s]{1,100}|\d{1,3})\](?![([:])/g))
        if (!cited.has(label.toLowerCase())) cited.set(label.toLowerCase(), number)
    for (const [, target = ''] of plain.matchAll(/\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)/g)) {
      const why = await whyNoTarget(written.path, target, exists)
      if (why) found.push(finding(written, number, `the link to ${visible(target)} ${why}`))
    }
  }
  for (const [label, number] of cited)
    if (!said.has(label)) found.push(finding(written, number, `[${visible(label)}] is cited, and nowhere said`))
  for (const label of said)
    if (label.startsWith('^') && !cited.has(label))
      found.push(finding(written, 1, `[${visible(label)}] is said, and nowhere cited`))
  return found
}

async function whyNoTarget(from: Path, target: string, exists: Exists): Promise<string | undefined> {
  if (target.startsWith('#')) return undefined
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) {
    if (/^mailto:[^@\s]+@[^@\s]+$/i.test(target)) return undefined
    const url = URL.canParse(target) ? new URL(target) : undefined
    const isWeb = url && /^https?:$/.test(url.protocol) && /\.[a-z]{2,}$|^localhost$/i.test(url.hostname)
    return isWeb ? undefined : 'is no address'
  }
  const [path = ''] = target.split(/[?#]/)
  const folder = posix.dirname(asText(from))
  const place = path.startsWith('/') ? path.slice(1) : posix.join(folder, decoded(path))
  if (place.startsWith('..')) return 'leads out of the repository'
  const plain = place.replace(/\/+$/, '')
  return plain === '.' || plain === '' || (await exists(asBytes(plain))) ? undefined : 'leads to no file'
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

const PLACEHOLDER =
  /\b(TODO|TBD|FIXME|XXX)\b|lorem ipsum|\[(?:insert|fill in|your|placeholder)[^\]]*\]|<(?:insert|placeholder)[^>]*>|^\s*(?:\.\.\.|…)\s*$/i

/** Checks that no text is empty, no placeholder is left, and no heading is without content. */
function gaps(written: WrittenText): Finding[] {
  if (written.text.trim() === '') return [finding(written, 1, 'it is empty')]
  const found: Finding[] = []
  let heading: { level: number; number: number; words: string } | undefined
  for (const [number, line] of prose(written)) {
    const [placeholder] = PLACEHOLDER.exec(line.replace(/`[^`]*`/g, '')) ?? []
    if (placeholder) found.push(finding(written, number, `it has a placeholder (${visible(placeholder.trim())})`))
    const [, marks, words = ''] = (isMarkdown(written.path) && /^ {0,3}(#{1,6})\s+(.*)$/.exec(line)) || []
    if (!marks) {
      if (line.trim() !== '') heading = undefined
      continue
    }
    if (heading && heading.level >= marks.length) found.push(emptyHeading(written, heading))
    heading = { level: marks.length, number, words }
  }
  // Below the last heading, any text counts as content, a code fence too.
  const isLast = heading && written.text.split(/\r?\n/).slice(heading.number).join('').trim() === ''
  if (heading && isLast) found.push(emptyHeading(written, heading))
  return found
}

const emptyHeading = (written: WrittenText, { number, words }: { number: number; words: string }): Finding =>
  finding(written, number, `nothing stands below the heading ${visible(words)}`)

/** Checks that JSON, YAML and TOML parse, and that Markdown closes its fences and skips no heading level. */
function malformed(written: WrittenText): Finding[] {
  const { path, text } = written
  const readers: [RegExp, (text: string) => unknown][] = [
    [/\.json$/i, JSON.parse],
    [/\.ya?ml$/i, Bun.YAML.parse],
    [/\.toml$/i, Bun.TOML.parse],
  ]
  const [, reader] = readers.find(([pattern]) => pattern.test(path)) ?? []
  if (reader) {
    try {
      reader(text)
      return []
    } catch (error) {
      return [finding(written, 1, `it can't be read: ${visible(error instanceof Error ? error.message : '')}`)]
    }
  }
  if (!isMarkdown(path)) return []
  const found: Finding[] = []
  let level = 0
  for (const [number, line] of prose(written)) {
    const [, marks] = /^ {0,3}(#{1,6})\s/.exec(line) ?? []
    if (!marks) continue
    if (level > 0 && marks.length > level + 1)
      found.push(finding(written, number, `a heading of level ${marks.length} follows one of level ${level}`))
    level = marks.length
  }
  const fences = text.match(/^ {0,3}(```+|~~~+)/gm) ?? []
  if (fences.length % 2 === 1) found.push(finding(written, text.split('\n').length, 'a fence is not closed'))
  return found
}
