/**
 * A stand-in for the AI of the desk's server, for tests of the page alone: written conversations, and a model that
 * follows the test's script, piece by piece.
 */

import type { BranchInfo } from '../../../forge/desk/contract/branches.ts'
import type { Approval, Call, Conversation, Item, TurnNews, TurnUsage } from '../../../forge/desk/contract/chat.ts'
import type { Asked } from '../../../forge/desk/contract/contract.ts'
import type { FolderEntry } from '../../../forge/desk/contract/reading.ts'
import type { At } from '../../../forge/desk/contract/values.ts'
import { type AiSide, oidOf, Refusal, type StandIn } from './web-stand-in.ts'

type End = Extract<Item, { kind: 'end' }>

export const MODELS = ['anthropic/opus-5.5', 'anthropic/sonnet-5.5', 'openrouter/some/large-model']
export const NO_USAGE: TurnUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
export const SOME_USAGE: TurnUsage = {
  input: 148_000,
  output: 2_300,
  cacheRead: 141_000,
  cacheWrite: 6_200,
  cost: 0.18,
}

/** The script of a test's model: it is called for each message. */
export type Script = (turn: ScriptedTurn, text: string) => Promise<void>

export class ChatOf {
  items: Item[] = []
  model: string | undefined = MODELS[0]
  missing: string | undefined
  turn: Conversation['turn']
  approvals: Approval[] = []
  whole = new Map<string, number>()
  commands: Conversation['commands'] = { isAllowed: false }
  isPublicNew = false
}

export class ChatStandIn implements AiSide {
  readonly desk: StandIn
  readonly chats = new Map<string, ChatOf>()
  /** The conversations of commits. */
  readonly past = new Map<string, Item[]>()
  /** Called with the decision about a tool. */
  decided: (isApproved: boolean) => void = () => {}
  script: Script = async () => {}
  /** The turns that were begun, to await them. */
  readonly turns: Promise<void>[] = []
  #count = 0

  constructor(desk: StandIn) {
    this.desk = desk
    desk.ai = this
  }

  of(branch: string): ChatOf {
    const known = this.chats.get(branch)
    if (known) return known
    const chat = new ChatOf()
    this.chats.set(branch, chat)
    return chat
  }

  turnOf(branch: string): BranchInfo['turn'] {
    return this.chats.get(branch)?.turn?.state
  }

  contextOf(at: At, path: string): FolderEntry['context'] {
    if (at.kind === 'commit' || path.endsWith('.png')) return 'none'
    return this.of(at.branch).whole.has(path) ? 'whole' : 'summary'
  }

  say(branch: string, news: TurnNews): void {
    this.desk.say({ say: 'turn', branch, news })
  }

  changed(branch: string, turn = ''): void {
    this.desk.sayDesk()
    this.say(branch, { is: 'changed', turn })
  }

