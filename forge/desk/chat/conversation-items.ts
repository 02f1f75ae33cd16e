/** A conversation as the page shows it, from what is committed and from the running turn. */
import type { Oid } from '../../../core/git/repository.ts'
import type { EntryOf, Session, SessionEntry } from '../../ai/session.ts'
import type { Tool } from '../../ai/tool.ts'
import type { Call, Item } from '../contract/chat.ts'
import type { LiveTurn } from './live-turn.ts'
import type { TurnCommit } from './turn-commits.ts'

export type Shown = {
  session: Session
  /** Why the conversation of the branch could not be read, as a sentence. */
  unreadable?: string | undefined
  /** Sentences of warning about a conversation written on another machine. */
  stranger?: string | undefined
  /** The running turn. */
  live?: LiveTurn | undefined
  commits: ReadonlyMap<string, TurnCommit>
  /** The shown commit, which is the branch's last one. */
  tip: Oid | undefined
  /** Why no turn can be undone here and now. */
  noUndo: string | undefined
  /** Tools that can give a title to their calls. */
  tools: readonly Tool[]
}

export function itemsOf({ session, unreadable, stranger, live, ...means }: Shown): Item[] {
  const results = new Map(session.messages.flatMap(entry => (entry.kind === 'result' ? [[keyOf(entry), entry]] : [])))
  const items = session.messages.flatMap(entry => itemsFor(entry, { results, live, ...means }))
  const note: Item[] = unreadable === undefined ? [] : [{ kind: 'note', words: unreadable, isBad: true }]
  const warning: Item[] = stranger === undefined ? [] : [{ kind: 'note', words: stranger, isBad: true }]
  return [...note, ...items, ...(live?.partial ?? []), ...(live?.notes ?? []), ...warning]
}

type Means = Pick<Shown, 'live' | 'commits' | 'tip' | 'noUndo' | 'tools'> & {
  results: ReadonlyMap<string, EntryOf<'result'>>
}

const keyOf = ({ turn, id }: { turn: string; id: string }): string => `${turn} ${id}`

function itemsFor(entry: SessionEntry, means: Means): Item[] {
  switch (entry.kind) {
    case 'user':
      return [{ kind: 'user', turn: entry.turn, at: inSeconds(entry.at), text: entry.text }]
    case 'answer':
      return entry.blocks.map((block): Item => {
        if (block.type === 'call') return { kind: 'call', turn: entry.turn, call: callOf(entry.turn, block, means) }
        return { kind: block.type, turn: entry.turn, text: block.text }
      })
    case 'file':
      // Edits by the model's own tools are shown with their calls.
      return entry.why === 'edited' ? [] : [{ kind: 'file', path: entry.path, why: entry.why }]
    case 'summary':
      return [{ kind: 'summary', text: entry.text }]
    case 'checks':
      return [{ kind: 'call', turn: entry.turn, call: checksAsCall(entry) }]
    case 'end':
      return [endOf(entry, means)]
    case 'result':
      return []
  }
}

type CallInSession = Extract<EntryOf<'answer'>['blocks'][number], { type: 'call' }>

function callOf(turn: string, { id, name, arguments: sent }: CallInSession, { results, live, tools }: Means): Call {
  const title = titleOf(tools, name, sent)
  const result = results.get(keyOf({ turn, id }))
  if (!result) return live?.callOf(id) ?? { id, name, title, state: 'coming' }
  const { words, text, seconds, isError } = result
  return { id, name, title, state: isError ? 'failed' : 'done', words, result: text, seconds }
}

/** The checks of FORGE.md are shown like a model's command: one line, with their output. */
const checksAsCall = ({ isGood, isAgain, text, words, seconds }: EntryOf<'checks'>): Call => ({
  id: isAgain ? 'checks-again' : 'checks',
  name: 'checks',
  title: isAgain ? 'Checks of FORGE.md, again' : 'Checks of FORGE.md',
  state: isGood ? 'done' : 'failed',
  words,
  result: text,
  seconds,
})

/** The title of a tool call. The model may have sent any input, and the tool may not exist any more. */
function titleOf(tools: readonly Tool[], name: string, sent: unknown): string {
  try {
    return tools.find(({ description }) => description.name === name)?.title(sent) ?? name
  } catch {
    return name
  }
}

/** Converts milliseconds to the page's seconds. */
const inSeconds = (at: number): number => Math.floor(at / 1000)

function endOf({ turn, at, how, words, model, usage, seconds }: EntryOf<'end'>, means: Means): Item {
  const commit = means.commits.get(turn)
  const end = {
    kind: 'end',
    turn,
    at: inSeconds(at),
    how,
    model,
    usage,
    seconds,
    ...(words !== undefined && { words }),
  } as const
  if (!commit) return end
  const { oid, subject, files } = commit
  const why = whyNot(commit, means)
  return { ...end, commit: { oid, subject, files, canUndo: why === undefined, ...(why !== undefined && { why }) } }
}

/** Why a turn can't be undone now; undefined if it can. */
function whyNot({ isUndone, files, oid }: TurnCommit, { tip, noUndo }: Means): string | undefined {
  if (isUndone) return 'It was taken back.'
  if (noUndo !== undefined) return noUndo
  // A turn without changed files can be undone only while it is the last one.
  return files.length > 0 || oid === tip ? undefined : 'It changed no file, and more came after it.'
}
