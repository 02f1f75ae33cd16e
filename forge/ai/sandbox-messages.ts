/**
 * The messages between the sandbox's parent and child, over the child's standard input and output: frames of a JSON
 * text and bytes, each preceded by its length. No serialization of a runtime is used, since the child may have been
 * taken over by a tool.
 */

/** Limits for one run of a tool. The child checks them, so that the tool gets an error; the parent enforces them. */
export const BOUNDS = {
  /** The most calls of the vfs in one run. `waiting`: the most that wait for a reply at the same time. */
  calls: 20_000,
  waiting: 4096,
  /** The most bytes of a file that is read or written. `read`, `written`: the most bytes in one run. */
  file: 16 << 20,
  read: 256 << 20,
  written: 64 << 20,
  /** The most characters of a path, of a result (`text`), of an error (`words`) and of a schema. */
  path: 4096,
  text: 64 << 10,
  words: 2000,
  schema: 32 << 10,
} as const

/** The parent's request, one for each child: a tool's schema, or a run of the tool. */
export type SandboxOrder = {
  type: 'schema' | 'execute'
  /** The name of the tool's file, for error messages. */
  file: string
  source: string
  /** The arguments as JSON. */
  arguments: string
}

/** The reply to a call of the vfs; `words`: why it failed. File content is in the frame's bytes. */
export type SandboxReply =
  | { type: 'reply'; call: number; ok: true; value: boolean | string[] | null }
  | { type: 'reply'; call: number; ok: false; words: string }

export const METHODS = ['readFile', 'writeFile', 'deleteFile', 'listFiles', 'fileExists'] as const
export type Method = (typeof METHODS)[number]

/** The messages of the child. The content of a file to write is in the frame's bytes. */
export type SandboxMessage =
  | { type: 'ready' }
  | { type: 'call'; call: number; method: Method; path: string; executable: boolean }
  | { type: 'done'; text: string }
  /** `tool`: the tool's own fault, with its message; `sandbox`: the tool broke its environment or hit a limit. */
  | { type: 'failed'; by: 'tool' | 'sandbox'; words: string }

export type Frame = { message: unknown; bytes: Buffer }

const HEADER = 8
const NOTHING = Buffer.alloc(0)
/**
 * At most this many bytes of JSON in a frame to the child: JSON may need six characters for one, and a list of files is
 * long.
 */
export const MAX_MESSAGE_BYTES = 32 << 20
/** At most this many bytes of JSON in a frame from the child. */
export const MAX_CHILD_MESSAGE_BYTES = 1 << 20

/** Encodes a frame. */
export function frameOf(message: SandboxOrder | SandboxReply | SandboxMessage, bytes: Uint8Array = NOTHING): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const header = Buffer.alloc(HEADER)
  header.writeUInt32LE(json.length, 0)
  header.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([header, json, bytes])
}

/**
 * Decodes frames from pieces. Throws where a frame's length exceeds `largest`, before any of it is buffered; a stream
 * that ends inside a frame ends before that frame.
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
