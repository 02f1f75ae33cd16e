/** Trailers: lines at the end of a commit message that name people and facts, as in `git interpret-trailers`. */
import type { Repository } from './repository.ts'
import { run } from './run.ts'

/** Adds trailers to the end of a message, unless they are there. Bytes stay in their encoding. */
export async function withTrailers<Message extends string | Buffer>(
  repository: Repository,
  message: Message,
  trailers: readonly string[],
): Promise<Message> {
  // Git would cut a message at a NUL, which no commit can have anyway.
  if (trailers.length === 0 || message.includes('\0')) return message
  const how = ['--no-divider', '--where=end', '--if-exists=addIfDifferent', '--if-missing=add']
  const options = trailers.flatMap(trailer => ['--trailer', trailer])
  // Without a line end, git takes a subject like "fix: a bug" for a trailer; with the usual comment character, it would
  // put the trailers before a last line like "#12".
  const input = typeof message === 'string' ? `${message.trimEnd()}\n` : withLineEnd(message)
  const words = ['-c', 'core.commentChar=\x01', 'interpret-trailers', ...how, ...options]
  const { stdout } = await run(repository, words, { input })
  return (typeof message === 'string' ? stdout.toString() : stdout) as Message
}

const withLineEnd = (bytes: Buffer): Buffer => (bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.from('\n')]))
