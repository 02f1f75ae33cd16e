/** The dialogs: a prompt, a confirmation, and lists that need no tab of their own. */
import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { ApprovalDialog } from '../chat/chat-approval.tsx'
import { SplitDialog } from '../graph/split-dialog.tsx'
import { StepDialog } from '../graph/step-dialog.tsx'
import { PickDialog } from '../graph/step-pick.tsx'
import { branchOf } from '../page/branch-facts.ts'
import { type DialogContent, isSuccessor } from '../page/dialog-content.ts'
import { usePage } from '../page/state.ts'
import { BaseDialog } from '../review/base-dialog.tsx'
import { PartsDialog } from '../review/parts-dialog.tsx'
import { NewRunDialog } from '../tasks/new-run-dialog.tsx'
import { LandingDialog } from '../tasks/tasks-landing.tsx'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { useDialogRun } from '../ui/dialog-run.ts'
import { Icon } from '../ui/icons.tsx'
import { latePart } from '../ui/late-part.ts'
import { Button, Path } from '../ui/words.tsx'
import { SaveDialog } from './save-message.tsx'

const MAX_LISTED_PATHS = 12

const lateDialog = latePart(async () => (await import('./late-dialogs.tsx')).LateDialog)

/** Loads what the rare dialogs need, so that the first key after they are opened is theirs. */
export const loadLateDialogs = lateDialog.load

export function Dialogs() {
  const page = usePage()
  const content = page.dialog.value
  if (!content) return null
  const close = () => {
    // The browser reports the close late: another dialog may be open by then.
    const open = page.dialog.peek()
    if (open === content || isSuccessor(open, content)) page.dialog.value = undefined
  }
  switch (content.kind) {
    case 'ask':
      return <Ask key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'confirm':
      return <Confirm key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'choose':
      return <Choose key={content.title} content={content} close={close} />
    case 'approval':
      return page.tab.value ? <ApprovalDialog tab={page.tab.value} path={content.path} close={close} /> : null
    case 'landing':
      return <LandingDialog key={content.title} content={content} close={close} tasks={page.tasks} />
    case 'step':
      return <StepDialog key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'parts':
      return <PartsDialog key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'split':
      return <SplitDialog key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'base':
      return <BaseDialog key={content.title} content={content} close={close} />
    case 'pick':
      return <PickDialog key={content.firstTitle ?? content.title} content={content} close={close} />
    case 'save':
      return <SaveDialogOfTab close={close} />
    case 'new run':
      return <NewRunDialog close={close} />
    default:
      return <lateDialog.View content={content} close={close} />
  }
}

function SaveDialogOfTab({ close }: { close: () => void }) {
  const tab = usePage().tab.value
  const branch = branchOf(tab)
  return tab && branch !== undefined ? <SaveDialog tab={tab} branch={branch} close={close} /> : null
}

function Problem({ words }: { words: string | undefined }) {
  return (
    <p class="dialog-problem is-bad" role="alert">
      {words}
    </p>
  )
}

interface AskProps {
  content: Extract<DialogContent, { kind: 'ask' }>
  close: () => void
}

/** The warning about the words that were typed last; words that are no name yet have none. */
function useWarning(warn: AskProps['content']['warn']) {
  const words = useSignal<string | undefined>(undefined)
  const newest = useRef('')
  const about = async (typed: string) => {
    newest.current = typed
    if (!warn) return
    const found = await Promise.resolve(typed)
      .then(warn)
      .catch(() => undefined)
    if (newest.current === typed) words.value = found
  }
  return { words, about }
}

/** Changes the text of a field while it is typed. The cursor stays where it is. */
function change(field: HTMLInputElement, whileTyping: AskProps['content']['whileTyping']): void {
  const words = whileTyping?.(field.value) ?? field.value
  if (words === field.value) return
  const cursor = field.selectionStart ?? words.length
  field.value = words
  field.setSelectionRange(cursor, cursor)
}

