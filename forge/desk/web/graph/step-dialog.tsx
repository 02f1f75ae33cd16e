/** The dialog of a step: the ways to run it, their preview, and the commit message. */
import { batch, useSignal } from '@preact/signals'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Preview, Step } from '../../contract/steps.ts'
import { type DoneStep, STEP_TOPIC } from '../merging/after-step.ts'
import type { DialogContent, StepWay } from '../page/dialog-content.ts'
import type { DialogField } from '../page/dialog-texts.ts'
import { saveAll } from '../page/saving.ts'
import { usePage } from '../page/state.ts'
import { ChangeSum, ChangesWithDiffs } from '../review/change-list.tsx'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { withoutTricks } from '../ui/names.ts'
import { onTabKeys } from '../ui/tab-keys.ts'
import { plural } from '../ui/times.ts'
import { Button, Path } from '../ui/words.tsx'
import { BroughtList, LostList } from './brought-list.tsx'
import { RewrittenList } from './rewritten-list.tsx'
import { OutlookLine } from './step-words.tsx'
import { usePreview } from './use-preview.ts'
import { useStepRun } from './use-step-run.ts'

interface Props {
  content: Extract<DialogContent, { kind: 'step' }>
  close: () => void
}

const MAX_CONFLICTS = 50

export function StepDialog({ content, close }: Props) {
  const page = usePage()
  const { ways } = content
  const chosen = useSignal(content.first)
  const isCommitWanted = useSignal(false)
  const message = useRef<HTMLTextAreaElement>(null)
  const panel = useId()
  const way = ways[chosen.value] as StepWay
  /** What was typed last in place of a usual message. */
  const typed = useRef<{ title: string; way: string; text: string }>(undefined)
  const isTypedHere = typed.current?.way === way.key
  // A renamed branch changes the dialog's title, and often the usual message: what was typed stays.
  const carried = isTypedHere && typed.current?.title !== content.title ? typed.current?.text : undefined
  const step = way.step.step === 'merge' ? { ...way.step, isCommitWanted: isCommitWanted.value } : way.step
  const fetch = useFetch(content.fetches)
  const { preview: found, changes, problem: trouble, look } = usePreview(fetch.isDone ? step : undefined, content)
  const preview = trouble === undefined ? found : impossible(trouble)
  const { problem, isBusy, start, body, focusPreview } = useStepRun((done: DoneStep) => {
    page.dialogTexts.drop(content.title)
    close()
    content.isDone(done)
  }, look)
  /** The preview of the last try, as JSON. */
  const tried = useRef<string>(undefined)
  // A preview that is the same after the refusal does not know of it: its outcome is not the one to expect.
  const isRefused = problem.value !== undefined && preview !== undefined && tried.current === JSON.stringify(preview)
  // After a rejected push, the new preview gives the same reason as `problem`, and offers a pull: it is shown once.
  const canPull = preview?.offers === 'pull' && content.pull !== undefined
  const forced = preview?.offers === 'force' ? ways.findIndex(it => isForceOf(it.step, step)) : -1
  const hasToForce = forced >= 0
  const hasToSave = preview?.offers === 'save'
  const canTryAgain = fetch.problem !== undefined
  const drops = preview?.is === 'drops'
  // A forced push that overwrites nothing is one that is not forced.
  const isDangerous = drops || (way.isDangerous === true && !(step.step === 'push' && preview?.is === 'clean'))
  const isRed = isDangerous && !canPull && !hasToSave
  // An Enter that was meant for something else neither drops commits nor saves the drafts that a step needs saved.
  const isCareful = isRed || hasToSave
  const isFirstDangerous = ways.length === 1 && way.isDangerous === true
  const cancel = useRef<HTMLButtonElement>(null)
  const submit = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    if (isCareful && document.activeElement === submit.current) cancel.current?.focus()
  }, [isCareful])
  // A refused push has moved the focus to its preview. The pull that it offers is previewed before anything is done.
  useLayoutEffect(() => {
    if (canPull && document.activeElement === body.current) submit.current?.focus()
  }, [canPull])
  const isOff =
    isBusy.value ||
    (!canTryAgain && !canPull && !hasToForce && (!preview || preview.is === 'nothing' || preview.is === 'impossible'))
  const isMessageOnly =
    step.step === 'rewrite' &&
    (step.rewriting.do === 'reword' || (step.rewriting.do === 'amend' && !step.rewriting.isWithDrafts))
  const isRemote = ['push', 'push tag', 'delete tag', 'delete remote branch', 'pull'].includes(step.step)
  const { value: progress } = page.graph.progress

  const choose = (index: number) => {
    chosen.value = index
    problem.value = undefined
  }
  const pullFor = (remote: string) => {
    close()
    content.pull?.(remote)
  }
  const run = async () => {
    if (isOff) return
    if (canTryAgain) return fetch.begin()
    if (canPull && step.step === 'push') {
      pullFor(step.remote)
      return
    }
    if (hasToForce) {
      choose(forced)
      focusPreview()
      return
    }
    if (!preview) return
    if (hasToSave) return saveFirst()
    tried.current = JSON.stringify(preview)
    await start(() => perform(preview))
  }
  const saveFirst = async () => {
    isBusy.value = true
    problem.value = undefined
    await saveAll(page, targetOf(step)).catch((error: Error) => {
      problem.value = error.message
    })
    look()
    isBusy.value = false
  }
  const perform = async (preview: Preview): Promise<DoneStep> => {
    const words = message.current?.value.trim()
    // A rewriting always sends the message: without one, the server would make a commit again even if its message is
    // unchanged.
    const isOther = step.step === 'rewrite' || words !== preview.message?.trim()
    const isEdited = words !== undefined && words !== '' && isOther
    const asked = isEdited && 'message' in MESSAGES[step.step] ? { ...step, message: words } : step
    const { before, source, there, tree } = preview
    const seen = {
      ...(before !== undefined && { before }),
      ...(source !== undefined && { source }),
      ...(there !== undefined && { there }),
      ...(tree !== undefined && { tree }),
    }
    const fields = { step: asked as Step, ...seen }
    const { words: said, commit, merging } = await page.connection.ask('do', fields)
    // A pull that found nothing new can't be undone.
    const isUndoable =
      step.step !== 'push' && step.step !== 'push tag' && (merging !== undefined || commit !== preview.before)
    return { words: said, isUndoable, ...(merging !== undefined && { merging }) }
  }

  // Enter on the selected tab presses the button, as in other dialogs, or goes to the one that saves the drafts first.
  // A forced push only starts from the button itself.
  const isOnSafeWay = (target: EventTarget | null) =>
    target instanceof Element && target.matches('[role="tab"][aria-selected="true"]') && !way.isDangerous && !isRed
  return (
    <DialogFrame title={content.title} close={close} look="step-dialog">
      <form
        onSubmit={event => {
          event.preventDefault()
          run()
        }}
        onInput={() => {
          problem.value = undefined
        }}
        onKeyDown={event => {
          const hasModifier = event.ctrlKey || event.metaKey
          if (event.key !== 'Enter' || !(hasModifier || isOnSafeWay(event.target))) return
          event.preventDefault()
          if (hasToSave && !hasModifier) submit.current?.focus()
          else run()
        }}
      >
        {ways.length > 1 ? (
          <div class="step-ways">
            <div class="pill-tabs" role="tablist" aria-label="How" onKeyDown={onTabKeys}>
              {ways.map(({ key, words }, index) => (
                <button
                  key={key}
                  type="button"
                  role="tab"
                  id={`${panel}-${key}`}
                  aria-selected={index === chosen.value}
                  aria-controls={panel}
                  tabIndex={index === chosen.value ? 0 : -1}
                  autofocus={index === chosen.value}
                  onClick={() => choose(index)}
                >
                  {words}
                </button>
              ))}
            </div>
          </div>
        ) : null}
        <div class="step-body" id={panel} ref={body} role="tabpanel" tabIndex={-1} aria-label={way.words}>
          <p class="step-explains">{way.explains}</p>
          <div class="step-outlook" role="status" aria-busy={!preview && !canTryAgain}>
            {isRefused ? null : preview ? (
              <OutlookLine outlook={preview} />
            ) : fetch.problem === undefined ? (
              <span class="meta">{progress ?? (fetch.isDone ? 'Loading…' : 'Fetching…')}</span>
            ) : (
              <span class="outlook is-bad">
                <Icon name="alert" />
                {fetch.problem}
              </span>
            )}
            {preview && hasCountBeside(preview) ? <span class="meta">{plural(preview.commits, 'commit')}</span> : null}
            <span class="grow" />
            {changes && changes.length > 0 ? <ChangeSum changes={changes} look="meta" /> : null}
          </div>
          {preview ? <Conflicts preview={preview} /> : null}
          {preview?.warnings.map(words => (
            <p class="step-warning" key={words}>
              <Icon name="alert" />
              <span>{words}</span>
            </p>
          ))}
          {[
            ...(fetch.gone === undefined ? [] : [`${fetch.gone} Undo is in Operations.`]),
            ...(preview?.notes ?? []),
          ].map(words => (
            <p class="step-warning note" key={words}>
              <Icon name="info" />
              <span>{words}</span>
            </p>
          ))}
          {preview?.loses ? <LostList {...preview.loses} /> : null}
          {preview?.rebases ? (
            <BroughtList {...preview.rebases} title={`Rebases ${plural(preview.rebases.count, 'commit')}`} />
          ) : null}
          {preview?.brings ? (
            <BroughtList
              {...preview.brings}
              {...(preview.rebases && { title: `Brings ${plural(preview.brings.count, 'commit')}` })}
            />
          ) : null}
          {preview?.rewritten ? <RewrittenList commits={preview.rewritten} /> : null}
          {preview?.message !== undefined && preview.is !== 'nothing' ? (
            <Message
              key={`${way.key} ${preview.message}`}
              field={message}
              of={{ title: content.title, field: `${way.key} ${preview.message}` }}
              value={preview.message}
              carried={carried}
              onType={text => {
                typed.current = { title: content.title, way: way.key, text }
              }}
              hasFocus={isMessageOnly}
            />
          ) : null}
          {step.step === 'merge' &&
          preview?.is === 'clean' &&
          (preview.message === undefined || isCommitWanted.value) ? (
            <label class="step-check">
              <input
                type="checkbox"
                checked={isCommitWanted.value}
                onChange={event => {
                  isCommitWanted.value = event.currentTarget.checked
                }}
              />
              Create a merge commit even if a fast-forward is possible
            </label>
          ) : null}
          {changes && changes.length > 0 ? (
            <div class="step-changes">
              <ChangesWithDiffs key={`${way.key} ${preview?.result}`} changes={changes} />
            </div>
          ) : null}
        </div>
        <footer>
          {isBusy.value && progress !== undefined ? <span class="meta cut">{progress}</span> : null}
          <p class="dialog-problem is-bad" role="alert">
            {canPull || hasToForce ? undefined : problem.value}
          </p>
          <span class="grow" />
          {(isBusy.value && isRemote) || ((isBusy.value || !preview) && progress !== undefined) ? (
            <Button
              words="Stop"
              look="stop"
              onClick={() => {
                page.connection.ask('stop step', {}).catch(error => page.complain(error, { topic: STEP_TOPIC }))
                // Without the fetch there is nothing to preview.
                if (!fetch.isDone) close()
              }}
            />
          ) : (
            <CloseButton buttonRef={cancel} isFirst={isFirstDangerous} close={close} />
          )}
          {hasToForce && step.step === 'push' && content.pull ? (
            <Button words="Pull…" onClick={() => pullFor(step.remote)} />
          ) : null}
          <button
            type="submit"
            ref={submit}
            class={`button ${isRed ? 'stop' : 'main'}`}
            aria-disabled={isOff}
            aria-keyshortcuts="Control+Enter"
            title={shownKeys('Ctrl+Enter')}
            autofocus={ways.length === 1 && !isFirstDangerous}
          >
            {canTryAgain || isRefused
              ? 'Try again'
              : canPull
                ? 'Pull…'
                : hasToForce
                  ? 'Force push…'
                  : hasToSave
                    ? 'Save all drafts'
                    : buttonWords(way, preview)}
          </button>
        </footer>
      </form>
    </DialogFrame>
  )
}

