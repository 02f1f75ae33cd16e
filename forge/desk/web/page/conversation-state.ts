/**
 * The conversation in a branch or a commit, as this window has it. The server's word counts: what comes piece by piece
 * while a turn runs is shown at once, and is replaced when the conversation is asked for again.
 */
import { batch, computed, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import type { Approval, Call, Conversation, Item, TurnNews } from '../../contract/chat.ts'
import type { At } from '../../contract/values.ts'
import { ServerValue } from '../ui/server-value.ts'
import type { Connection } from '../ui/socket.ts'

export type Turn = NonNullable<Conversation['turn']>
export type End = Extract<Item, { kind: 'end' }>

/** What belongs together in the log: what a person asked, and all that came of it. */
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

/** An answer that was cut, and when it is asked for again. */
export interface Again {
  words: string
  /** In milliseconds since 1970. */
  until: number
}

/** Pieces that come within this time are shown together, also where the browser paints nothing. */
const FLUSH_DELAY_MS = 40

export class ConversationState extends ServerValue<Conversation> {
  /** All of it but the items. */
  readonly head = signal<Conversation | undefined>(undefined)
  readonly sections = signal<readonly Section[]>([])
  readonly again = signal<Again | undefined>(undefined)
  /** Whether a turn is at work or waits for the person. */
  readonly isBusy: ReadonlySignal<boolean>
  readonly isUnfinished: ReadonlySignal<boolean>

  #waiting: TurnNews[] = []
  /** How long the page took to show the last pieces. */
  #took = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(connection: Connection, at: At) {
    super(() => connection.ask('conversation', { at }))
    this.isBusy = computed(() => this.head.value?.turn !== undefined && !this.isUnfinished.value)
    this.isUnfinished = computed(() => this.head.value?.turn?.state === 'unfinished')
  }

  /** The tools of the repository that wait for the person's word. */
  get approvals(): Approval[] {
    return this.head.value?.approvals ?? []
  }

  /** The turn that could be taken back now. */
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
    // What came before the answer is in it, but for when a cut answer is asked for again.
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
    // Some models count their calls anew in each answer: one that has ended does not begin again.
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

/** Pieces of one text that came together are one piece. */
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

/** Without what came of the answer that was cut: all behind the last call that was whole. */
function withoutCut(items: readonly Item[]): readonly Item[] {
  const last = items.findLastIndex(item => {
    if (item.kind === 'call') return item.call.state !== 'coming'
    return item.kind !== 'text' && item.kind !== 'reasoning'
  })
  return items.slice(0, last + 1)
}

/** The items by turn. What was there before and is as it was stays the same object, so that it is not drawn again. */
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
