/** Comments on the lines of a review: below their line, and the field that a new one is written in. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { conversationOf, MAX_COMMENT_CHARS, MAX_LINE_CHARS } from '../../contract/comments.ts'
import type { Change } from '../../contract/values.ts'
import { branchOf } from '../page/branch-facts.ts'
import { type CommentPlace, isSamePlace, lineWords } from '../page/comment-draft.ts'
import type { ShownComment } from '../page/review-state.ts'
import type { Page, Tab } from '../page/state.ts'
import { usePage } from '../page/state.ts'
import { Icon } from '../ui/icons.tsx'
import { readable, visible, withoutTricks } from '../ui/names.ts'
import { age, fullTime } from '../ui/times.ts'
import { Button } from '../ui/words.tsx'

/**
 * Begins a comment on a line. One that is being written stays: it gets the focus, and a notice names its line, since a
 * review has one at a time.
 */
export function beginComment(page: Page, tab: Tab, place: CommentPlace): void {
  const { draft } = tab.review
  const branch = branchOf(tab)
  const commit = branch === undefined ? undefined : page.branch(branch)?.tip
  if (draft.begin(place, commit)) return
  const { path = '', side = 'after', line = 0 } = draft.place.peek() ?? {}
  const title = `A comment on ${readable(path)}, ${lineWords({ side, line })}, is not sent yet: send it or cancel it first`
  page.tell({ topic: COMMENT, branch, title }, 'info')
}

/** The comments on a line of a file's diff. */
export function commentsAt(tab: Tab, { path, side, line }: CommentPlace): ShownComment[] {
  const { latest } = tab.review.comments
  return (latest.value ?? []).filter(it => it.path === path && it.side === side && it.shownAt === line)
}

/** What stands below a line: its comments, and the field of a new one. `text`: the line. */
export function LineComments({ tab, places, text }: { tab: Tab; places: readonly CommentPlace[]; text: string }) {
  const { review } = tab
  const { value: writtenAt } = review.draft.place
  const place = places.find(it => isSamePlace(it, writtenAt))
  return (
    <div class="line-comments">
      {places.map(it => (
        <Conversations key={it.side} tab={tab} comments={commentsAt(tab, it)} place={it} text={text} />
      ))}
      {place ? <NewComment tab={tab} place={place} text={text} /> : null}
    </div>
  )
}

/**
 * The comments whose line is in no shown diff: their file is not changed (any more) or folded with the conversation, or
 * the shown version does not have their line. So is the field of the one that is being written.
 */
export function OtherComments({ tab }: { tab: Tab }) {
  const { review } = tab
  const { draft } = review
  const changes = new Map((review.shown ?? []).map(change => [change.path, change]))
  const hasLine = ({ path, side }: Pick<CommentPlace, 'path' | 'side'>) => isWithLines(changes.get(path), side)
  const all = review.comments.latest.value ?? []
  const others = all.filter(it => it.shownAt === undefined || !hasLine(it))
  const { value: place } = draft.place
  const isAnswer = place?.answers !== undefined
  const isShown =
    place && (isAnswer ? all.some(it => conversationOf(it) === place.answers) : !place.isChanged && hasLine(place))
  const field = place !== undefined && !isShown ? { place, text: draft.line } : undefined
  if (review.latest.value === undefined) return null
  return <Apart tab={tab} label="Comments on other lines" comments={others} field={field} />
}

interface HiddenProps {
  tab: Tab
  path: string
  /** Whether the diff draws a line of a version. */
  isDrawn: (side: CommentPlace['side'], line: number) => boolean
  /** The text of a line of a version. */
  textOf: (side: CommentPlace['side'], line: number) => string
}

/** The comments on lines that the diff of their file does not draw, such as those in which only blanks have changed. */
export function HiddenComments({ tab, path, isDrawn, textOf }: HiddenProps) {
  const { review } = tab
  const comments = (review.comments.latest.value ?? []).filter(
    it => it.path === path && it.shownAt !== undefined && !isDrawn(it.side, it.shownAt),
  )
  const { value: place } = review.draft.place
  const isInFile = place?.path === path && place.answers === undefined && !place.isChanged
  const isHidden = isInFile && !isDrawn(place.side, place.line)
  const field = isHidden ? { place, text: textOf(place.side, place.line) } : undefined
  const label = `Comments on hidden lines of ${readable(path)}`
  return <Apart tab={tab} label={label} comments={comments} field={field} />
}

