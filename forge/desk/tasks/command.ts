/** The command `forge` of the tasks, started as a person would start it, and heard to its end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'

type Environment = Record<string, string | undefined>

export type CommandOptions = {
  /** The program with its first arguments: `forge`, as a person would start it. */
  command: readonly string[]
  env: Environment
}

type ForgeCall = {
  args: readonly string[]
  /** The folder that it is started in. */
  cwd: string
  /** Milliseconds after which it is ended. */
  patience: number
}

/** It says no more than this: a thousand tasks with all their texts fit into it. In bytes. */
const MAX_OUTPUT_BYTES = 32 << 20
/** How many bytes of its standard error are kept. */
const MAX_ERROR_BYTES = 64_000

/**
 * Runs it, and gives the lines that it printed. Throws a {@link Failure} in its own words where it ended badly, and in
 * ours where it could not be started, went on for too long, or would not stop talking.
 */
export async function callForge(
  { command, env }: CommandOptions,
  { args, cwd, patience }: ForgeCall,
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
  const timer = setTimeout(() => endFor('it did not end in time'), patience)
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

/** Collects what a stream says, up to a size. */
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
