/**
 * The conversation in a branch or a commit. The server's copy decides: pieces that arrive while a turn runs are shown
 * at once, and replaced when the conversation is loaded again.
 */
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Approval, Call, Conversation, Item, TurnNews, TurnUsage } from '../../contract/chat.ts'
import type { At } from '../../contract/values.ts'
import { sumOf } from '../ui/figures.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'

export type Turn = NonNullable<Conversation['turn']>
export type End = Extract<Item, { kind: 'end' }>

/** The files that a turn has changed. A renamed file counts once, under its new path. */
export const filesOf = ({ files, renamed }: Turn): string[] => files.filter(path => !renamed.includes(path))

/** One turn in the log: the user's message with all items that answer it. */
export class Section {
  readonly turn: string
  readonly items: Signal<readonly Item[]>

  constructor(turn: string, items: readonly Item[]) {
    this.turn = turn
    this.items = signal(items)
  }

  get end(): End | undefined {
    return this.items.value.findLast((item): item is End => item.kind === 'end')
  }
}

/** A retry after an answer was cut off. */
export interface Again {
  words: string
  /** The time of the retry, in milliseconds since 1970. */
  until: number
}

/** Where the log of a conversation is scrolled to. */
export interface LogPlace {
  turn: string
  /** The index of the block of the turn that is at the top of the view; -1 if the turn's beginning is. */
  block: number
  /** How far the top of the block, or of the turn, is above the view's, in pixels. */
  offset: number
  /** The number of messages that the user had sent by then, as counted by the composer. */
  sent: number
}

/** Pieces that arrive within this time are shown together, also in a tab that is not painted. Milliseconds. */
const FLUSH_DELAY_MS = 40

export class ConversationState extends ServerValue<Conversation> {
  /** The conversation without its items. */
  readonly head = signal<Conversation | undefined>(undefined)
  readonly sections = signal<readonly Section[]>([])
  readonly again = signal<Again | undefined>(undefined)
  /** Whether a turn runs or waits for an answer from the user. */
  readonly isBusy: ReadonlySignal<boolean>
  readonly isUnfinished: ReadonlySignal<boolean>
  /** The sum of the usage of all turns; of a running turn, the part that is known. */
  readonly usage: ReadonlySignal<TurnUsage | undefined>

  /** Where the user reads in the log; undefined at its end, which is followed. */
  place: LogPlace | undefined

  #waiting: TurnNews[] = []
  /** How long the page took to show the last pieces, in milliseconds. */
  #took = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #at: At

  constructor(connection: Connection, at: At) {
    super(() => connection.ask('conversation', { at: this.#at }))
    this.#at = at
    this.isBusy = computed(() => this.head.value?.turn !== undefined && !this.isUnfinished.value)
    this.isUnfinished = computed(() => this.head.value?.turn?.state === 'unfinished')
    this.usage = computed(() => {
      const { usage, turn } = this.head.value ?? {}
      return usage && turn ? sumOf(usage, turn.usage) : usage
    })
  }

  /** Follows the branch to its new name. */
  moveTo(at: At): void {
    this.#at = at
    if (this.isAsked) void this.refresh()
  }

  /** The tools of the repository that wait for approval. */
  get approvals(): Approval[] {
    return this.head.value?.approvals ?? []
  }

  /** The turn that can be undone now. */
  get undoable(): End | undefined {
    const ends = this.sections.value.flatMap(section => section.end ?? [])
    return ends.findLast(({ commit }) => commit?.canUndo)
  }

  receive(news: TurnNews): void {
    if (!this.isAsked) return
    if (news.is === 'changed' || news.is === 'begun') {
      this.#flush()
      this.refresh()
      return
    }
    this.#waiting.push(news)
    this.#timer ??= setTimeout(() => this.#flush(), Math.max(FLUSH_DELAY_MS, 2 * this.#took))
  }

  protected override take(conversation: Conversation): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // The loaded conversation includes all pieces that arrived before it, except the notice of a retry, which is kept.
    const last = this.#waiting.at(-1)
    this.#waiting = []
    batch(() => {
      if (last?.is === 'again') this.#wait(last)
      if (conversation.turn?.state !== 'running') this.again.value = undefined
      this.sections.value = sectionsOf(conversation.items, this.sections.peek())
      this.head.value = { ...conversation, items: [] }
    })
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const all = this.#waiting
    this.#waiting = []
    const began = performance.now()
    setTimeout(() => {
      this.#took = performance.now() - began
    })
    batch(() => {
      for (const news of joined(all)) this.#apply(news)
    })
  }

  #apply(news: TurnNews): void {
    if (news.is !== 'again') this.again.value = undefined
    switch (news.is) {
      case 'text':
        this.#append(news.turn, { kind: 'text', turn: news.turn, text: news.delta })
        return
      case 'reasoning':
        this.#append(news.turn, { kind: 'reasoning', turn: news.turn, text: news.delta })
        return
      case 'call':
        this.#call(news.turn, news.call)
        return
      case 'doing':
        this.#change({ words: news.words, usage: news.usage })
        return
      case 'again': {
        this.#change({ words: news.words })
        this.#wait(news)
        const section = this.#section(news.turn)
        section.items.value = withoutCut(section.items.peek())
      }
    }
  }

  #wait({ words, seconds }: { words: string; seconds: number }): void {
    this.again.value = { words, until: Date.now() + seconds * 1_000 }
  }