function Ask({ content, close }: AskProps) {
  const field = useRef<HTMLInputElement>(null)
  const message = useRef<HTMLTextAreaElement>(null)
  const [id, messageId] = [useId(), useId()]
  const { dialogTexts } = usePage()
  const messageField = { title: content.title, field: 'message' }
  const { problem, isBusy, start } = useDialogRun((sent: string) => {
    dialogTexts.drop(content.title)
    close()
    content.goOn?.(sent)
  })
  const submit = () => {
    const sent = field.current?.value ?? ''
    if (sent.trim() === '') return
    void start(async () => {
      await content.run(sent, message.current?.value ?? '')
      return sent
    })
  }
  const warning = useWarning(content.warn)
  useLayoutEffect(() => {
    // Under the new name of its branch, what was typed stays, and so does the cursor.
    if (content.firstTitle !== undefined) {
      void warning.about(field.current?.value ?? '')
      return
    }
    const { value } = content
    // A folder is gone on from; a name that is suggested is replaced by what is typed.
    const [from, to] = content.selection ?? [value.endsWith('/') ? value.length : 0, value.length]
    field.current?.focus()
    field.current?.setSelectionRange(from, to)
    void warning.about(value)
  }, [content])
  return (
    <DialogFrame title={content.title} close={close} look="narrow">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
        onKeyDown={event => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      >
        <div class="dialog-body">
          <label for={id}>{content.label}</label>
          <input
            ref={field}
            id={id}
            class="field"
            autocomplete="off"
            spellcheck={false}
            defaultValue={content.value}
            onInput={event => {
              problem.value = undefined
              if (!event.isComposing) change(event.currentTarget, content.whileTyping)
              void warning.about(event.currentTarget.value)
            }}
            onCompositionEnd={event => change(event.currentTarget, content.whileTyping)}
          />
          <div role="status">
            {warning.words.value === undefined ? null : (
              <p class="step-warning">
                <Icon name="alert" />
                <span>{warning.words.value}</span>
              </p>
            )}
          </div>
          {content.messageLabel === undefined ? null : (
            <>
              <label for={messageId}>{content.messageLabel}</label>
              <textarea
                ref={message}
                id={messageId}
                class="field"
                rows={4}
                defaultValue={dialogTexts.of(messageField)}
                onInput={event => dialogTexts.keep(messageField, event.currentTarget.value)}
              />
            </>
          )}
          {content.hint ? <p class="meta">{content.hint}</p> : null}
          <Problem words={problem.value} />
        </div>
        <footer>
          <span class="grow" />
          <CloseButton close={close} />
          <button type="submit" class="button main" aria-disabled={isBusy.value}>
            {content.button}
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

/** Sentences, followed by the list of paths they refer to. */
function WhatItIsAbout({ words, list }: { words: string[]; list: string[] }) {
  return (
    <>
      {words.map(sentence => (
        <p key={sentence}>{sentence}</p>
      ))}
      <ul class="dialog-list">
        {list.slice(0, MAX_LISTED_PATHS).map(path => (
          <li key={path}>
            <Path of={path} />
          </li>
        ))}
      </ul>
      {list.length > MAX_LISTED_PATHS ? <p class="meta">and {list.length - MAX_LISTED_PATHS} more</p> : null}
    </>
  )
}

interface ChooseProps {
  content: Extract<DialogContent, { kind: 'choose' }>
  close: () => void
}

function Choose({ content, close }: ChooseProps) {
  const { problem, isBusy, start } = useDialogRun(close)
  return (
    <DialogFrame title={content.title} close={close} look="narrow" type={content.type}>
      <div class="dialog-body">
        <WhatItIsAbout words={content.words} list={content.list} />
        <Problem words={problem.value} />
      </div>
      <footer>
        <span class="grow" />
        <CloseButton isFirst close={close} />
        {content.buttons.map(({ words, look, run }) => (
          <Button key={words} words={words} look={look} isOff={isBusy.value} onClick={() => start(run)} />
        ))}
      </footer>
    </DialogFrame>
  )
}

interface ConfirmProps {
  content: Extract<DialogContent, { kind: 'confirm' }>
  close: () => void
}

function Confirm({ content, close }: ConfirmProps) {
  const { problem, isBusy, start } = useDialogRun(close)
  const cancel = useRef<HTMLButtonElement>(null)
  // Where the words are renewed, the same key again would do what was not read yet.
  useLayoutEffect(() => {
    if (!content.isSafe) cancel.current?.focus()
  }, [content])
  return (
    <DialogFrame title={content.title} close={close} look="narrow">
      <div class="dialog-body">
        <WhatItIsAbout words={content.words} list={content.list ?? []} />
        <Problem words={problem.value} />
      </div>
      <footer>
        <span class="grow" />
        <CloseButton buttonRef={cancel} isFirst={!content.isSafe} close={close} />
        <Button
          isFirst={content.isSafe === true}
          words={content.button}
          look={content.isDangerous ? 'stop' : 'main'}
          isOff={isBusy.value || content.isOff === true}
          onClick={() => start(content.run)}
        />
      </footer>
    </DialogFrame>
  )
}