  answer(question: Asked): { value: unknown } | undefined {
    switch (question.ask) {
      case 'conversation':
        return { value: this.#conversation(question.at) }
      case 'send':
        return { value: { turn: this.#begin(question.branch, question.text) } }
      case 'stop turn':
        this.stopped.get(question.branch)?.()
        return { value: undefined }
      case 'end turn':
        this.of(question.branch).turn = undefined
        this.desk.sayDesk()
        return { value: undefined }
      case 'undo turn':
        return { value: this.#undo(question.branch, question.turn) }
      case 'choose model':
        this.of(question.branch).model = question.model
        return { value: undefined }
      case 'set context':
        if (question.isWhole) this.of(question.branch).whole.set(question.path, 1_234)
        else this.of(question.branch).whole.delete(question.path)
        return { value: undefined }
      case 'approve tool': {
        const chat = this.of(question.branch)
        if (!chat.approvals.some(({ oid }) => oid === question.oid)) throw new Refusal('The tool is another one now.')
        chat.approvals = chat.approvals.filter(({ path }) => path !== question.path)
        this.decided(question.isApproved)
        return { value: undefined }
      }
      case 'allow commands':
        for (const chat of this.chats.values()) chat.commands = { isAllowed: question.isAllowed }
        return { value: undefined }
      default:
        return undefined
    }
  }

  readonly stopped = new Map<string, () => void>()

  #conversation(at: At): Conversation {
    const chat = at.kind === 'branch' ? this.of(at.branch) : new ChatOf()
    const items = at.kind === 'branch' ? chat.items : (this.past.get(at.commit) ?? [])
    const ends = items.filter((item): item is End => item.kind === 'end')
    const files = [...chat.whole].map(([path, tokens]) => ({ path, tokens }))
    return {
      items,
      models: MODELS,
      approvals: chat.approvals,
      usage: ends.reduce((sum, { usage }) => added(sum, usage), chat.turn?.usage ?? NO_USAGE),
      context: { used: 2_100 + files.reduce((sum, { tokens }) => sum + tokens, 0), of: 200_000, files },
      commands: chat.commands,
      isPublicNew: chat.isPublicNew,
      ...(chat.model === undefined ? {} : { model: chat.model }),
      ...(chat.missing === undefined ? {} : { missing: chat.missing }),
      ...(chat.turn ? { turn: chat.turn } : {}),
    }
  }

  #begin(branch: string, text: string): string {
    const chat = this.of(branch)
    if (chat.turn) throw new Refusal('A turn is running already. What you wrote was not sent.')
    const id = `turn-${++this.#count}`
    const at = Date.now() / 1_000
    chat.items = [...chat.items, { kind: 'user', turn: id, at, text }]
    chat.turn = { id, state: 'running', words: 'asking', since: at, usage: NO_USAGE, files: [] }
    this.desk.sayDesk()
    this.say(branch, { is: 'begun', turn: id })
    const turn = new ScriptedTurn(this, branch, id)
    this.turns.push(this.script(turn, text))
    return id
  }

  #undo(branch: string, turn: string): { words: string; refs: string[] } {
    const chat = this.of(branch)
    chat.items = chat.items.filter(item => !('turn' in item) || item.turn !== turn)
    this.changed(branch, turn)
    return { words: `undo: turn in ${branch}`, refs: [] }
  }
}

/** A turn by the test's model. Each step is sent to the page at once, and added to the conversation. */
export class ScriptedTurn {
  readonly id: string
  readonly branch: string
  /** Resolves when the turn was stopped. */
  readonly stopped: Promise<void>
  readonly #side: ChatStandIn
  #calls = 0

  constructor(side: ChatStandIn, branch: string, id: string) {
    this.#side = side
    this.branch = branch
    this.id = id
    this.stopped = new Promise(resolve => side.stopped.set(branch, resolve))
  }

  get #chat(): ChatOf {
    return this.#side.of(this.branch)
  }

  text(delta: string, kind: 'text' | 'reasoning' = 'text'): void {
    const last = this.#chat.items.at(-1)
    if (last?.kind === kind && last.turn === this.id) {
      this.#chat.items = [...this.#chat.items.slice(0, -1), { ...last, text: last.text + delta }]
    } else this.#chat.items = [...this.#chat.items, { kind, turn: this.id, text: delta }]
    this.#side.say(this.branch, { is: kind, turn: this.id, delta })
  }

  /** Sends text in pieces, with a pause after each. */
  async type(text: string, size = 12, pause = 5): Promise<void> {
    for (let from = 0; from < text.length; from += size) {
      this.text(text.slice(from, from + size))
      await Bun.sleep(pause)
    }
  }

  call(call: Partial<Call> & { name: string; title: string }): Call {
    const whole: Call = { id: call.id ?? `${this.id} ${++this.#calls}`, state: 'done', ...call }
    const items = this.#chat.items
    const index = items.findIndex(item => item.kind === 'call' && item.call.id === whole.id)
    const item: Item = { kind: 'call', turn: this.id, call: whole }
    this.#chat.items = index < 0 ? [...items, item] : items.with(index, item)
    this.#side.say(this.branch, { is: 'call', turn: this.id, call: whole })
    return whole
  }

