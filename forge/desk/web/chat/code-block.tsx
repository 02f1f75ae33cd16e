/** A block of code in an answer, coloured as in the editor, with a button to copy it. */
import { Text } from '@codemirror/state'
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { copy } from '../page/actions.ts'
import { usePage } from '../page/state.ts'
import { type Colours, coloursOf, piecesOf } from '../ui/coloured.ts'
import { Icon } from '../ui/icons.tsx'
import { visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { useShown } from '../ui/use-shown.ts'

/** Names of languages that differ from the ending of their files. */
const ENDINGS: Record<string, string> = {
  typescript: 'ts',
  javascript: 'js',
  python: 'py',
  ruby: 'rb',
  rust: 'rs',
  golang: 'go',
  'c++': 'cpp',
  'c#': 'cs',
  csharp: 'cs',
  kotlin: 'kt',
  shell: 'sh',
  console: 'sh',
  'objective-c': 'm',
  powershell: 'ps1',
  haskell: 'hs',
  perl: 'pl',
}

/** The interval between colourings while code is arriving, in milliseconds. */
const COLOUR_DELAY_MS = 150
const MAX_LINES = 1_000
const MAX_LINE_LENGTH = 2_000
const NO_COLOURS: Colours = new Map()

interface Props {
  text: string
  /** The info string of the code block: ts, or ts src/lease.ts. */
  language: string
  isLive: boolean
}

export function CodeBlock({ text, language, isLive }: Props) {
  const page = usePage()
  const { isShown, show } = useShown()
  const document = useMemo(() => Text.of(text.split('\n')), [text])
  const [name = ''] = language.split(/[\s{:,]/)
  const colours = useColours(fileNameOf(name), document, isLive)
  const count = isShown ? document.lines : Math.min(document.lines, MAX_LINES)
  const hidden = document.lines - count
  return (
    <figure class="code-block">
      <figcaption>
        <span class="cut grow">{visible(language.slice(0, 100))}</span>
        <button type="button" class="button quiet small" onClick={() => copy(page, text)}>
          <Icon name="copy" />
          Copy
        </button>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <pre tabIndex={0}>
        <code>
          {Array.from({ length: count }, (_, index) => (
            <Line key={index} text={document.line(index + 1).text} spans={colours.get(index + 1)} />
          ))}
        </code>
      </pre>
      {hidden > 0 ? (
        <button type="button" class="fold" onClick={show}>
          {plural(hidden, 'more line')}: show them
        </button>
      ) : null}
    </figure>
  )
}

function Line({ text, spans }: { text: string; spans: Parameters<typeof piecesOf>[1] }) {
  return useMemo(() => {
    const cut = text.slice(0, MAX_LINE_LENGTH)
    const rest = text.length - cut.length
    return (
      <span class="code-line">
        {piecesOf(cut, spans, []).map((piece, index) => {
          return piece.look ? (
            <span key={index} class={piece.look}>
              {visible(piece.text)}
            </span>
          ) : (
            visible(piece.text)
          )
        })}
        {rest > 0 ? <span class="meta"> … {plural(rest, 'more character')}</span> : null}
        {'\n'}
      </span>
    )
  }, [text, JSON.stringify(spans)])
}

function fileNameOf(language: string): string {
  const name = language.toLowerCase()
  const ending = Object.hasOwn(ENDINGS, name) ? ENDINGS[name] : name
  return ending === 'dockerfile' ? 'dockerfile' : `code.${ending}`
}

/** The colours of a text. While they are computed, those of the previous text are returned. */
function useColours(fileName: string, document: Text, isLive: boolean): Colours {
  const colours = useSignal(NO_COLOURS)
  const last = useRef(0)
  useEffect(() => {
    let isStale = false
    const wait = isLive ? Math.max(0, last.current + COLOUR_DELAY_MS - Date.now()) : 0
    const timer = setTimeout(async () => {
      last.current = Date.now()
      const made = await coloursOf(fileName, document)
      if (!isStale) colours.value = made
    }, wait)
    return () => {
      isStale = true
      clearTimeout(timer)
    }
  }, [fileName, document, isLive, colours])
  return colours.value
}