/** Whether a step is the forced one of a push. */
const isForceOf = (forced: Step, step: Step): boolean =>
  forced.step === 'push' && step.step === 'push' && forced.isForced && forced.remote === step.remote

/** The name of the branch that a step moves; '' if it moves none. */
function targetOf(step: Step): string {
  if ('onto' in step && typeof step.onto === 'string') return step.onto
  return ('branch' in step ? step.branch : undefined) ?? ''
}

function buttonWords({ button }: StepWay, preview: Preview | undefined): string {
  return preview?.is === 'conflicts' ? `${button} and resolve ${plural(preview.conflicts, 'file')}` : button
}

/** Fetches the upstream of a branch once, before the preview. Without a branch, `isDone` is true from the start. */
function useFetch(step: Extract<Step, { step: 'fetch' }> | undefined) {
  const page = usePage()
  const isDone = useSignal(step === undefined)
  const problem = useSignal<string | undefined>(undefined)
  /** The remote branches that the fetch has removed, as a sentence. */
  const gone = useSignal<string | undefined>(undefined)
  const begin = async () => {
    if (step === undefined) return
    problem.value = undefined
    try {
      const done = await page.connection.ask('do', { step })
      batch(() => {
        gone.value = done.gone
        isDone.value = true
      })
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error)
    }
  }
  useEffect(() => void begin(), [step])
  return { isDone: isDone.value, problem: problem.value, gone: gone.value, begin }
}

