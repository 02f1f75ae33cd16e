/** The trailers of a commit message that name the models with which the commit was made. */
import { type Commit, textOf } from '../../../core/git/commits.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { withTrailers } from '../../../core/git/trailers.ts'
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
export function withModels<Message extends string | Buffer>(
  repository: Repository,
  message: Message,
  models: readonly string[],
): Promise<Message> {
  return withTrailers(repository, message, models.map(modelTrailer))
}
