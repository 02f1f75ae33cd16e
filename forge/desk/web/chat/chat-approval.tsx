/**
 * The dialog to review a tool of the repository before it may run: its source, and the changes since it was approved.
 */
import { type Signal, useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Approval } from '../../contract/chat.ts'
import { type Tab, usePage } from '../page/state.ts'
import { DiffView } from '../review/diff-view.tsx'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Icon } from '../ui/icons.tsx'
import { baseName, readable } from '../ui/names.ts'
import { onTabKeys } from '../ui/tab-keys.ts'
import { digits } from '../ui/times.ts'
import { Button, Path } from '../ui/words.tsx'
import { decideOnTool } from './chat-actions.ts'
import { CodeBlock } from './code-block.tsx'

export function ApprovalDialog({ tab, path, close }: { tab: Tab; path: string; close: () => void }) {
  const approval = tab.conversation.approvals.find(one => one.path === path)
  // Why the last approval or refusal failed; it stays when another source of the tool is shown.
  const problem = useSignal<string | undefined>(undefined)
  // The tool was approved or refused in another window, or the turn has ended.
  if (!approval) {
    return (
      <DialogFrame title="No tool needs your review" close={close} look="narrow">
        <div class="dialog-body">
          <p>{readable(path)} needs no review now.</p>
        </div>
        <footer>
          <span class="grow" />
          <CloseButton words="Close" isFirst close={close} />
        </footer>
      </DialogFrame>
    )
  }
  return <Looking key={approval.oid} tab={tab} approval={approval} problem={problem} close={close} />
}

type LookingProps = { tab: Tab; approval: Approval; problem: Signal<string | undefined>; close: () => void }

function Looking({ tab, approval, problem, close }: LookingProps) {
  const page = usePage()
  const safe = useRef<HTMLButtonElement>(null)
  const { before, source, path } = approval
  const showsChange = useSignal(before !== undefined)
  const count = useSignal({ added: 0, deleted: 0 })
  const isBusy = useSignal(false)
  useLayoutEffect(() => safe.current?.focus(), [])
  const name = readable(baseName(path)).replace(/\.ts$/, '')
  const decide = async (isApproved: boolean) => {
    if (isBusy.peek()) return
    isBusy.value = true
    try {
      await decideOnTool(page, tab, approval, isApproved)
      close()
    } catch (error) {
      problem.value = (error as Error).message
    }
    isBusy.value = false
  }
  return (
    <DialogFrame title={`Let the AI use the ${before === undefined ? 'new' : 'changed'} tool ${name}?`} close={close}>
      <p class="dialog-lede">
        {before === undefined
          ? `${readable(path)} was not approved by you before.`
          : `${readable(path)} is not what you approved.`}
      </p>
      <ul class="can">
        <li>
          <Icon name="check" tone="is-ok" />
          It may read and write this branch’s files, as a part of the turn.
        </li>
        <li>
          <Icon name="x" tone="is-bad" />
          No network, no other files, no processes; 64 MB and 10 seconds.
        </li>
      </ul>
      <div class="diff-head">
        <Path of={path} />
        {showsChange.value ? (
          <span>
            <span class="add-n">+{digits(count.value.added)}</span>{' '}
            <span class="del-n">−{digits(count.value.deleted)}</span>
          </span>
        ) : null}
        <span class="grow" />
        {before === undefined ? null : (
          <Sides showsChange={showsChange.value} choose={is => (showsChange.value = is)} />
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <section class="diff approval-source" tabIndex={0} aria-label="Source of the tool">
        {showsChange.value ? (
          <DiffView
            path={path}
            before={before ?? ''}
            after={source}
            isSideBySide={false}
            ignoresBlanks={false}
            onCount={counted => {
              count.value = counted
            }}
          />
        ) : (
          <CodeBlock text={source} language="ts" isLive={false} />
        )}
      </section>
      <p class="dialog-problem is-bad" role="alert">
        {problem.value}
      </p>
      <footer>
        <span class="meta grow">Signed with your key, for this content alone. A later change asks again.</span>
        <button type="button" ref={safe} class="button" onClick={close}>
          Not now<kbd>Esc</kbd>
        </button>
        <Button words="Refuse" isOff={isBusy.value} onClick={() => decide(false)} />
        <Button words="Approve" look="main" isOff={isBusy.value} onClick={() => decide(true)} />
      </footer>
    </DialogFrame>
  )
}

function Sides({ showsChange, choose }: { showsChange: boolean; choose: (isChange: boolean) => void }) {
  return (
    <div class="pill-tabs" role="tablist" aria-label="View" onKeyDown={onTabKeys}>
      {[true, false].map(isChange => (
        <button
          key={String(isChange)}
          type="button"
          role="tab"
          aria-selected={showsChange === isChange}
          tabIndex={showsChange === isChange ? 0 : -1}
          onClick={() => choose(isChange)}
        >
          {isChange ? 'What changed' : 'Whole source'}
        </button>
      ))}
    </div>
  )
}
