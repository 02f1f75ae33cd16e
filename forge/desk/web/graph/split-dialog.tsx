/** The dialog that splits a commit in two: the changes of the first commit, both messages, and the preview. */
import { type Signal, useSignal } from '@preact/signals'
import { useId, useMemo } from 'preact/hooks'
import type { RewrittenCommit, Step } from '../../contract/steps.ts'
import type { DoneStep } from '../merging/after-step.ts'
import type { DialogContent } from '../page/dialog-content.ts'
import type { DialogField } from '../page/dialog-texts.ts'
import { usePage } from '../page/state.ts'
import { PartChoice, PartPicker } from '../review/part-picker.tsx'
import { useCommit } from '../review/use-commit.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { Waiting } from '../ui/words.tsx'
import { RewrittenList } from './rewritten-list.tsx'
import { OutlookLine } from './step-words.tsx'
import { usePreview } from './use-preview.ts'
import { useStepRun } from './use-step-run.ts'

interface Props {
  content: Extract<DialogContent, { kind: 'split' }>
  close: () => void
}

export function SplitDialog({ content, close }: Props) {
  const page = usePage()
  const { branch, commit: oid } = content
  const { commit, asked } = useCommit(oid)
  const { dialogTexts } = page
  const choice = useMemo(() => dialogTexts.choiceOf(content.title, PartChoice), [])
  const firstField = { title: content.title, field: 'first' }
  const restField = { title: content.title, field: 'rest' }
  const first = useSignal(dialogTexts.of(firstField))
  const rest = useSignal(dialogTexts.of(restField))
  const keep = (field: DialogField, typed: Signal<string | undefined>) => (text: string) => {
    typed.value = text
    dialogTexts.keep(field, text)
  }
  const own = commit?.message.trimEnd() ?? ''
  const [message, other] = [first.value ?? own, rest.value ?? own].map(it => it.trim() || own) as [string, string]
  const { parts } = choice
  const step = (messages: { message?: string }, ofRest: { rest?: string }): Step => ({
    ...{ step: 'rewrite', branch, ...messages },
    rewriting: { do: 'split', commit: oid, first: parts, ...ofRest },
  })
  // The messages change nothing in the preview but the subjects, which are shown as they are typed.
  const asking = commit && parts.length > 0 ? step({}, {}) : undefined
  const { preview: found, problem: trouble, look } = usePreview(asking, content)
  const preview = trouble === undefined ? found : undefined
  const { problem, isBusy, start, body } = useStepRun((done: DoneStep) => {
    dialogTexts.drop(content.title)
    close()
    content.isDone(done)
  }, look)
  const isOff = isBusy.value || preview?.is !== 'clean'

  const submit = () => {
    if (isOff || !preview) return
    const fields = { step: step({ message }, { rest: other }), before: preview.before }
    void start(async () => {
      const { words, merging } = await page.connection.ask('do', fields)
      return { words, isUndoable: true, ...(merging !== undefined && { merging }) }
    })
  }

  return (
    <DialogFrame title={content.title} close={close} look="step-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
        onInput={() => {
          problem.value = undefined
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <div class="step-body" ref={body} tabIndex={-1}>
          <p class="step-explains">
            Select the files or lines of the first commit. The second commit gets the rest. No file changes after both.
          </p>
          <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
          {commit ? (
            <PartPicker changes={commit.changes} choice={choice} label="Changes of the first commit" />
          ) : (
            <Waiting words="Loading the commit" />
          )}
          <Message label="Message of the first commit" value={first.value ?? own} onInput={keep(firstField, first)} />
          <Message label="Message of the second commit" value={rest.value ?? own} onInput={keep(restField, rest)} />
          <div class="step-outlook" role="status" aria-busy={parts.length > 0 && !preview && trouble === undefined}>
            {parts.length === 0 ? <span class="meta">Nothing is selected yet.</span> : null}
            {parts.length > 0 && preview ? <OutlookLine outlook={preview} /> : null}
            {parts.length > 0 && trouble !== undefined ? <span class="outlook is-bad">{trouble}</span> : null}
          </div>
          {parts.length > 0 && preview?.rewritten ? (
            <RewrittenList commits={withSubjects(preview.rewritten, other, message)} />
          ) : null}
          {parts.length > 0
            ? preview?.warnings.map(words => (
                <p class="step-warning" key={words}>
                  <Icon name="alert" />
                  <span>{words}</span>
                </p>
              ))
            : null}
        </div>
        <footer>
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
          <span class="grow" />
          <CloseButton close={close} />
          <button
            type="submit"
            class="button main"
            aria-disabled={isOff}
            aria-keyshortcuts="Control+Enter"
            title={shownKeys('Ctrl+Enter')}
          >
            Split
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

/** The rows of a preview with the subjects of these messages in those of the split's parts, newest first. */
function withSubjects(rows: readonly RewrittenCommit[], ...messages: string[]): RewrittenCommit[] {
  const subjects = messages.map(subjectOf)
  return rows.map(row => (row.becomes === 'split' ? { ...row, subject: subjects.shift() ?? row.subject } : row))
}

/** The first paragraph of a message, in one line, as git shows it. */
const subjectOf = (message: string): string => message.split(/\n\s*\n/, 1)[0]?.replace(/\s*\n/g, ' ') ?? ''

interface MessageProps {
  label: string
  value: string
  onInput: (value: string) => void
}

function Message({ label, value, onInput }: MessageProps) {
  const id = useId()
  return (
    <div class="step-message">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="field"
        rows={Math.min(6, Math.max(2, value.split('\n').length))}
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
    </div>
  )
}
