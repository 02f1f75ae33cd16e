/** The conversation of a branch or a commit, with its actions. */
import { useEffect, useRef } from 'preact/hooks'
import { nounOf, type WaitingKind } from '../../contract/merging.ts'
import { newBranch } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import { filesOf } from '../page/conversation-state.ts'
import { type Tab, usePage } from '../page/state.ts'
import { isFocusLost } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { baseName, readable, shortId, shortPath, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, Empty } from '../ui/words.tsx'
import { allowCommands, discardTurn, keepTurn, lookAtTool, stopByEscape } from './chat-actions.ts'
import { Composer } from './chat-composer.tsx'
import { ChatLog } from './chat-log.tsx'
import { ChatRail } from './chat-rail.tsx'
import { Spoken } from './chat-spoken.tsx'
import { hasLetter } from './letter.tsx'

interface Props {
  tab: Tab
  /** Whether the chat is beside an editor, where there is room for the conversation only. */
  isDocked: boolean
}

export function ChatPane({ tab, isDocked }: Props) {
  const page = usePage()
  const { conversation } = tab
  const isBusy = conversation.isBusy.value
  const branch = tab.at.kind === 'branch' ? tab.at.branch : undefined
  const isLoaded = conversation.head.value !== undefined
  const isEmpty = isLoaded && conversation.sections.value.length === 0 && !hasLetter(tab)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the key is for wherever the focus is in the chat
    <div
      class="chat"
      onKeyDown={event => {
        if (event.key !== 'Escape' || !isBusy) return
        event.preventDefault()
        stopByEscape(page, tab)
      }}
    >
      <div class="chat-main">
        {isEmpty ? <Beginning tab={tab} /> : <ChatLog tab={tab} />}
        <Spoken tab={tab} />
        {branch === undefined ? <ThenBar tab={tab} /> : null}
        {branch === undefined ? null : (
          <>
            <Unfinished tab={tab} />
            <Approvals tab={tab} />
            <Composer tab={tab} branch={branch} />
          </>
        )}
      </div>
      {isDocked || isEmpty ? null : <ChatRail tab={tab} allow={() => allowCommands(page, tab)} />}
    </div>
  )
}

function Beginning({ tab }: { tab: Tab }) {
  if (tab.at.kind === 'commit') {
    return (
      <Empty title="No conversation in this commit">
        <p class="lede">A branch that begins here can have one.</p>
      </Empty>
    )
  }
  return (
    <Empty title={`Ask for a change on ${readable(tab.at.branch)}`}>
      <p class="lede">
        The AI reads and writes this branch alone. Each turn is one commit, with the code and what was said; it can be
        undone.
      </p>
      <p class="meta after">
        Click the circle beside a file in the explorer to put the whole file in the context. Of the other files the AI
        gets a summary, and reads them when it needs them.
      </p>
    </Empty>
  )
}

/** Offers to continue the conversation up to a commit, in a new branch that begins there. */
function ThenBar({ tab }: { tab: Tab }) {
  const page = usePage()
  if (tab.at.kind === 'branch') return null
  const { commit } = tab.at
  return (
    <div class="then-bar">
      <Icon name="clock" />
      <span class="grow cut">Read-only: the conversation as of {shortId(commit)}.</span>
      <Button
        icon="branch"
        words="New branch from here"
        onClick={() => newBranch(page, { commit, words: shortId(commit) })}
      />
    </div>
  )
}

/** A turn that did not end well: what happened, what is kept, and the actions. */
function Unfinished({ tab }: { tab: Tab }) {
  const page = usePage()
  const { head, isUnfinished, sections } = tab.conversation
  const turn = head.value?.turn
  const isThere = isUnfinished.value
  const shownIn = useRef<Tab | undefined>(undefined)
  useEffect(() => {
    const wasThere = shownIn.current === tab
    shownIn.current = isThere ? tab : undefined
    // The message field is focused only if the focus was in its form, or nowhere, as after Keep.
    const composer = page.places.find('message')?.closest('form')
    const isAtComposer = composer?.contains(document.activeElement) === true
    if ((isThere && isAtComposer) || (isThere !== wasThere && isFocusLost())) tab.composer.focus()
  }, [tab, isThere])
  if (!turn || !isThere) return null
  const files = filesOf(turn)
  const count = files.length
  // The end of the log usually says already why the turn did not end well.
  const isSaid = sections.value.at(-1)?.end?.words === turn.words
  const named = files.slice(0, 3).map(path => readable(shortPath(path, files)))
  const more = count > 3 ? ` and ${count - 3} more` : ''
  return (
    <section class="notice warn strip" aria-label="The last turn was not completed">
      <Icon name="warning" size="m" />
      <div class="grow">
        <p class="strong">{isSaid ? 'The last turn was not completed.' : withoutTricks(turn.words)}</p>
        <p>
          {count === 0 ? 'No file changed.' : `${plural(count, 'file')} changed: ${named.join(', ')}${more}.`}{' '}
          {whatKeepDoes(count > 0, page.branch(branchOf(tab) ?? '')?.merging)} Undo restores either.
        </p>
      </div>
      <div class="row">
        <Button words="Keep" onClick={() => keepTurn(page, tab)} />
        <Button words="Discard" onClick={() => discardTurn(page, tab)} />
      </div>
    </section>
  )
}

/** What Keep and Discard do, as a sentence. `waiting`: the step that waits in the branch. */
function whatKeepDoes(hasFiles: boolean, waiting: WaitingKind | undefined): string {
  const discard = hasFiles ? 'Discard removes both.' : 'Discard removes this turn from it.'
  if (waiting === undefined) {
    const drafts = hasFiles ? 'turns the changes into drafts and ' : ''
    return `Keep ${drafts}saves the conversation up to here in a commit; ${discard}`
  }
  const noun = nounOf(waiting)
  const changes = hasFiles ? 'the changes and ' : ''
  return `Keep adds ${changes}the conversation up to here to the ${noun}, to be committed when it is finished; ${discard}`
}

/** The tools of the repository that wait for approval, except those of a tool call in the log. */
function Approvals({ tab }: { tab: Tab }) {
  const page = usePage()
  const approvals = tab.conversation.approvals.filter(({ call }) => call === undefined)
  if (approvals.length === 0) return null
  return (
    <section class="notice warn strip" aria-label="Tools to review">
      <Icon name="shield" size="m" />
      <div class="grow">
        <p class="strong">
          {approvals.length === 1
            ? 'A tool of the repository needs your approval'
            : `${approvals.length} tools of the repository need your approval`}
        </p>
        <p>Nothing of it runs before you approve it.</p>
      </div>
      {approvals.slice(0, 3).map(approval => (
        <Button
          key={approval.path}
          words={`Review ${readable(baseName(approval.path))}`}
          onClick={() => lookAtTool(page, approval)}
        />
      ))}
    </section>
  )
}
