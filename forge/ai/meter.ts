/** Shows which files a model knows and how full its window is, before and during a turn. */
import type { Oid, Path } from '../../core/git/repository.ts'
import { visible } from '../../core/text.ts'
import { fits, mostOfFile, readContent, requestFor } from './context.ts'
import { isBinary, tokensIn, tokensOf } from './fence.ts'
import { catchUp, contentSince, filesIn, nearFiles, prepareSession, type State, withOpening } from './opening.ts'
import { type Session, withUser } from './session.ts'

/** How a file is in the context: not at all, by its summary, or whole. */
type Circle = 'none' | 'summary' | 'whole'

/**
 * Tells for each path whether the next request has the whole file, its summary, or nothing of it. Active files are
 * whole as soon as they are made active; summaries are those that were sent at the start of the conversation.
 */
export async function circlesOf(session: Session, state: State, paths: readonly Path[]): Promise<Map<Path, Circle>> {
  const { files } = await filesIn(session, state)
  const { shown } = await outlineOf(session, state)
  const circleOf = (path: Path): Circle => (files.has(path) ? 'whole' : shown.has(path) ? 'summary' : 'none')
  return new Map(paths.map(path => [path, circleOf(path)]))
}

/** Computes the summaries for the next request ahead, so that a message need not wait for them. */
export async function warm(session: Session, state: State, now: number): Promise<void> {
  const { opening } = await prepareSession(session, state, now)
  await outlineOf({ ...session, ...(opening && { opening }) }, state)
}

/** How much of a file is sent: of a long file its beginning, of a binary or a huge one nothing. */
type Sent = { tokens: number; sent: 'whole' | 'part' | 'nothing' }

/** Counts in tokens. `words`: where the list of files is too long for the window, a sentence that says so. */
type Meter = { used: number; of: number; files: ({ path: Path } & Sent)[]; words?: string }

/**
 * How full the window is: as counted by the provider for the last request, with what the next one adds; an estimate
 * before the first one.
 */
export async function meterOf(session: Session, state: State): Promise<Meter> {
  const { files } = await filesIn(session, state)
  const { words } = await outlineOf(session, state)
  return {
    used: await tokensUsed(session.opening ? await catchUp(session, state, new Set()) : session, state),
    of: state.model.window,
    files: await Promise.all([...files].map(async ([path, oid]) => ({ path, ...(await sentOf(state, oid)) }))),
    words,
  }
}

/** When this share of the window is full, the older part of the conversation is summarised. */
const FULL = 0.8

export const needsShortening = async (session: Session, state: State): Promise<boolean> =>
  (await tokensUsed(session, state)) > FULL * state.model.window

/**
 * Why no request can have a user's message, as a sentence: it does not fit into the model's window even without the
 * conversation and the files that were put into the context. Undefined if it fits.
 */
export async function whyMessageTooLong(session: Session, state: State, text: string): Promise<string | undefined> {
  const { name, window } = state.model
  const alone = await withOpening({ ...session, messages: [], active_files: [] }, state, 0)
  const asked = withUser(alone, { turn: '', at: 0, text }, it => it)
  if (fits(await requestFor(asked, state), window)) return undefined
  const [tokens, all] = [tokensIn(text), window].map(count => count.toLocaleString('en'))
  const sizes = `about ${tokens} tokens of the ${all} of its window, of which a part is for instructions and the answer`
  return `This message is too long for ${visible(name)} (${sizes}): shorten it, or save its text as a file of the branch.`
}

/** The tokens of the next request. */
export async function tokensUsed(session: Session, state: State): Promise<number> {
  const from = session.opening?.from ?? Number.POSITIVE_INFINITY
  const last = session.messages.findLastIndex(
    (entry, at) => at >= from && entry.kind === 'answer' && entry.usage.input > 0,
  )
  const answer = session.messages[last]
  if (answer?.kind !== 'answer') {
    const prepared = session.opening ? session : await prepareSession(session, state, 0)
    const { tools, system, messages } = await requestFor(prepared, state)
    return tokensIn(JSON.stringify([tools, system, messages]))
  }
  const since = session.messages.slice(last + 1)
  const files = await Promise.all(contentSince(session, last + 1).map(oid => sentOf(state, oid)))
  const texts = since.map(entry => ('text' in entry ? tokensIn(entry.text) : 0))
  return answer.usage.input + answer.usage.output + sum(texts) + sum(files.map(({ tokens }) => tokens))
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)

const outlineOf = async ({ opening, ...session }: Session, state: State) => {
  const { summaries, model } = state
  if (opening) {
    const active = opening.files.map(({ path }) => path)
    return await summaries.of({ tree: opening.tree, active, near: nearFiles(opening), window: model.window })
  }
  const { files } = await filesIn(session, state)
  return await summaries.of({ tree: state.tree, active: [...files.keys()], window: model.window })
}

/** How much of a blob is sent, and its tokens, estimated from the size of that part. */
async function sentOf({ objects, model }: State, oid: Oid): Promise<Sent> {
  const bytes = await readContent(objects, oid)
  if (!bytes || isBinary(bytes)) return { tokens: 0, sent: 'nothing' }
  const most = mostOfFile(model.window)
  return { tokens: tokensOf(Math.min(bytes.length, most)), sent: bytes.length > most ? 'part' : 'whole' }
}
