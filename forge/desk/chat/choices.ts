/**
 * What belongs to the chat of a branch, and no conversation contains: choices that the next turn applies, those that
 * earlier turns have applied, and the usage of turns that were discarded or undone. Stored in the desk's state folder.
 */
import * as v from 'valibot'
import type { Path } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'
import type { Usage } from '../../ai/request.ts'
import { type Session, withActive, withInactive, withModel } from '../../ai/session.ts'
import type { Renamed } from '../../operations.ts'

const Wishes = v.object({
  model: v.optional(v.string()),
  /** The files that should be in the context as a whole (true) or not (false). */
  whole: v.optional(v.record(v.string(), v.boolean()), {}),
})
export type Wishes = v.InferOutput<typeof Wishes>

/** The usage of a turn that is over. */
const Spent = v.object({
  turn: v.string(),
  usage: v.object({
    input: v.number(),
    output: v.number(),
    cacheRead: v.number(),
    cacheWrite: v.number(),
    cost: v.exactOptional(v.number()),
  }),
})
type Spent = v.InferOutput<typeof Spent>

/** The choices that a turn has applied. */
const Applied = v.object({ turn: v.string(), wishes: Wishes })
type Applied = v.InferOutput<typeof Applied>

/** At most this many turns of a branch are recorded with the choices that they have applied, the newest. */
const MAX_APPLIED_TURNS = 50
/** At most this many turns of a branch are recorded with their usage, the newest. */
const MAX_SPENT_TURNS = 200

const File = v.object({
  branches: v.optional(v.record(v.string(), Wishes), {}),
  applied: v.optional(v.record(v.string(), v.array(Applied)), {}),
  spent: v.optional(v.record(v.string(), v.array(Spent)), {}),
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
    return new Choices(
      path,
      (await readJson(path, File)) ?? { branches: {}, applied: {}, spent: {}, models: [], isPublicTold: false },
    )
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

  /** The usage of the turns of a branch, also of those that were discarded or undone. */
  spentIn(branch: string): readonly Spent[] {
    return (Object.hasOwn(this.#file.spent, branch) && this.#file.spent[branch]) || []
  }

  /** Records the usage of a turn that is over. */
  async spend(branch: string, turn: string, usage: Usage): Promise<void> {
    const others = this.spentIn(branch).filter(it => it.turn !== turn)
    await this.#spent(branch, [...others, { turn, usage }].slice(-MAX_SPENT_TURNS))
  }

  async chooseModel(branch: string, model: string): Promise<void> {
    if (!this.models.includes(model)) this.#file = { ...this.#file, models: [...this.models, model] }
    await this.#wish(branch, { ...this.wishesIn(branch), model })
  }

  async setContext(branch: string, path: Path, isWhole: boolean): Promise<void> {
    const wishes = this.wishesIn(branch)
    await this.#wish(branch, { ...wishes, whole: { ...wishes.whole, [path]: isWhole } })
  }

  /** Takes files out of the context, and puts them there under their new paths. */
  async moveInContext(branch: string, moved: readonly Renamed[]): Promise<void> {
    const wishes = this.wishesIn(branch)
    const paths = new Set(moved.flatMap(({ from, to }) => [from, to]))
    const others = Object.entries(wishes.whole).filter(([path]) => !paths.has(path))
    const gone = moved.map(({ from }) => [from, false] as const)
    const come = moved.map(({ to }) => [to, true] as const)
    await this.#wish(branch, { ...wishes, whole: Object.fromEntries([...others, ...gone, ...come]) })
  }

  /** The choices made since a turn began, which has applied those that it found. */
  wishesSince(branch: string, taken: Wishes): Wishes {
    const { model, whole } = this.wishesIn(branch)
    const left = Object.entries(whole).filter(([path, isWhole]) => taken.whole[path] !== isWhole)
    return { ...(model !== undefined && model !== taken.model && { model }), whole: Object.fromEntries(left) }
  }

  /** Removes choices that a turn has applied, except those made since. */
  async fulfilled(branch: string, turn: string, taken: Wishes): Promise<void> {
    if (isNothing(taken)) return
    const others = this.#appliedIn(branch).filter(it => it.turn !== turn)
    const applied = [...others, { turn, wishes: taken }].slice(-MAX_APPLIED_TURNS)
    this.#file = { ...this.#file, applied: withEntry(this.#file.applied, branch, applied) }
    await this.#wish(branch, this.wishesSince(branch, taken))
  }

  /** Makes the choices again that a turn had applied which is undone now, except where there are later ones. */
  async wishAgain(branch: string, turn: string): Promise<void> {
    const taken = this.#appliedIn(branch).find(it => it.turn === turn)?.wishes
    if (!taken) return
    const now = this.wishesIn(branch)
    await this.#wish(branch, { ...taken, ...now, whole: { ...taken.whole, ...now.whole } })
  }

  #appliedIn(branch: string): readonly Applied[] {
    return (Object.hasOwn(this.#file.applied, branch) && this.#file.applied[branch]) || []
  }

  /** Moves all of a branch to its new name. What an earlier branch of that name has left is removed. */
  async renamed(branch: string, to: string): Promise<void> {
    const { branches, applied, spent } = this.#file
    if (![branches, applied, spent].some(it => Object.hasOwn(it, branch) || Object.hasOwn(it, to))) return
    await this.#keep({
      ...this.#file,
      branches: moved(branches, branch, to),
      applied: moved(applied, branch, to),
      spent: moved(spent, branch, to),
    })
  }

  async tellPublic(): Promise<void> {
    if (!this.#file.isPublicTold) await this.#keep({ ...this.#file, isPublicTold: true })
  }

  async #wish(branch: string, wishes: Wishes): Promise<void> {
    if (isNothing(wishes) && !Object.hasOwn(this.#file.branches, branch)) return
    const branches = withEntry(this.#file.branches, branch, isNothing(wishes) ? undefined : wishes)
    await this.#keep({ ...this.#file, branches })
  }

  async #spent(branch: string, turns: readonly Spent[]): Promise<void> {
    if (turns.length === 0 && !Object.hasOwn(this.#file.spent, branch)) return
    const spent = withEntry(this.#file.spent, branch, turns.length === 0 ? undefined : [...turns])
    await this.#keep({ ...this.#file, spent })
  }

  /** Writes the file after any earlier write has ended, so that the newest content is the last one written. */
  async #keep(file: File): Promise<void> {
    this.#file = file
    const written = this.#last.then(() => writeJson(this.path, file))
    this.#last = written.catch(() => undefined)
    await written
  }
}

const isNothing = ({ model, whole }: Wishes): boolean => model === undefined && Object.keys(whole).length === 0

/** A record with another value at a name, or without it. */
function withEntry<Value>(record: Record<string, Value>, name: string, value: Value | undefined) {
  const others = Object.entries(record).filter(([it]) => it !== name)
  return Object.fromEntries(value === undefined ? others : [...others, [name, value] as const])
}

function moved<Value>(record: Record<string, Value>, from: string, to: string) {
  return withEntry(withEntry(record, from, undefined), to, Object.hasOwn(record, from) ? record[from] : undefined)
}

/** A conversation with the user's choices applied. */
export function withWishes(session: Session, { model, whole }: Wishes): Session {
  const start = model === undefined ? session : withModel(session, model)
  return Object.entries(whole).reduce(
    (so, [path, isWhole]) => (isWhole ? withActive(so, path) : withInactive(so, path)),
    start,
  )
}
