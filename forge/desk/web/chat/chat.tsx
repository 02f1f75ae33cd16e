/** The AI chat of a branch or a commit: the conversation, or the settings to make if there is no model. */

import { useEffect, useLayoutEffect } from 'preact/hooks'
import { copy } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import { findActions } from '../page/desk-actions.ts'
import { usePlace } from '../page/places.ts'
import { type Tab, usePage } from '../page/state.ts'
import { tabActions } from '../page/tab-actions.ts'
import { Failed } from '../ui/failed.tsx'
import { isFocusLost } from '../ui/focus.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { readable, shortId, withoutTricks } from '../ui/names.ts'
import { ActionWay, Empty, IconButton } from '../ui/words.tsx'
import { chatActions } from './chat-commands.ts'
import { ChatPane } from './chat-pane.tsx'

/** Ways to set up a model. Each needs two settings: the provider's key or address, and the model. */
const WAYS: { icon: IconName; setting: string; model: string; words: string }[] = [
  { icon: 'key', setting: 'ANTHROPIC_API_KEY=', model: 'anthropic/NAME', words: 'Anthropic, directly' },
  {
    icon: 'key',
    setting: 'OPENROUTER_API_KEY=',
    model: 'openrouter/VENDOR/NAME',
    words: 'Any provider, and what a turn cost',
  },
  {
    icon: 'cpu',
    setting: 'OPENAI_BASE_URL=http://localhost:11434/v1',
    model: 'openai/NAME',
    words: 'A model on this machine; no key',
  },
]

export function ChatView({ tab }: { tab: Tab }) {
  const { head, problem, sections } = tab.conversation
  if (!head.value && problem.value !== undefined) {
    const again = () => tab.conversation.refresh()
    return <Failed title="The conversation cannot be shown" problem={problem.value} again={again} />
  }
  // While the conversation is loading, the field already takes text.
  if (!head.value) return <ChatPane tab={tab} isDocked={false} />
  if (tab.at.kind === 'commit' && sections.value.length === 0) return <Start tab={tab} />
  const hasStuck = tab.merging.latest.value?.forklift?.stuck !== undefined
  const isFirst =
    head.value.missing !== undefined && sections.value.length === 0 && tab.at.kind === 'branch' && !hasStuck
  if (!isFirst) return <ChatPane tab={tab} isDocked={false} />
  if (!tab.composer.isWanted.value) return <Start tab={tab} />
  const { missing: words = '', areSettingsWrong: isWrong = false } = head.value
  return <NoModel tab={tab} branch={branchOf(tab) ?? ''} words={words} isWrong={isWrong} />
}

/** The chat beside the editor. */
export function DockedChat({ tab }: { tab: Tab }) {
  const page = usePage()
  return (
    <aside class="dock" aria-label="AI chat">
      <div class="side-head">
        <h2 class="grow">AI chat</h2>
        <IconButton
          icon="x"
          words="Move the chat to its tab"
          keys={chatActions.dock.keys}
          onClick={() => page.dock(false)}
        />
      </div>
      {tab.conversation.head.value ? <ChatPane tab={tab} isDocked={true} /> : null}
    </aside>
  )
}

/**
 * Shown instead of a chat, for a commit without a conversation or a branch without a model: buttons that find files and
 * show the review or the history.
 */
function Start({ tab }: { tab: Tab }) {
  const page = usePage()
  const branch = branchOf(tab)
  const about = { page, tab }
  const first = usePlace<HTMLButtonElement>('home')
  // Until it is known that there is no model, the message field of the chat has the focus, and leaves with it.
  useLayoutEffect(() => {
    if (isFocusLost()) first.current?.focus()
  }, [])
  const { goToFile, findInFiles } = findActions
  const { review, history } = tabActions
  return (
    <Empty title={tab.at.kind === 'commit' ? shortId(tab.at.commit) : readable(tab.at.branch)}>
      {branch === undefined ? (
        <p class="lede">This commit has no conversation. Its files are in the explorer.</p>
      ) : (
        <p class="lede cut">{withoutTricks(page.branch(branch)?.subject ?? '')}</p>
      )}
      <div class="ways">
        <ActionWay action={goToFile} about={page} words="By name" buttonRef={first} />
        <ActionWay action={findInFiles} about={page} words="Words or a regular expression" />
        <ActionWay
          action={review}
          about={about}
          words={branch === undefined ? 'What this commit changes' : 'What this branch changes'}
        />
        <ActionWay
          action={history}
          about={about}
          words={branch === undefined ? 'This commit and those before it' : 'The commits of this branch'}
        />
        {branch === undefined ? null : <SetUp tab={tab} />}
      </div>
    </Empty>
  )
}