  #change(changes: Partial<Turn>): void {
    const head = this.head.peek()
    if (head?.turn) this.head.value = { ...head, turn: { ...head.turn, ...changes } }
  }

  #append(turn: string, piece: Extract<Item, { kind: 'text' | 'reasoning' }>): void {
    const { items } = this.#section(turn)
    const last = items.peek().at(-1)
    if (last?.kind !== piece.kind) items.value = [...items.peek(), piece]
    else items.value = [...items.peek().slice(0, -1), { ...last, text: last.text + piece.text }]
  }

  #call(turn: string, call: Call): void {
    const { items } = this.#section(turn)
    // Some models number their calls from the start in each answer: a call that has ended is not restarted by one with
    // the same id.
    const isNew = call.state === 'coming'
    const index = items.peek().findLastIndex(item => {
      return item.kind === 'call' && item.call.id === call.id && !(isNew && hasEnded(item.call))
    })
    const item: Item = { kind: 'call', turn, call }
    items.value = index < 0 ? [...items.peek(), item] : items.peek().with(index, item)
  }

  #section(turn: string): Section {
    const known = this.sections.peek().findLast(section => section.turn === turn)
    if (known) return known
    const section = new Section(turn, [])
    this.sections.value = [...this.sections.peek(), section]
    return section
  }
}

function hasEnded({ state }: Call): boolean {
  return state === 'done' || state === 'failed'
}

/** Joins consecutive pieces of the same text. */
function joined(all: TurnNews[]): TurnNews[] {
  const some: TurnNews[] = []
  for (const news of all) {
    const last = some.at(-1)
    const isSameText =
      (news.is === 'text' || news.is === 'reasoning') && last?.is === news.is && last.turn === news.turn
    if (isSameText) some[some.length - 1] = { ...last, delta: last.delta + news.delta }
    else some.push(news)
  }
  return some
}

/** The items without those of an answer that was cut off: all after the last complete call are removed. */
function withoutCut(items: readonly Item[]): readonly Item[] {
  const last = items.findLastIndex(item => {
    if (item.kind === 'call') return item.call.state !== 'coming'
    return item.kind !== 'text' && item.kind !== 'reasoning'
  })
  return items.slice(0, last + 1)
}

/** The items grouped by turn. A section without changes stays the same object, so that it is not rendered again. */
function sectionsOf(items: readonly Item[], before: readonly Section[]): Section[] {
  const groups: { turn: string; items: Item[] }[] = []
  for (const item of items) {
    const last = groups.at(-1)
    const turn = 'turn' in item ? item.turn : last?.turn
    if (last && (turn === last.turn || turn === undefined)) last.items.push(item)
    else groups.push({ turn: turn ?? '', items: [item] })
  }
  return groups.map(({ turn, items }, index) => {
    const known = before[index]
    if (known?.turn !== turn) return new Section(turn, items)
    const old = known.items.peek()
    const merged = items.map((item, at) => (isSame(item, old[at]) ? (old[at] as Item) : item))
    const isAsBefore = merged.length === old.length && merged.every((item, at) => item === old[at])
    if (!isAsBefore) known.items.value = merged
    return known
  })
}

function isSame(one: Item, other: Item | undefined): boolean {
  if (other?.kind !== one.kind) return false
  if (one.kind === 'text' && other.kind === 'text') return one.text === other.text
  return JSON.stringify(one) === JSON.stringify(other)
}
