/** The message of the next save: a field in the status bar, and a dialog with subject and body. */
import { useSignal } from '@preact/signals'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { draftsOf, draftsOnServer, isMerging } from '../page/branch-facts.ts'
import { MAX_SUBJECT_CHARS, messageOf, partsOf } from '../page/commit-message.ts'
import { type Paths, saveOrThrow } from '../page/saving.ts'
import { type Tab, usePage } from '../page/state.ts'
import { DialogFrame, SubmitFooter } from '../ui/dialog-frame.tsx'
import { useDialogRun } from '../ui/dialog-run.ts'
import { named } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { typing } from '../ui/typing.ts'
import { Path } from '../ui/words.tsx'

/** Delay after the last change of the drafts before the server is asked for a commit message, in milliseconds. */
const ASK_DELAY_MS = 250
/** At most this many lines of a message are shown at once; a longer one scrolls. */
const MAX_SHOWN_LINES = 10
/** At most this many of the files to save are listed. */
const MAX_LISTED_FILES = 200

/** The message that the server would write for a save of these files; '' without drafts, or until it is known. */
export function useSuggestion(branch: string, paths: Paths): string {
  const page = usePage()
  const suggested = useSignal({ of: '', message: '' })
  const drafts = draftsOf(page, branch)
  // The message is asked for again when the server learns of a draft, and when the branch changes otherwise: an undo
  // may turn the deletion of a file into an edit, while the drafts are of the same files.
  const changes = page.changed.value.get(branch) ?? 0
  const files = paths === 'all' ? [] : paths
  const of = [branch, ...files].join('\0')
  const key = [...files, '', ...drafts, '', ...draftsOnServer(page, branch), changes].join('\0')
  useEffect(() => {
    if (drafts.length === 0) {
      suggested.value = { of, message: '' }
      return undefined
    }
    let isCurrent = true
    const timer = setTimeout(async () => {
      try {
        const { message } = await page.connection.ask('message', { branch, paths })
        if (isCurrent) suggested.value = { of, message }
      } catch {
        // Without a suggestion the field stays empty; the server then writes the message when it saves.
      }
    }, ASK_DELAY_MS)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
    // `key` stands for all that the effect reads.
  }, [page, branch, key])
  // Until the next message comes, the known one may be for the file that was shown before.
  return suggested.value.of === of ? suggested.value.message : ''
}

interface FieldProps {
  tab: Tab
  suggested: string
  /** Why nothing can be saved; undefined if it can. */
  reason: string | undefined
  hasDrafts: boolean
  submit: () => void
}

/**
 * One line in the status bar. With the focus it grows upwards over what is above it. Shift+Enter adds a line; in a
 * message of several lines, Enter does so too, and Ctrl+Enter saves. The suggested message is selected by a click or
 * the focus, so that typing replaces it.
 */
