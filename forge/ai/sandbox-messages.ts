/**
 * What the sandbox's two sides say to each other over the child's standard input and output: frames of a JSON text and
 * bytes, each with its length before it. Nothing of a runtime's own serialization is used, since what comes out of the
 * child may come from code that has taken it over.
 */

/** What a tool may take. The child keeps to it so that a tool hears of it; the parent, because nothing else binds. */
export const BOUNDS = {
  /** Calls of the vfs by one run of a tool, and those that have no answer yet. */
  calls: 20_000,
  waiting: 4096,
  /** The largest file that is read or written, and all of them together. */
  file: 16 << 20,
  read: 256 << 20,
  written: 64 << 20,
  /** Characters of a path, of a result, of an error, and of a schema. */
  path: 4096,
  text: 64 << 10,
  words: 2000,
  schema: 32 << 10,
} as const

/** What the parent asks for, once in the life of a child: the schema of a tool, or a run of it. */
export type SandboxOrder = {
  type: 'schema' | 'execute'
  /** The name of the tool's file, for its errors. */
  file: string
  source: string
  /** JSON. */
  arguments: string
}

/** The answer to a call of the vfs; `words` say why there is none. What was read is in the frame's bytes. */
export type SandboxReply =
  | { type: 'reply'; call: number; ok: true; value: boolean | string[] | null }
  | { type: 'reply'; call: number; ok: false; words: string }

export const METHODS = ['readFile', 'writeFile', 'deleteFile', 'listFiles', 'fileExists'] as const
export type Method = (typeof METHODS)[number]

/** What the child says. The content of a file that is written is in the frame's bytes. */
export type SandboxMessage =
  | { type: 'ready' }
  | { type: 'call'; call: number; method: Method; path: string; executable: boolean }
  | { type: 'done'; text: string }
  /** `tool`: by its own fault, in its own words; `sandbox`: it broke what it ran in, or hit a bound. */
  | { type: 'failed'; by: 'tool' | 'sandbox'; words: string }

export type Frame = { message: unknown; bytes: Buffer }

const HEADER = 8
const NOTHING = Buffer.alloc(0)
/** JSON may need six characters for one, and a list of files is long. */
export const MAX_MESSAGE_BYTES = 32 << 20
export const MAX_CHILD_MESSAGE_BYTES = 1 << 20

/** A frame to be written. */
export function frameOf(message: SandboxOrder | SandboxReply | SandboxMessage, bytes: Uint8Array = NOTHING): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const header = Buffer.alloc(HEADER)
  header.writeUInt32LE(json.length, 0)
  header.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([header, json, bytes])
}

/**
 * The frames that come in pieces. Throws where one says of itself that it is larger than `largest` allows, before any of
 * it is kept; a stream that ends inside of a frame ends before it.
 */
export async function* framesOf(
  pieces: AsyncIterable<Uint8Array>,
  largest: { message: number; bytes: number },
): AsyncGenerator<Frame> {
  let kept: Uint8Array[] = []
  let [size, wanted] = [0, HEADER]
  for await (const piece of pieces) {
    kept.push(piece)
    size += piece.length
    while (size >= wanted) {
      const all = kept.length === 1 ? (kept[0] ?? NOTHING) : Buffer.concat(kept)
      const { buffer, byteOffset } = all
      const whole = Buffer.from(buffer, byteOffset, size)
      const [message, bytes] = [whole.readUInt32LE(0), whole.readUInt32LE(4)]
      if (message > largest.message || bytes > largest.bytes) throw new Error('A frame is larger than any may be')
      kept = [whole]
      wanted = HEADER + message + bytes
      if (size < wanted) break
      const json = whole.toString('utf8', HEADER, HEADER + message)
      yield { message: JSON.parse(json), bytes: whole.subarray(HEADER + message, wanted) }
      kept = [whole.subarray(wanted)]
      size -= wanted
      wanted = HEADER
    }
  }
}
