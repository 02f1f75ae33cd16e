/** Which names match a few typed letters, and how well. */
import type { Path } from '../../../core/git/repository.ts'

/**
 * `name`: what a name has to match, in small letters; `around`: texts that its container or its path must have, in
 * small letters: `tide.next` finds `next` in `Tide`.
 */
export type SymbolQuery = { written: string; name: string; around: readonly string[] }

/** A matching name: the file, and the line of symbol-lines.ts. */
export type MatchedSymbol = { path: Path; line: string }

const MAX_SCORE = 100
/** Third-party or generated code and tests come after the rest. */
const LESS_WANTED = /(?:^|\/)(?:node_modules|vendor|third_party|dist|testdata|fixtures)\/|\.min\.js$|[._-]pb2?\./
const TESTS = /(?:^|\/)(?:tests?|__tests__|specs?)\/|(?:^|\/)test_[^/]*$|[._](?:test|spec)\.[^/]*$/

export function symbolQuery(words: string): SymbolQuery {
  const parts = words.split(/[\s.:#/]+/).filter(Boolean)
  const written = parts.at(-1) ?? ''
  return { written, name: written.toLowerCase(), around: parts.slice(0, -1).map(part => part.toLowerCase()) }
}

/** Collects the best matches of a query; among those that match alike, the first ones. */
export class BestSymbols {
  /** The matches by score, each list at most `count` long. */
  readonly #byScore: MatchedSymbol[][] = Array.from({ length: MAX_SCORE + 1 }, () => [])
  /** Scores below this can't be among the best any more. */
  #least = 1

  constructor(
    readonly query: SymbolQuery,
    readonly count: number,
  ) {}

  /** Looks at the names of a file, as lines of symbol-lines.ts. */
  look(path: Path, lines: string): void {
    const { name, around } = this.query
    if (name === '' || this.count === 0) return
    const [first] = name
    if (first === undefined) return
    const less = LESS_WANTED.test(path) ? 20 : TESTS.test(path) ? 6 : 0
    for (let from = 0; from < lines.length; ) {
      const tab = lines.indexOf('\t', from)
      const end = lines.indexOf('\n', tab)
      if (tab < 0 || end < 0) return
      if (hasInOrder(lines, from, tab, name)) {
        const line = lines.slice(from, end)
        if (isAround(around, path, line))
          this.#add(scoreOf(line.slice(0, tab - from), this.query) - less, { path, line })
      }
      from = end + 1
    }
  }

  /** The best matches, best first. */
  found(): MatchedSymbol[] {
    return this.#byScore.toReversed().flat().slice(0, this.count)
  }

  #add(score: number, match: MatchedSymbol): void {
    const place = Math.max(1, Math.min(MAX_SCORE, Math.round(score)))
    if (place < this.#least) return
    const list = this.#byScore[place]
    if (!list || list.length >= this.count) return
    list.push(match)
    if (list.length === this.count) this.#least = Math.max(this.#least, place)
  }
}

/** Whether a part of a text has the characters of `wanted`, which are small letters, in their order. */
function hasInOrder(text: string, from: number, to: number, wanted: string): boolean {
  let found = 0
  for (let at = from; at < to && found < wanted.length; at++) {
    const code = text.charCodeAt(at)
    const other = wanted.charCodeAt(found)
    if (code === other || (code >= 65 && code <= 90 && code + 32 === other)) found++
    else if (code > 127 && text.charAt(at).toLowerCase() === wanted.charAt(found)) found++
  }
  return found === wanted.length
}

function isAround(around: readonly string[], path: Path, line: string): boolean {
  if (around.length === 0) return true
  const container = line.slice(line.lastIndexOf('\t') + 1).toLowerCase()
  const place = path.toLowerCase()
  return around.every(part => container.includes(part) || place.includes(part))
}

/** How well a name matches: the whole name, its beginning, the beginnings of its words, a part, letters in order. */
function scoreOf(name: string, { written, name: wanted }: SymbolQuery): number {
  const small = name.toLowerCase()
  const length = Math.min(10, Math.max(0, small.length - wanted.length) / 4)
  if (name === written) return MAX_SCORE
  if (small === wanted) return MAX_SCORE - 2
  if (small.startsWith(wanted)) return 88 - length
  const initials = (name.match(/(?:^|[_\W])\w|[A-Z](?![A-Z])|\d+/g) ?? []).join('').replace(/[_\W]/g, '').toLowerCase()
  if (initials.startsWith(wanted)) return 75 - length
  const at = small.indexOf(wanted)
  if (at > 0) {
    const isWord = /[A-Z]/.test(name[at] ?? '') || /[_\W]/.test(name[at - 1] ?? '')
    return (isWord ? 65 : 45) - length
  }
  return 25 - length
}