/** The steps that make a commit with an editable message. */
const MESSAGES: Record<Step['step'], object> = {
  merge: { message: true },
  land: { message: true },
  rebase: {},
  rewrite: { message: true },
  'cherry-pick': {},
  revert: { message: true },
  move: {},
  tag: { message: true },
  'rename tag': {},
  'delete tag': {},
  'push tag': {},
  'delete remote branch': {},
  fetch: {},
  pull: {},
  push: {},
}

const NO_PREVIEW = { conflicts: 0, commits: 0, conflictsIn: [], warnings: [] }

/** Whether the number of commits is shown beside the outcome: not where that or a list says it. */
const hasCountBeside = ({ commits, words, rebases }: Preview): boolean =>
  commits > 0 && !rebases && !words.includes(plural(commits, 'commit'))

/** The preview of an impossible step; `words` say why it is impossible. */
const impossible = (words: string): Preview => ({ ...NO_PREVIEW, is: 'impossible', words })

function Conflicts({ preview: { conflictsIn } }: { preview: Preview }) {
  if (conflictsIn.length === 0) return null
  const rest = conflictsIn.length - MAX_CONFLICTS
  return (
    <ul class="step-conflicts" aria-label="Files in conflict">
      {conflictsIn.slice(0, MAX_CONFLICTS).map(({ path, words }) => (
        <li key={path}>
          <Icon name="warning" tone="is-warn" />
          <Path of={path} />
          <span class="meta">{withoutTricks(words)}</span>
        </li>
      ))}
      {rest > 0 ? <li class="meta">and {rest} more</li> : null}
    </ul>
  )
}

