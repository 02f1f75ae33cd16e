/**
 * The domain of a task (a language, text, data), by the files that it writes. A lesson may be for one domain only, and
 * statistics are kept by domain.
 */
import type { Task } from '../plan/schema.ts'

export const DOMAINS = ['typescript', 'python', 'go', 'rust', 'shell', 'code', 'text', 'data', 'mixed'] as const
export type Domain = (typeof DOMAINS)[number]

const BY_EXTENSION: readonly [Domain, RegExp][] = [
  ['typescript', /\.(?:[cm]?[jt]sx?)$/i],
  ['python', /\.pyi?$/i],
  ['go', /\.go$/i],
  ['rust', /\.rs$/i],
  ['shell', /\.(?:sh|bash|zsh)$/i],
  ['text', /\.(?:md|markdown|rst|adoc|txt|tex|html?)$/i],
  ['data', /\.(?:json|jsonl|ndjson|csv|tsv|ya?ml|toml|xml|sql|parquet)$/i],
]
/** Domains that do not count beside code: a changelog or a manifest does not make a task of code a mixed one. */
const BESIDE: readonly Domain[] = ['text', 'data']

/** The domain of a file; `code` where its language has none of its own. */
const domainOfFile = (path: string): Domain => BY_EXTENSION.find(([, pattern]) => pattern.test(path))?.[0] ?? 'code'

/** The domain of a task. `mixed`: of several programming languages. */
export function domainOf({ objective, boundaries }: Pick<Task, 'objective' | 'boundaries'>): Domain {
  const named = [...objective.outputs, ...boundaries.write].filter(path => /\.\w+$/.test(path))
  const found = new Set(named.map(domainOfFile))
  const [first, ...more] = [...found].filter(domain => !BESIDE.includes(domain))
  if (first) return more.length === 0 ? first : 'mixed'
  return found.has('data') ? 'data' : found.has('text') ? 'text' : 'code'
}
