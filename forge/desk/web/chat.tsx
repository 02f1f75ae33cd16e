/** The AI chat of a branch, for as long as no model is set up: it says what to set. */
import { useSignal } from '@preact/signals'
import { copy } from './actions.ts'
import { Icon, type IconName } from './icons.tsx'
import { readable } from './names.ts'
import { type Tab, usePage } from './state.ts'
import { Empty } from './words.tsx'

const WAYS: { icon: IconName; setting: string; words: string }[] = [
  { icon: 'key', setting: 'ANTHROPIC_API_KEY=', words: 'Anthropic, directly' },
  { icon: 'key', setting: 'OPENROUTER_API_KEY=', words: 'Any provider, and what a turn cost' },
  { icon: 'cpu', setting: 'OPENAI_BASE_URL=http://localhost:11434/v1', words: 'A model on this machine; no key' },
]

export function Chat({ tab }: { tab: Tab }) {
  if (tab.at.kind === 'commit') {
    return (
      <Empty title="No conversation in this commit">
        <p class="lede">A branch that begins here can have one.</p>
      </Empty>
    )
  }
  return (
    <>
      <Empty title="The chat needs a model">
        <p class="lede">
          Put one of these into <code class="ic">~/.config/forge/forge.env</code>, or into the environment. Everything
          but the chat works without.
        </p>
        <div class="ways">
          {WAYS.map(way => (
            <Way key={way.setting} {...way} />
          ))}
        </div>
        <p class="meta after">Keys stay in the desk’s process: never in the browser, a commit or a log.</p>
      </Empty>
      <Composer branch={tab.at.branch} />
    </>
  )
}

function Way({ icon, setting, words }: { icon: IconName; setting: string; words: string }) {
  const page = usePage()
  return (
    <button type="button" class="way" onClick={() => copy(page, setting)}>
      <Icon name={icon} size="m" />
      <span>
        <span class="strong var">{setting.endsWith('=') ? `${setting}…` : setting}</span>
        <span class="meta">{words}</span>
      </span>
      <span class="meta row">
        <Icon name="copy" />
        Copy
      </span>
    </button>
  )
}

function Composer({ branch }: { branch: string }) {
  const words = useSignal('')
  return (
    <form class="compose" aria-label="Message to the AI" onSubmit={event => event.preventDefault()}>
      <div class="compose-box">
        <textarea
          aria-label="Message"
          aria-describedby="no-model"
          placeholder={`What should change on ${readable(branch)}?`}
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value
          }}
        />
        <div class="compose-bar">
          <span class="meta" id="no-model">
            No model yet.
          </span>
          <span class="grow" />
          <button type="submit" class="button main send" aria-disabled="true">
            Send
          </button>
        </div>
      </div>
    </form>
  )
}
