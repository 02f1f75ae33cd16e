/** Comments on the lines of a review: below their line, and the field that a new one is written in. */
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { type Comment, MAX_COMMENT_CHARS, MAX_LINE_CHARS } from '../../contract/comments.ts'
import type { Change } from '../../contract/values.ts'
import { branchOf } from '../page/branch-facts.ts'
import { type CommentPlace, isSamePlace, lineWords } from '../page/comment-draft.ts'
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

/** The comments of a file that have a line in its diff, by that line. */
export function commentsAt(tab: Tab, { path, side, line }: CommentPlace): Comment[] {
  const { latest } = tab.review.comments
  return (latest.value ?? []).filter(it => it.path === path && it.side === side && it.line === line)
}

/** What stands below a line: its comments, and the field of a new one. `text`: the line. */
export function LineComments({ tab, places, text }: { tab: Tab; places: readonly CommentPlace[]; text: string }) {
  const { review } = tab
  const comments = places.flatMap(place => commentsAt(tab, place))
  const { value: writtenAt } = review.draft.place
  const answered = comments.find(({ id }) => id === writtenAt?.answers)
  const place = places.find(it => isSamePlace(it, writtenAt) || it.side === answered?.side)
  return (
    <div class="line-comments">
      {comments.map(comment => (
        <CommentBox key={comment.id} tab={tab} comment={comment} />
      ))}
      {place ? <NewComment tab={tab} place={place} text={text} /> : null}
    </div>
  )
}

/**
 * The comments whose line is in no shown diff: their file is not changed (any more) or folded with the conversation, or
 * their line does not exist any more. So is the field of the one that is being written.
 */
export function OtherComments({ tab }: { tab: Tab }) {
  const { review } = tab
  const { draft } = review
  const changes = new Map((review.shown ?? []).map(change => [change.path, change]))
  const hasLine = ({ path, side }: Pick<CommentPlace, 'path' | 'side'>) => isWithLines(changes.get(path), side)
  const all = review.comments.latest.value ?? []
  const others = all.filter(it => it.line === undefined || !hasLine(it))
  const { value: place } = draft.place
  const isAnswer = place?.answers !== undefined
  const isShown = place && (isAnswer ? all.some(({ id }) => id === place.answers) : !place.isChanged && hasLine(place))
  const isApart = place !== undefined && !isShown
  if ((others.length === 0 && !isApart) || review.latest.value === undefined) return null
  return (
    <section class="other-comments" aria-label="Comments on other lines">
      {isApart ? <NewComment tab={tab} place={place} text={draft.line} isElsewhere /> : null}
      {others.map(comment => (
        <OtherComment key={comment.id} tab={tab} comment={comment} />
      ))}
    </section>
  )
}

/** Whether the diff of a change shows lines of a version: not that of a file that was only renamed, or is not there. */
export function isWithLines(change: Change | undefined, side: CommentPlace['side']): boolean {
  if (!change?.[side] || change.status === 'mode') return false
  return change.status !== 'renamed' || change.before?.oid !== change.after?.oid
}

/** A comment apart from its line, and the field of an answer to it. */
function OtherComment({ tab, comment }: { tab: Tab; comment: Comment }) {
  const { id, path, side, line, madeAt, text } = comment
  const place = { path, side, line: line ?? madeAt, answers: id }
  const isWriting = isSamePlace(place, tab.review.draft.place.value)
  return (
    <>
      <CommentBox tab={tab} comment={comment} isElsewhere />
      {isWriting ? <NewComment tab={tab} place={place} text={text} /> : null}
    </>
  )
}

/** The topic of notices that a comment could not be written. */
const COMMENT = 'comment'

interface BoxProps {
  tab: Tab
  comment: Comment
  /** Whether the comment is shown apart from its line, in a list of its own. */
  isElsewhere?: boolean
}

function CommentBox({ tab, comment, isElsewhere = false }: BoxProps) {
  const page = usePage()
  const { id, commit, path, side, line, madeAt, text, words, author, time, isResolved } = comment
  const change = (ask: () => Promise<unknown>) =>
    ask().then(
      () => {
        page.solved(COMMENT, branchOf(tab))
        return tab.review.comments.refresh()
      },
      error => page.complain(error, { topic: COMMENT, branch: branchOf(tab) }),
    )
  const resolve = () =>
    change(() => page.connection.ask('resolve comment', { commit, comment: id, isResolved: !isResolved }))
  const isOfBranch = branchOf(tab) !== undefined
  return (
    <article class={`comment ${isResolved ? 'resolved' : ''}`} aria-label={`Comment of ${withoutTricks(author)}`}>
      <header>
        <Icon name={isResolved ? 'check' : 'chat'} size="xs" />
        <bdi class="strong cut">{withoutTricks(author)}</bdi>
        <span class="meta" title={fullTime(time)}>
          {age(time)}
        </span>
        {isElsewhere ? <PlaceLink tab={tab} path={path} line={line} side={side} /> : null}
        {isResolved ? <span class="meta">Resolved</span> : null}
        <span class="grow" />
        {isResolved ? null : (
          <Button
            look="quiet small"
            words="Reply"
            onClick={() => beginComment(page, tab, { path, side, line: line ?? madeAt, answers: id })}
          />
        )}
        <Button look="quiet small" words={isResolved ? 'Reopen' : 'Resolve'} onClick={resolve} />
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
      </header>
      {isElsewhere && text.trim() !== '' ? <p class="mono meta cut">{visible(text)}</p> : null}
      {isResolved ? null : <p class="words">{words.split('\n').map(visible).join('\n')}</p>}
    </article>
  )
}

interface PlaceProps {
  tab: Tab
  path: string
  line: number | undefined
  side: CommentPlace['side']
}

/** Where a comment stands, which is shown apart from its line: a click opens the file. */
function PlaceLink({ tab, path, line, side }: PlaceProps) {
  return (
    <button type="button" class="link-words cut" onClick={() => tab.edit(path)}>
      {readable(path)}
      {line === undefined ? ', a line that has changed since' : `, ${lineWords({ side, line })}`}
    </button>
  )
}

interface NewCommentProps {
  tab: Tab
  place: CommentPlace
  text: string
  /** Whether the field is shown apart from its line, since that has changed, or its file is in no shown diff. */
  isElsewhere?: boolean
}

function NewComment({ tab, place, text, isElsewhere = false }: NewCommentProps) {
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
      const { path, side, line } = place
      const fields = { path, side, line, text: text.slice(0, MAX_LINE_CHARS), words }
      await page.connection.ask('comment', { at: tab.at, ...fields })
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
      {isElsewhere ? (
        <div class="row">
          <PlaceLink {...{ tab, ...place }} line={place.isChanged ? undefined : place.line} />
        </div>
      ) : null}
      {place.isChanged && text.trim() !== '' ? <p class="mono meta cut">{visible(text)}</p> : null}
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
export function sendToAi(page: Page, tab: Tab, comments: readonly Comment[]): void {
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
