/** Runs the command `forge` of the tasks to its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'

type Environment = Record<string, string | undefined>

export type CommandOptions = {
  /** The program with its first arguments, such as `forge`. */
  command: readonly string[]
  env: Environment
}

type ForgeCall = {
  args: readonly string[]
  /** The folder in which the command is started. */
  cwd: string
  /** Time limit, in milliseconds. */
  timeoutMs: number
}

/**
 * At most this many bytes of output, enough for a thousand tasks with all their texts; a command that prints more is
 * stopped.
 */
const MAX_OUTPUT_BYTES = 32 << 20
/** At most this many bytes of the command's standard error are kept. */
const MAX_ERROR_BYTES = 64_000

/**
 * Runs `forge` with some arguments, and returns its output by line. Throws a {@link Failure} with the command's message
 * if it failed, and with another if it could not be started, took too long, or printed too much.
 */
export async function callForge(
  { command, env }: CommandOptions,
  { args, cwd, timeoutMs }: ForgeCall,
): Promise<string[]> {
  const [program = '', ...first] = command
  const child = spawn(program, [...first, ...args], {
    ...{ cwd, env: env as NodeJS.ProcessEnv },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let why: string | undefined
  const endFor = (words: string) => {
    why ??= words
    child.kill('SIGKILL')
  }
  const timer = setTimeout(() => endFor('it did not end in time'), timeoutMs)
  const out = collect(child.stdout, MAX_OUTPUT_BYTES, () => endFor('it said too much'))
  const err = collect(child.stderr, MAX_ERROR_BYTES, () => undefined)
  try {
    const code = await endOf(child)
    if (code === 0 && why === undefined) return linesOf(out())
    const complaint = linesOf(err()).at(-1)
    throw new Failure(
      why === undefined && complaint ? visible(complaint) : `forge ${args[0]}: ${why ?? `exit ${code}`}.`,
    )
  } finally {
    clearTimeout(timer)
  }
}

/** Collects a stream's output, up to a size. */
function collect(stream: NodeJS.ReadableStream, most: number, tooMuch: () => void): () => string {
  const pieces: Buffer[] = []
  let size = 0
  stream.on('data', (piece: Buffer) => {
    size += piece.length
    if (size > most) tooMuch()
    else pieces.push(piece)
  })
  return () => Buffer.concat(pieces).toString()
}

const endOf = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.on('error', ({ message }) => reject(new Failure(`forge could not be started: ${visible(message)}.`)))
    child.on('close', code => resolve(code))
  })

const linesOf = (text: string): string[] => text.split('\n').filter(line => line.trim() !== '')
