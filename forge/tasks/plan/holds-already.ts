/**
 * Whether an assertion's command ends well before anything is done, as far as that can be told without running it: what
 * only looks whether files are there, or what stands in them. It would show nothing of what a run does.
 */
import { type Simple, simpleCommandsOf } from './commands.ts'

/** The files that the run begins with. `textOf`: undefined where there is no such file, or it is long or no text. */
type Before = {
  isFile: (path: string) => boolean
  isFolder: (path: string) => boolean
  textOf: (path: string) => Promise<string | undefined>
}

/** False also where nobody can tell. */
export async function holdsAlready(command: string, before: Before): Promise<boolean> {
  const parts = simpleCommandsOf(command)
  if (!parts || parts.length === 0) return false
  for (const part of parts) {
    const holds = await endsWell(part, before)
    if (holds === undefined || holds === part.isNegated) return false
  }
  return true
}

/** Undefined: it can't be told. */
async function endsWell({ words }: Simple, before: Before): Promise<boolean | undefined> {
  const [program, ...rest] = words.map(({ text }) => text)
  // What the shell would put there is not known here.
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

/** Of `grep`, only words without a meaning of their own, in one file. */
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