interface ApartProps {
  tab: Tab
  label: string
  comments: readonly ShownComment[]
  /** The new comment whose field is shown here, with the text of its line. */
  field: { place: CommentPlace; text: string } | undefined
}

/** Comments apart from their lines. */
function Apart({ tab, label, comments, field }: ApartProps) {
  if (comments.length === 0 && !field) return null
  const lines = Map.groupBy(comments, ({ path, side, line, madeAt, text }) =>
    JSON.stringify([path, side, line ?? madeAt, line === undefined, text]),
  )
  return (
    <section class="other-comments" aria-label={label}>
      {field ? (
        <Line place={field.place} text={field.place.isChanged ? field.text : ''} tab={tab}>
          <NewComment tab={tab} {...field} />
        </Line>
      ) : null}
      {[...lines].map(([key, comments]) => (
        <CommentedLine key={key} tab={tab} comments={comments} />
      ))}
    </section>
  )
}

/** The comments on one line, apart from it. */
function CommentedLine({ tab, comments }: { tab: Tab; comments: readonly ShownComment[] }) {
  const [first] = comments
  if (!first) return null
  const { path, side, line, madeAt, text } = first
  const place = { path, side, line: line ?? madeAt, isChanged: line === undefined }
  return (
    <Line tab={tab} place={place} text={text}>
      <Conversations tab={tab} comments={comments} place={place} text={text} />
    </Line>
  )
}

interface LineProps {
  tab: Tab
  place: CommentPlace
  /** The text of the line; '' to leave it out. */
  text: string
  children: ComponentChildren
}

/** A commented line apart from its diff, above what stands below it there: a click on its place opens the file. */
function Line({ tab, place, text, children }: LineProps) {
  const { path, isChanged } = place
  const where = `${readable(path)}, ${isChanged ? 'a line that has changed since' : lineWords(place)}`
  return (
    <fieldset class="commented-line" aria-label={where}>
      <button type="button" class="link-words cut" onClick={() => tab.edit(path)}>
        {where}
      </button>
      {text.trim() === '' ? null : <p class="mono meta cut">{visible(text)}</p>}
      {children}
    </fieldset>
  )
}

/** Whether the diff of a change shows lines of a version: not that of a file that was only renamed, or is not there. */
export function isWithLines(change: Change | undefined, side: CommentPlace['side']): boolean {
  if (!change?.[side] || change.status === 'mode') return false
  return change.status !== 'renamed' || change.before?.oid !== change.after?.oid
}

/** The topic of notices that a comment could not be written. */
const COMMENT = 'comment'

interface ConversationsProps {
  tab: Tab
  /** The comments on one line, oldest first. */
  comments: readonly ShownComment[]
  /** The place of the line, and its text: those of an answer. */
  place: CommentPlace
  text: string
}

/** The conversations on one line, one below the other. */
function Conversations({ tab, comments, place, text }: ConversationsProps) {
  const conversations = Map.groupBy(comments, conversationOf)
  return [...conversations].map(([id, comments]) => <Conversation key={id} {...{ tab, id, comments, place, text }} />)
}