export function MessageField({ tab, suggested, reason, hasDrafts, submit }: FieldProps) {
  const page = usePage()
  const hasFocus = useSignal(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const isSuggested = tab.saveMessage.text.value === undefined
  const value = tab.saveMessage.text.value ?? (reason === undefined ? suggested : '')
  const lines = Math.min(MAX_SHOWN_LINES, value.split('\n').length)
  const rows = hasFocus.value ? lines : 1
  useLayoutEffect(() => {
    if (!hasFocus.value) field.current?.scrollTo(0, 0)
  }, [hasFocus.value])
  // The suggestion may come, or change, after the field got the focus.
  useLayoutEffect(() => {
    if (hasFocus.value && isSuggested) field.current?.select()
  }, [hasFocus.value, isSuggested, value])
  useLayoutEffect(() => {
    const { current } = field
    return () => {
      const hadFocus = current !== null && document.activeElement === current
      // A step that another window begins takes the field away, and the editor would get the focus. While the user
      // types, nothing gets it: what is typed on is kept.
      if (hadFocus && isMerging(page, tab) && !typing.isIn(current)) current.closest<HTMLElement>('.status')?.focus()
    }
  }, [page, tab])
  return (
    <span class="message-field">
      <textarea
        ref={field}
        class={rows > 1 ? 'grown' : ''}
        aria-label="Commit message"
        placeholder={reason ?? 'Commit message'}
        autocomplete="off"
        aria-keyshortcuts="Control+Enter"
        rows={rows}
        title={lines > 1 ? 'Enter adds a line, Ctrl+Enter saves' : 'Enter saves, Shift+Enter adds a line'}
        value={value}
        onMouseDown={event => {
          // A click would put the cursor into the suggestion, and deselect it.
          if (hasFocus.peek() || !isSuggested) return
          event.preventDefault()
          event.currentTarget.focus()
        }}
        onFocus={() => {
          hasFocus.value = true
        }}
        onBlur={() => {
          hasFocus.value = false
          // An empty message is none: the suggestion comes back.
          if (tab.saveMessage.text.peek() === '') tab.saveMessage.write(undefined)
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          if (lines > 1 && !event.ctrlKey && !event.metaKey) return
          event.preventDefault()
          submit()
        }}
        onInput={event => {
          // After a save, the browser's undo brings back the message of that commit, which is not meant for the next.
          if (!hasDrafts && event.inputType.startsWith('history')) event.currentTarget.value = ''
          else tab.saveMessage.write(event.currentTarget.value)
        }}
      />
    </span>
  )
}

interface DialogProps {
  tab: Tab
  branch: string
  close: () => void
}

/**
 * Saves all drafts with a message that is written here. What is typed is kept until it is used: after Escape, after a
 * save that failed, and when the page is loaded again.
 */
export function SaveDialog({ tab, branch, close }: DialogProps) {
  const page = usePage()
  const suggested = useSuggestion(branch, 'all')
  const { problem, isBusy, start } = useDialogRun(close)
  const [subjectId, bodyId] = [useId(), useId()]
  const { subject, body } = partsOf(tab.saveMessage.text.value ?? suggested)
  const drafts = draftsOf(page, branch)
  const write = (part: { subject?: string; body?: string }) =>
    tab.saveMessage.write(messageOf({ subject, body, ...part }) || undefined)
  const save = () => {
    if (drafts.length > 0) void start(() => saveOrThrow(page, tab, branch))
  }
  return (
    <DialogFrame title={`Save ${plural(drafts.length, 'draft')} to ${named(branch)}`} close={close}>
      <form
        class="save-dialog"
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          save()
        }}
        onSubmit={event => {
          event.preventDefault()
          save()
        }}
      >
        <div class="dialog-body">
          <label for={subjectId}>
            Subject
            {subject.length > MAX_SUBJECT_CHARS ? (
              <span class="is-warn">
                {' '}
                {subject.length} characters: git’s tools cut it after {MAX_SUBJECT_CHARS}
              </span>
            ) : null}
          </label>
          <Subject
            id={subjectId}
            value={subject}
            isSuggested={tab.saveMessage.text.value === undefined}
            write={value => write({ subject: value })}
          />
          <label for={bodyId}>Body</label>
          <textarea
            id={bodyId}
            class="field"
            rows={Math.min(MAX_SHOWN_LINES * 2, Math.max(4, body.split('\n').length))}
            value={body}
            onInput={event => write({ body: event.currentTarget.value })}
          />
          <ul class="dialog-list" aria-label="Files to save">
            {drafts.slice(0, MAX_LISTED_FILES).map(path => (
              <li key={path}>
                <Path of={path} />
              </li>
            ))}
          </ul>
          {drafts.length > MAX_LISTED_FILES ? <p class="meta">and {drafts.length - MAX_LISTED_FILES} more</p> : null}
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
        </div>
        <SubmitFooter close={close} isOff={isBusy.value || drafts.length === 0}>
          {isBusy.value ? 'Saving' : 'Save'}
          <kbd>Ctrl Enter</kbd>
        </SubmitFooter>
      </form>
    </DialogFrame>
  )
}

interface SubjectProps {
  id: string
  value: string
  isSuggested: boolean
  write: (value: string) => void
}

/** Has the focus when the dialog opens, with its text selected; so is a suggestion that comes later. */
function Subject({ id, value, isSuggested, write }: SubjectProps) {
  const field = useRef<HTMLInputElement>(null)
  const opened = useRef(false)
  useLayoutEffect(() => {
    const isElsewhere = opened.current && document.activeElement !== field.current
    if ((isSuggested || !opened.current) && !isElsewhere) field.current?.select()
    opened.current = true
  }, [isSuggested, value])
  return (
    <input
      ref={field}
      id={id}
      class="field"
      autocomplete="off"
      value={value}
      onInput={event => write(event.currentTarget.value)}
    />
  )
}
