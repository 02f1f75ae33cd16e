/**
 * Shortens a conversation that is too long for the window: the model summarises its older part. The session keeps all
 * entries.
 */
import { beginOf, requestFor } from './context.ts'
import { bytesIn, tokensIn } from './fence.ts'
import { tokensUsed } from './meter.ts'
import { type State, withOpening } from './opening.ts'
import { type Model, ModelError, type Progress, type Usage } from './request.ts'
import { type Clean, type EntryOf, NO_USAGE, type Session } from './session.ts'

/** The share of the window that the newest part, which is kept as it is, may fill. */
const KEPT = 0.2
/** At most this many tokens for a summary. */
const MAX_SUMMARY_TOKENS = 4096
/** At most this share of the model's window for a summary. */
const SHARE = 0.125

type Options = {
  state: State
  model: Model
  turn: string
  now: number
  signal: AbortSignal
  onProgress: (progress: Progress) => void
  clean: Clean
}

/** `usage`: what was paid, also where it failed. `words`: what happened, in a sentence. */
type Shortened = { session: Session; isShortened: boolean; words: string; usage: Usage }

/**
 * Has the older part of a conversation summarised, by a request that continues it, so that most of it is read from the
 * cache. A failure leaves the session as it was and is reported in `words`; only the signal's reason is thrown.
 */
export async function shorten(session: Session, options: Options): Promise<Shortened> {
  const { state, model, turn, now, signal, onProgress, clean } = options
  const left = (words: string, usage = NO_USAGE): Shortened => ({ session, isShortened: false, words, usage })
  const places = placesFor(session, state.model.window)
  if (places.length === 0)
    return left(
      'The conversation is not what fills the window: take files out of the context, or choose another model.',
    )
  const output = Math.min(MAX_SUMMARY_TOKENS, Math.floor(state.model.window * SHARE))
  try {
    const place = await firstThatFits(session, state, { places, output })
    if (place === undefined)
      return left(
        'The conversation was not shortened: its older part is too long for the window. Choose a model with a larger window.',
      )
    const request = await requestFor(session, { ...state, output }, { asks: 'summary', until: place })
    const { blocks, end, usage } = await model.ask(request, { signal, onProgress })
    const text = clean(
      blocks
        .flatMap(block => (block.type === 'text' ? [block.text] : []))
        .join('\n\n')
        .trim()
        .toWellFormed(),
    )
    const because = whyUseless(text, end, output)
    if (because) return left(`The conversation was not shortened: the summary of its older part ${because}.`, usage)
    const summary: EntryOf<'summary'> = { kind: 'summary', turn, text, usage }
    const messages = [...session.messages.slice(0, place), summary, ...session.messages.slice(place)]
    const shortened = await withOpening({ ...session, messages }, state, now)
    return {
      session: shortened,
      isShortened: true,
      words: 'The older part of the conversation is sent as a summary from here on.',
      usage,
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof ModelError)) throw error
    return left(`The conversation was not shortened: ${error.message}`)
  }
}

function whyUseless(text: string, end: string, output: number): string | undefined {
  if (end === 'length' || tokensIn(text) > 2 * output) return 'became too long'
  if (end === 'refused') return 'was refused by the model'
  return text === '' ? 'was empty' : undefined
}

/** The first of the places for a summary up to which the conversation, with the summary, fits into the window. */
async function firstThatFits(
  session: Session,
  state: State,
  { places, output }: { places: readonly number[]; output: number },
): Promise<number | undefined> {
  for (const place of places) {
    const older = { ...session, messages: session.messages.slice(0, place) }
    if ((await tokensUsed(older, state)) + output <= state.model.window) return place
  }
  return undefined
}

/**
 * The indexes of the entries before which the summary can be inserted, the best one first; none where nothing would
 * become shorter. From the best one on, the entries fill about a fifth of the window; the first of them is a message of
 * the user, else an answer, so that no result is without its call. The other one keeps the last message or answer,
 * however large it is.
 */
function placesFor(session: Session, window: number): number[] {
  const { messages } = session
  const begin = beginOf(session)
  let room = bytesIn(window * KEPT)
  const places: number[] = [messages.length]
  for (let at = messages.length - 1; at > begin; at--) {
    const entry = messages[at]
    room -= JSON.stringify(entry).length
    if (room < 0) break
    if (entry?.kind === 'user' || entry?.kind === 'answer') places.push(at)
  }
  const asked = places.findLast(at => messages[at]?.kind === 'user')
  const best = asked ?? places.at(-1) ?? messages.length
  const last = messages.findLastIndex(({ kind }) => kind === 'user' || kind === 'answer')
  return [...new Set([best, last])].filter(place => {
    const older = JSON.stringify(messages.slice(begin, place)).length
    return place > begin && older > bytesIn(window * SHARE)
  })
}