/** A comment with its answers, and the field of a new answer. It is resolved as a whole. */
function Conversation({ tab, id, comments, place, text }: ConversationsProps & { id: string }) {
  const page = usePage()
  const isUnfolded = useSignal(false)
  const [first, ...answers] = comments
  if (!first) return null
  const isResolved = comments.every(it => it.isResolved)
  const isShown = !isResolved || isUnfolded.value
  const resolve = () =>
    page.connection
      .ask('resolve comments', {
        comments: comments.map(({ commit, id }) => ({ commit, comment: id })),
        isResolved: !isResolved,
      })
      .then(
        () => {
          page.solved(COMMENT, branchOf(tab))
          return tab.review.comments.refresh()
        },
        error => page.complain(error, { topic: COMMENT, branch: branchOf(tab) }),
      )
  const reply = () => {
    const { path, side, line, madeAt } = first
    beginComment(page, tab, { path, side, line: line ?? madeAt, answers: id })
  }
  return (
    <div class="conversation">
      <CommentBox tab={tab} comment={first} isResolved={isResolved} isShown={isShown}>
        {isResolved ? (
          <button
            type="button"
            class="button quiet small"
            aria-expanded={isShown}
            onClick={() => {
              isUnfolded.value = !isShown
            }}
          >
            {isShown ? 'Hide resolved' : 'Show resolved'}
          </button>
        ) : (
          <Button look="quiet small" words="Reply" onClick={reply} />
        )}
        <Button look="quiet small" words={isResolved ? 'Reopen' : 'Resolve'} onClick={resolve} />
      </CommentBox>
      {isShown
        ? answers.map(answer => (
            <CommentBox key={answer.id} tab={tab} comment={answer} isResolved={isResolved} isShown={true} />
          ))
        : null}
      {tab.review.draft.place.value?.answers === id ? (
        <NewComment tab={tab} place={{ ...place, answers: id }} text={text} />
      ) : null}
    </div>
  )
}

interface CommentProps {
  tab: Tab
  comment: ShownComment
  /** Whether its conversation is resolved. */
  isResolved: boolean
  /** Whether its words are shown. */
  isShown: boolean
  /** The buttons of its conversation, for the first comment of one. */
  children?: ComponentChildren
}

function CommentBox({ tab, comment, isResolved, isShown, children }: CommentProps) {
  const page = usePage()
  const { id, commit, words, author, time } = comment
  const isOfBranch = branchOf(tab) !== undefined
  return (
    <article class={`comment ${isResolved ? 'resolved' : ''}`} aria-label={`Comment of ${withoutTricks(author)}`}>
      <header>
        <Icon name={isResolved ? 'check' : 'chat'} size="xs" />
        <bdi class="strong cut">{withoutTricks(author)}</bdi>
        <span class="meta" title={fullTime(time)}>
          {age(time)}
        </span>
        <span class="grow" />
        <span class="acts">
          {children}
          {isOfBranch && !isResolved ? (
            <Button look="quiet small" words="Add to the message" onClick={() => sendToAi(page, tab, [comment])} />
          ) : null}
          <Button
            look="quiet small"
            words="Delete…"
            onClick={() => {
              page.dialog.value = {
                ...{ kind: 'confirm', title: 'Delete this comment?', button: 'Delete', isDangerous: true },
                words: ['It can’t be restored on this page.'],
                run: async () => {
                  await page.connection.ask('delete comment', { commit, comment: id })
                  await tab.review.comments.refresh()
                },
              }
            }}
          />
        </span>
      </header>
      {isShown ? <p class="words">{words.split('\n').map(visible).join('\n')}</p> : null}
    </article>
  )
}