  doing(words: string, usage: TurnUsage = NO_USAGE): void {
    if (this.#chat.turn) this.#chat.turn = { ...this.#chat.turn, words, usage }
    this.#side.say(this.branch, { is: 'doing', turn: this.id, words, usage })
  }

  /** Removes the answer so far, which is retried. */
  again(words: string, seconds: number): void {
    const { items } = this.#chat
    const last = items.findLastIndex(item => item.kind !== 'text' && item.kind !== 'reasoning')
    this.#chat.items = items.slice(0, last + 1)
    this.#side.say(this.branch, { is: 'again', turn: this.id, words, seconds })
  }

  waits(approval: Approval, words: string): Promise<boolean> {
    const chat = this.#chat
    chat.approvals = [...chat.approvals, approval]
    if (chat.turn) chat.turn = { ...chat.turn, state: 'waits', words }
    this.#side.changed(this.branch, this.id)
    return new Promise(resolve => {
      this.#side.decided = isApproved => {
        if (chat.turn) chat.turn = { ...chat.turn, state: 'running' }
        this.#side.changed(this.branch, this.id)
        resolve(isApproved)
      }
    })
  }

  /** Sets a file of the branch to the AI's version. */
  write(path: string, text: string): void {
    const branch = this.#side.desk.branches.get(this.branch)
    branch?.drafts.delete(path)
    branch?.files.set(path, { mode: '100644', text })
    const file = { kind: 'text' as const, text, version: 0, lineEnd: 'LF' as const, bom: false, mode: '100644' }
    this.#side.desk.say({ say: 'replaced', branch: this.branch, path, file: { ...file, saved: '' } })
  }

  /** Ends the turn with a commit of these files. */
  done(subject: string, files: NonNullable<End['commit']>['files'], usage: TurnUsage = SOME_USAGE): void {
    const oid = this.#side.desk.commit(this.branch, subject, 'opus-5.5')
    this.end({ how: 'done', usage, commit: { oid, subject, files, canUndo: true } })
  }

  end(end: Partial<End> & { how: End['how'] }): void {
    const chat = this.#chat
    const model = chat.model ?? ''
    const whole: End = {
      kind: 'end',
      turn: this.id,
      at: Date.now() / 1_000,
      model,
      usage: SOME_USAGE,
      seconds: 72,
      ...end,
    }
    chat.items = [...chat.items, whole]
    chat.turn = undefined
    const branch = this.#side.desk.branches.get(this.branch)
    if (branch) branch.session = true
    this.#side.changed(this.branch, this.id)
  }

  /** Ends the turn as unfinished: its files wait for Keep or Discard. */
  unfinished(words: string, files: string[]): void {
    const chat = this.#chat
    if (chat.turn) chat.turn = { ...chat.turn, state: 'unfinished', words, files }
    this.#side.changed(this.branch, this.id)
  }
}

function added(one: TurnUsage, other: TurnUsage): TurnUsage {
  const cost = (one.cost ?? 0) + (other.cost ?? 0)
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    ...(one.cost === undefined && other.cost === undefined ? {} : { cost }),
  }
}

/** An ended turn, as it is in a conversation. */
export function pastTurn(number: number, question: string, answer: string, more: Item[] = []): Item[] {
  const turn = `past-${number}`
  const oid = oidOf(turn)
  return [
    { kind: 'user', turn, at: 1_790_000_000 + number * 600, text: question },
    ...more,
    { kind: 'text', turn, text: answer },
    {
      kind: 'end',
      turn,
      at: 1_790_000_060 + number * 600,
      how: 'done',
      model: MODELS[0] as string,
      usage: SOME_USAGE,
      seconds: 64,
      commit: {
        oid,
        subject: question.slice(0, 60),
        files: [{ path: 'src/worker.ts', status: 'changed', added: 6, deleted: 1 }],
        canUndo: false,
        why: 'It was taken back.',
      },
    },
  ]
}
