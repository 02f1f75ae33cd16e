/** The trailers of a commit message that name the models with which the commit was made. */
import { type Commit, textOf } from '../../../core/git/commits.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visible } from '../../../core/text.ts'

const MODEL = 'Forge-Model'
const LINES = new RegExp(`^${MODEL}: *(.{1,200}?) *$`, 'gm')

/** The trailer that names a model. */
export const modelTrailer = (model: string): string => `${MODEL}: ${visible(model)}`

/** The models that a commit's trailers name, separated by commas; undefined for none. */
export function modelOf({ message, encoding }: Pick<Commit, 'message' | 'encoding'>): string | undefined {
  const last =
    textOf(message, encoding)
      .trimEnd()
      .split(/\n\s*\n/)
      .at(-1) ?? ''
  const models = [...last.matchAll(LINES)].map(([, model]) => model)
  return models.length === 0 ? undefined : models.join(', ')
}

/** Adds a trailer for each model to the end of a message, unless it is there. Bytes stay in their encoding. */
export async function withModels<Message extends string | Buffer>(
  repository: Repository,
  message: Message,
  models: readonly string[],
): Promise<Message> {
  // Git would cut a message at a NUL, which no commit can have anyway.
  if (models.length === 0 || message.includes('\0')) return message
  const how = ['--no-divider', '--where=end', '--if-exists=addIfDifferent', '--if-missing=add']
  const trailers = models.flatMap(model => ['--trailer', modelTrailer(model)])
  // Without a line end, git takes a subject like "fix: a bug" for a trailer; with the usual comment character, it would
  // put the trailers before a last line like "#12".
  const input = typeof message === 'string' ? `${message.trimEnd()}\n` : withLineEnd(message)
  const words = ['-c', 'core.commentChar=\x01', 'interpret-trailers', ...how, ...trailers]
  const { stdout } = await run(repository, words, { input })
  return (typeof message === 'string' ? stdout.toString() : stdout) as Message
}

const withLineEnd = (bytes: Buffer): Buffer => (bytes.at(-1) === 10 ? bytes : Buffer.concat([bytes, Buffer.from('\n')]))
