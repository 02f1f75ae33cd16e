/**
 * Extracts complaints from the output of compilers, linters and test runners, so that complaints that a check makes on
 * the base commit, too, do not count, and a model sees each other one once, with the code around it.
 */

/** One complaint. `key` is equal for the same complaint elsewhere in the file. */
export type Finding = { path?: string; line?: number; words: string; key: string }

/** `path:line:column: words` and `path(line,column): words`, the formats of nearly all compilers and linters. */
const AT =
  /^(?:\s*(?:-->|at)\s+)?(?<path>[^\s:()'"][^:()'"\n]{0,300}\.[A-Za-z0-9]{1,10})(?::(?<line>\d{1,7})(?::\d{1,7})?|\((?<line2>\d{1,7}),\d{1,7}\)):?\s*[-–]?\s*(?<words>\S.*)$/
/** Formats of failed tests: Bun, node:test and TAP, pytest, Jest and Vitest, Go, Rust. */
const FAILED_TEST = [
  /^\(fail\)\s+(?<words>.+?)(?:\s+\[[\d.]+m?s\])?$/,
  /^not ok\s+(?:\d+\s+)?(?:-\s+)?(?<words>.+)$/,
  /^(?:FAILED|ERROR)\s+(?<words>\S+::\S.*?|\S+\.py)(?:\s+-\s.*)?$/,
  /^\s*[✕✗×✖]\s+(?<words>.+?)(?:\s+\(?[\d.]+\s?m?s\)?)?$/,
  /^\s*--- FAIL:\s+(?<words>\S+)/,
  /^test\s+(?<words>\S+)\s+\.\.\.\s+FAILED$/,
]
const MAX_FINDINGS = 500

/** The message of a pytest error. The line with its file, line number and class follows further below. */
const PYTEST_ERROR = /^E {2,}(?<words>\S.{0,500})$/

/** The complaints in a command's output, in order, without repetitions. */
export function findingsIn(output: string): Finding[] {
  const found = new Map<string, Finding>()
  let error = ''
  for (const line of output.split('\n')) {
    const said = PYTEST_ERROR.exec(line.trimEnd())?.groups?.words
    if (said !== undefined) error ||= said
    let finding = findingOf(line.trimEnd())
    if (finding && error.startsWith(`${finding.words}:`)) finding = { ...finding, words: error }
    if (finding) error = ''
    if (finding && !found.has(`${finding.key} ${finding.line}`)) found.set(`${finding.key} ${finding.line}`, finding)
    if (found.size >= MAX_FINDINGS) break
  }
  return [...found.values()]
}

function findingOf(line: string): Finding | undefined {
  if (line.length > 2000) return undefined
  for (const pattern of FAILED_TEST) {
    const words = pattern.exec(line)?.groups?.words
    if (words) return { words: `test failed: ${words}`, key: `test ${words}` }
  }
  const { path, line: one, line2, words } = AT.exec(line)?.groups ?? {}
  if (!path || !words || /^https?$/.test(path)) return undefined
  const clean = path.replace(/^(?:\.\/|\/workspace\/)/, '')
  return { path: clean, line: Number(one ?? line2), words, key: `${clean} ${withoutNumbers(words)}` }
}

/** A complaint with numbers removed, so that it is the same after lines were added above it. */
const withoutNumbers = (words: string): string => words.replace(/\d+/g, '#')

/**
 * The complaints in `after` that are not in `before`. One that occurs more often than before is given once for each
 * further time.
 */
export function newFindings(before: readonly Finding[], after: readonly Finding[]): Finding[] {
  const known = new Map<string, number>()
  for (const { key } of before) known.set(key, (known.get(key) ?? 0) + 1)
  return after.filter(({ key }) => {
    const left = known.get(key) ?? 0
    known.set(key, left - 1)
    return left <= 0
  })
}