function SetUp({ tab }: { tab: Tab }) {
  const page = usePage()
  const isWrong = tab.conversation.head.value?.areSettingsWrong
  const setUp = () => {
    tab.composer.isWanted.value = true
    page.wantFocus()
  }
  return (
    <button type="button" class="way" onClick={setUp}>
      <Icon name="bot" size="m" />
      <span>
        <span class="strong">Set up the AI chat…</span>
        <span class="meta">
          {isWrong ? 'One of its settings is not valid' : 'It needs a model; everything else works without'}
        </span>
      </span>
      <span />
    </button>
  )
}

/** Time between two checks whether a model has been set up, in milliseconds. */
const LOOK_AGAIN_MS = 3_000

interface NoModelProps {
  tab: Tab
  branch: string
  words: string
  /** Whether a setting is not valid. Otherwise, one is to be made. */
  isWrong: boolean
}

function NoModel({ tab, branch, words, isWrong }: NoModelProps) {
  // The server reads forge.env again for each answer; no news tells that it has changed.
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') tab.conversation.refresh()
    }
    const timer = setInterval(look, LOOK_AGAIN_MS)
    return () => clearInterval(timer)
  }, [tab])
  return (
    <>
      <Empty title={isWrong ? 'A setting of the AI is not valid' : 'The chat needs a model'}>
        <p class="lede">
          {withoutTricks(words)} A change of that file is noticed within seconds, one of the environment at the next
          start of the desk. Everything but the chat works until then.
        </p>
        {isWrong ? null : <Ways />}
        <p class="meta after">Keys stay in the desk’s process: never in the browser, a commit or a log.</p>
      </Empty>
      <NoComposer tab={tab} branch={branch} />
    </>
  )
}

function Ways() {
  return (
    <>
      <p class="meta after">The file needs the mode 600 (chmod 600) and the two lines of one of these:</p>
      <div class="ways">
        {WAYS.map(way => (
          <Way key={way.setting} {...way} />
        ))}
      </div>
    </>
  )
}

function Way({ icon, setting, model, words }: (typeof WAYS)[number]) {
  const page = usePage()
  return (
    <button type="button" class="way" onClick={() => copy(page, `${setting}\nFORGE_MODEL=${model}\n`)}>
      <Icon name={icon} size="m" />
      <span>
        <span class="strong var">{setting.endsWith('=') ? `${setting}…` : setting}</span>
        <span class="strong var">FORGE_MODEL={model}</span>
        <span class="meta">{words}</span>
      </span>
      <span class="meta row">
        <Icon name="copy" />
        Copy
      </span>
    </button>
  )
}

/** The message field without a model: the text is kept, to be sent when there is one. */
function NoComposer({ tab: { composer }, branch }: { tab: Tab; branch: string }) {
  const field = usePlace<HTMLTextAreaElement>('message')
  return (
    <form class="compose" aria-label="Message to the AI" onSubmit={event => event.preventDefault()}>
      <div class="compose-box">
        <textarea
          ref={field}
          aria-label="Message"
          aria-describedby="no-model"
          placeholder={`What should change on ${readable(branch)}?`}
          value={composer.text.value}
          onInput={event => composer.write(event.currentTarget.value)}
        />
        <div class="compose-bar">
          <span class="meta grow" id="no-model">
            What you type is kept until it can be sent.
          </span>
          <button type="submit" class="button main send" aria-disabled="true">
            Send
          </button>
        </div>
      </div>
    </form>
  )
}