function NewComment({ tab, place, text }: { tab: Tab; place: CommentPlace; text: string }) {
  const page = usePage()
  const { review } = tab
  const { draft } = review
  const field = useRef<HTMLTextAreaElement>(null)
  const id = useId()
  const begunAt = useRef<Element | null>(null)
  // The dialog that asks for the line is still open when the field is rendered: it takes the focus when that has gone.
  const isCovered = page.dialog.value !== undefined
  // A layout effect: letters typed right after the click are meant for the field.
  useLayoutEffect(() => {
    if (isCovered) return undefined
    // The field is also shown where another line or file leads to it, or away from it: the focus stays elsewhere then.
    if (!draft.wantsFocus) return undefined
    draft.wantsFocus = false
    const begin = () => {
      begunAt.current = document.activeElement
      field.current?.focus()
      if (draft.selection) field.current?.setSelectionRange(...draft.selection)
      // With the buttons below it.
      field.current?.form?.scrollIntoView({ block: 'nearest' })
    }
    begin()
    // A dialog that closes in the same moment gives the focus back to where it was before.
    const frame = requestAnimationFrame(() => {
      if (document.activeElement !== field.current) begin()
    })
    return () => cancelAnimationFrame(frame)
  }, [isCovered, draft.begun.value])
  // The line may get another row, with another field, when its file changes.
  useLayoutEffect(() => {
    const { current } = field
    const keepFocus = () => {
      draft.wantsFocus = document.activeElement === current
      if (current && draft.words.peek() !== '') draft.selection = [current.selectionStart, current.selectionEnd]
    }
    draft.keepFocus = keepFocus
    return () => {
      // Another field has taken its place already.
      if (draft.keepFocus !== keepFocus) return
      draft.keepFocus = undefined
      keepFocus()
    }
  }, [draft])
  // The diff of a renamed file moves to another place in the document, by which its field loses the focus.
  const hadFocus = document.activeElement === field.current
  useLayoutEffect(() => {
    if (hadFocus && document.activeElement !== field.current) field.current?.focus()
  }, [place.path])
  // The focus goes back to the button that opened the field; to the diffs if there is none, as after the dialog.
  const leave = () => {
    const { current } = begunAt
    if (current instanceof HTMLElement && current.isConnected && current !== document.body) current.focus()
    else page.places.focus('diffs')
  }
  const close = () => {
    draft.end()
    leave()
  }
  const add = async () => {
    const words = draft.words.peek().trim()
    if (words === '') return
    try {
      const { path, side, line, answers } = place
      const fields = { path, side, line, text: text.slice(0, MAX_LINE_CHARS), words }
      await page.connection.ask('comment', { at: tab.at, ...fields, ...(answers !== undefined && { answers }) })
      close()
      page.solved(COMMENT, branchOf(tab))
      await review.comments.refresh()
    } catch (error) {
      page.complain(error, { topic: COMMENT, branch: branchOf(tab) })
    }
  }
  return (
    <form
      class="comment new"
      onSubmit={event => {
        event.preventDefault()
        void add()
      }}
    >
      <label for={id} class="vh">
        Comment on {lineWords(place)}
      </label>
      <textarea
        ref={field}
        id={id}
        class="field"
        rows={3}
        maxLength={MAX_COMMENT_CHARS}
        value={draft.words.value}
        onInput={event => draft.write(event.currentTarget.value, text)}
        onKeyDown={event => {
          // What is typed stays in its field: only Cancel gives it up.
          if (event.key === 'Escape') draft.words.peek().trim() === '' ? close() : leave()
          else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void add()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <div class="row">
        <span class="meta">Kept as a git note; nothing is committed.</span>
        <span class="grow" />
        <Button look="small" words="Cancel" onClick={close} />
        <button type="submit" class="button main small" aria-disabled={draft.words.value.trim() === ''}>
          Comment
        </button>
      </div>
    </form>
  )
}

/** Adds comments to the unsent message to the branch's AI, and shows the chat: the user sends the message. */
export function sendToAi(page: Page, tab: Tab, comments: readonly ShownComment[]): void {
  const words = comments.map(({ path, side, line, text, words }) => {
    const code = text.trim() === '' ? '' : `\n> ${text.trim()}`
    const where = line === undefined ? '' : `, ${lineWords({ side, line })}`
    // The AI has the new version alone, in which that number is another line's.
    const version = side === 'before' ? ' (of the old version)' : ''
    return `In ${readable(path)}${where}${version}:${code}\n${words}`
  })
  const before = tab.composer.text.peek().trimEnd()
  tab.composer.write([...(before === '' ? [] : [before]), ...words].join('\n\n'))
  page.showChat(tab)
  tab.composer.focus()
}

/** The comments that are not resolved, counted, and a button that adds all of them to the message to the AI. */
export function CommentCount({ tab }: { tab: Tab }) {
  const page = usePage()
  const open = (tab.review.comments.latest.value ?? []).filter(({ isResolved }) => !isResolved)
  if (open.length === 0) return null
  return (
    <>
      <span class="meta">
        <Icon name="chat" size="xs" /> {open.length}
        <span class="vh"> open comments</span>
      </span>
      {branchOf(tab) === undefined ? null : (
        <Button look="quiet small" words="Add all to the message" onClick={() => sendToAi(page, tab, open)} />
      )}
    </>
  )
}