interface MessageProps {
  field: { current: HTMLTextAreaElement | null }
  of: DialogField
  /** The usual message. */
  value: string
  /** What was typed under the dialog's former title. */
  carried: string | undefined
  onType: (text: string) => void
  /** Whether the step changes only the message: its field then has the focus, with the cursor at the start. */
  hasFocus: boolean
}

function Message({ field, of, value, carried, onType, hasFocus }: MessageProps) {
  const { dialogTexts } = usePage()
  const id = useId()
  const keep = (text: string) => {
    dialogTexts.keep(of, text)
    onType(text)
  }
  useEffect(() => {
    if (carried !== undefined) keep(carried)
  }, [of.title])
  useEffect(() => {
    const { activeElement } = document
    const isElsewhere = activeElement?.matches('button:not([type="submit"])')
    if (!hasFocus || isElsewhere) return
    field.current?.focus()
    field.current?.setSelectionRange(0, 0)
  }, [])
  return (
    <div class="step-message">
      <label for={id}>Commit message</label>
      <textarea
        ref={field}
        id={id}
        class="field"
        rows={Math.min(8, Math.max(2, value.split('\n').length))}
        defaultValue={carried ?? dialogTexts.of(of) ?? value.trimEnd()}
        onInput={event => keep(event.currentTarget.value)}
      />
    </div>
  )
}
