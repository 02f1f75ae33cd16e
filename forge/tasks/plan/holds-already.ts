/**
 * Whether an assertion's command succeeds before the run has done anything, where that can be told without running it:
 * commands that only look for files or text in them. Such an assertion would show nothing.
 */
import { type Simple, simpleCommandsOf } from './commands.ts'

/** The files at the beginning of the run. `textOf`: undefined where the file is missing, long, or no text. */
type Before = {
  isFile: (path: string) => boolean
  isFolder: (path: string) => boolean
  textOf: (path: string) => Promise<string | undefined>
}

/** Whether a command surely succeeds now; false where that is unknown. */
export async function holdsAlready(command: string, before: Before): Promise<boolean> {
  const parts = simpleCommandsOf(command)
  if (!parts || parts.length === 0) return false
  for (const part of parts) {
    const holds = await endsWell(part, before)
    if (holds === undefined || holds === part.isNegated) return false
  }
  return true
}

/** Whether a simple command succeeds; undefined where that is unknown. */
async function endsWell({ words }: Simple, before: Before): Promise<boolean | undefined> {
  const [program, ...rest] = words.map(({ text }) => text)
  // Expansions of the shell are unknown here.
  if (words.some(({ text }) => /[$`*?~]/.test(text))) return undefined
  if (program === 'test') return isThere(rest, before)
  if (program === '[' && rest.at(-1) === ']') return isThere(rest.slice(0, -1), before)
  return program === 'grep' ? await hasLine(rest, before) : undefined
}

function isThere([operator, word, ...more]: string[], { isFile, isFolder }: Before): boolean | undefined {
  if (word === undefined || more.length > 0) return undefined
  const path = word.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '')
  if (operator === '-f') return isFile(path)
  if (operator === '-d') return isFolder(path)
  return operator === '-e' ? isFile(path) || isFolder(path) : undefined
}

/** Whether a `grep` finds its words; undefined unless it looks for plain words in one file. */
async function hasLine(rest: string[], { textOf }: Before): Promise<boolean | undefined> {
  const options = rest.filter(word => /^-\w+$/.test(word))
  const [pattern, path, ...more] = rest.filter(word => word !== '--' && !options.includes(word))
  if (pattern === undefined || path === undefined || more.length > 0) return undefined
  if (!options.every(option => /^-[qsFE]+$/.test(option))) return undefined
  const isPlain = options.some(option => option.includes('F')) || /^[\w \-:#/,;@"'<>=!%&~]+$/.test(pattern)
  if (!isPlain || pattern.includes('\n')) return undefined
  const text = await textOf(path.replace(/^(?:\.\/)+/, ''))
  return text === undefined ? false : text.includes(pattern)
}
