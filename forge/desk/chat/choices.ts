/**
 * Choices made in a chat that no conversation contains yet: the next turn applies them. Stored in the desk's state
 * folder.
 */
import * as v from 'valibot'
import type { Path } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'
import { type Session, withActive, withInactive, withModel } from '../../ai/session.ts'

const Wishes = v.object({
  model: v.optional(v.string()),
  /** The files that should be in the context as a whole (true) or not (false). */
  whole: v.optional(v.record(v.string(), v.boolean()), {}),
})
export type Wishes = v.InferOutput<typeof Wishes>

const File = v.object({
  branches: v.optional(v.record(v.string(), Wishes), {}),
  /** The models that were ever chosen here. */
  models: v.optional(v.array(v.string()), []),
  /** Whether the user has confirmed that conversations are committed. */
  isPublicTold: v.optional(v.boolean(), false),
})
type File = v.InferOutput<typeof File>

export class Choices {
  #file: File
  #last: Promise<unknown> = Promise.resolve()

  private constructor(
    readonly path: string,
    file: File,
  ) {
    this.#file = file
  }

  static async open(path: string): Promise<Choices> {
    return new Choices(path, (await readJson(path, File)) ?? { branches: {}, models: [], isPublicTold: false })
  }

  get isPublicTold(): boolean {
    return this.#file.isPublicTold
  }

  get models(): readonly string[] {
    return this.#file.models
  }

  wishesIn(branch: string): Wishes {
    return (Object.hasOwn(this.#file.branches, branch) && this.#file.branches[branch]) || { whole: {} }
  }

  async chooseModel(branch: string, model: string): Promise<void> {
    if (!this.models.includes(model)) this.#file = { ...this.#file, models: [...this.models, model] }
    await this.#wish(branch, { ...this.wishesIn(branch), model })
  }

  async setContext(branch: string, path: Path, isWhole: boolean): Promise<void> {
    const wishes = this.wishesIn(branch)
    await this.#wish(branch, { ...wishes, whole: { ...wishes.whole, [path]: isWhole } })
  }

  /** Removes choices that a turn has applied, except those made since. */
  async fulfilled(branch: string, taken: Wishes): Promise<void> {
    const { model, whole } = this.wishesIn(branch)
    const left = Object.entries(whole).filter(([path, isWhole]) => taken.whole[path] !== isWhole)
    const rest = { ...(model !== undefined && model !== taken.model && { model }), whole: Object.fromEntries(left) }
    await this.#wish(branch, rest)
  }

  async renamed(branch: string, to: string): Promise<void> {
    const wishes = this.wishesIn(branch)
    await this.#wish(branch, { whole: {} })
    await this.#wish(to, wishes)
  }

  async tellPublic(): Promise<void> {
    if (!this.#file.isPublicTold) await this.#keep({ ...this.#file, isPublicTold: true })
  }

  async #wish(branch: string, wishes: Wishes): Promise<void> {
    const isNothing = wishes.model === undefined && Object.keys(wishes.whole).length === 0
    if (isNothing && !Object.hasOwn(this.#file.branches, branch)) return
    const others = Object.entries(this.#file.branches).filter(([name]) => name !== branch)
    const branches = Object.fromEntries(isNothing ? others : [...others, [branch, wishes]])
    await this.#keep({ ...this.#file, branches })
  }

  /** Writes the file after any earlier write has ended, so that the newest content is the last one written. */
  async #keep(file: File): Promise<void> {
    this.#file = file
    const written = this.#last.then(() => writeJson(this.path, file))
    this.#last = written.catch(() => undefined)
    await written
  }
}

/** A conversation with the user's choices applied. */
export function withWishes(session: Session, { model, whole }: Wishes): Session {
  const start = model === undefined ? session : withModel(session, model)
  return Object.entries(whole).reduce(
    (so, [path, isWhole]) => (isWhole ? withActive(so, path) : withInactive(so, path)),
    start,
  )
}
