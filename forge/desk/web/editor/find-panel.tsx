/**
 * Find and replace in the file that is shown: the same fields and buttons as everywhere, with how many matches there
 * are.
 */
import {
  closeSearchPanel,
  findNext,
  findPrevious,
  getSearchQuery,
  openSearchPanel,
  replaceAll,
  replaceNext,
  SearchQuery,
  search,
  setSearchQuery,
} from '@codemirror/search'
import { type EditorState, type Extension, Prec } from '@codemirror/state'
import { EditorView, keymap, type Panel, runScopeHandlers, type ViewUpdate } from '@codemirror/view'
import { batch, type Signal, signal } from '@preact/signals'
import { render } from 'preact'
import { Button, IconButton, Toggle } from '../ui/words.tsx'

/** More matches than these are not counted. */
const MAX_COUNTED_MATCHES = 999
/** A longer selection is not searched for. */
const MAX_SOUGHT_CHARS = 100
/** Matches are counted this many milliseconds after the last change of the text. */
const COUNT_DELAY_MS = 100

/** The editor's state that the panel shows: the search, and whether the text is read-only. */
interface Found {
  query: Signal<SearchQuery>
  words: Signal<string>
  isReadOnly: Signal<boolean>
}

export const findPanel: Extension = [
  search({ top: true, createPanel: makePanel }),
  Prec.high(keymap.of([{ key: 'Mod-f', run: find, scope: 'editor search-panel' }])),
]

/** Opens the panel with the selected text, or focuses it; what is in its field is selected. */
function find(view: EditorView): boolean {
  const { main } = view.state.selection
  const selected = view.state.sliceDoc(main.from, main.to)
  const isSought = view.hasFocus && selected !== '' && selected.length <= MAX_SOUGHT_CHARS && !selected.includes('\n')
  openSearchPanel(view)
  const query = getSearchQuery(view.state)
  // A selected text is not an expression.
  if (isSought && query.regexp) {
    const search = selected.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')
    view.dispatch({ effects: setSearchQuery.of(new SearchQuery({ ...query, search })) })
  }
  const field = view.dom.querySelector<HTMLInputElement>('.find-panel [name="search"]')
  if (!field) return true
  // The panel renders it later, when the next letter may have been typed.
  field.value = getSearchQuery(view.state).search
  field.select()
  return true
}

function makePanel(view: EditorView): Panel {
  const dom = document.createElement('div')
  dom.className = 'find-host'
  dom.addEventListener('keydown', event => {
    if (runScopeHandlers(view, event, 'search-panel')) event.preventDefault()
  })
  const found: Found = {
    query: signal(getSearchQuery(view.state)),
    words: signal(countWords(view.state)),
    isReadOnly: signal(view.state.readOnly),
  }
  const { query, words, isReadOnly } = found
  render(<FindPanel view={view} found={found} />, dom)
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    dom,
    top: true,
    mount: () => dom.querySelector<HTMLInputElement>('[name="search"]')?.select(),
    destroy: () => {
      clearTimeout(timer)
      render(null, dom)
    },
    update: ({ state, docChanged, selectionSet }: ViewUpdate) => {
      const next = getSearchQuery(state)
      const isOther = !next.eq(query.peek())
      if (docChanged || selectionSet || isOther) {
        clearTimeout(timer)
        timer = setTimeout(
          () => {
            words.value = countWords(view.state)
          },
          isOther ? 0 : COUNT_DELAY_MS,
        )
      }
      batch(() => {
        if (isOther) query.value = next
        isReadOnly.value = state.readOnly
      })
    },
  }
}

/** Which of the matches is selected, and how many there are. */
function countWords(state: EditorState): string {
  const query = getSearchQuery(state)
  if (query.search === '') return ''
  if (!query.valid) return 'Invalid regular expression'
  const { from, to } = state.selection.main
  const cursor = query.getCursor(state)
  let [count, at] = [0, 0]
  for (let next = cursor.next(); !next.done; next = cursor.next()) {
    if (count === MAX_COUNTED_MATCHES) return `${at || '?'} of ${MAX_COUNTED_MATCHES}+`
    count++
    if (next.value.from === from && next.value.to === to) at = count
  }
  return count === 0 ? 'No results' : `${at || '?'} of ${count}`
}

function FindPanel({ view, found }: { view: EditorView; found: Found }) {
  const { query, words, isReadOnly } = found
  const { value: shown } = query
  const change = (changes: Partial<ConstructorParameters<typeof SearchQuery>[0]>) => {
    const { search, replace, caseSensitive, regexp, wholeWord } = query.peek()
    const fields = { search, replace, caseSensitive, regexp, wholeWord, ...changes }
    // A backslash stands for itself, except in a regular expression and its replacement.
    const next = new SearchQuery({ ...fields, literal: !fields.regexp })
    if (next.eq(query.peek())) return
    view.dispatch({ effects: setSearchQuery.of(next) })
    if (!('replace' in changes)) goToNearest(view)
  }
  const isBad = words.value === 'No results' || !shown.valid
  return (
    <search class="find-panel" aria-label="Find in the file">
      <div class="find-row">
        <input
          class="field"
          name="search"
          // CodeMirror focuses the field with this attribute when the panel opens.
          main-field="true"
          aria-label="Find"
          placeholder="Find"
          autocomplete="off"
          spellcheck={false}
          value={shown.search}
          onInput={event => change({ search: event.currentTarget.value })}
          onKeyDown={event => {
            if (event.key !== 'Enter' || event.isComposing) return
            event.preventDefault()
            ;(event.shiftKey ? findPrevious : findNext)(view)
          }}
        />
        <Toggle
          words="Match case"
          short="Aa"
          isOn={shown.caseSensitive}
          toggle={() => change({ caseSensitive: !shown.caseSensitive })}
        />
        <IconButton
          icon="whole-word"
          words="Match whole word"
          isPressed={shown.wholeWord}
          onClick={() => change({ wholeWord: !shown.wholeWord })}
        />
        <Toggle
          words="Regular expression"
          short=".*"
          isOn={shown.regexp}
          toggle={() => change({ regexp: !shown.regexp })}
        />
        <span class={`meta count ${isBad ? 'is-bad' : ''}`} role="status">
          {words}
        </span>
        <IconButton icon="arrow-up" words="Previous match" keys="Shift+F3" onClick={() => findPrevious(view)} />
        <IconButton icon="arrow-down" words="Next match" keys="F3" onClick={() => findNext(view)} />
        <span class="grow" />
        <IconButton icon="x" words="Close" keys="Escape" onClick={() => closeSearchPanel(view)} />
      </div>
      {isReadOnly.value ? null : (
        <div class="find-row">
          <input
            class="field"
            name="replace"
            aria-label="Replace"
            placeholder="Replace"
            autocomplete="off"
            spellcheck={false}
            value={shown.replace}
            onInput={event => change({ replace: event.currentTarget.value })}
            onKeyDown={event => {
              if (event.key !== 'Enter' || event.isComposing) return
              event.preventDefault()
              replaceNext(view)
            }}
          />
          <Button look="small" words="Replace" onClick={() => replaceNext(view)} />
          <Button look="small" words="Replace all" onClick={() => replaceAll(view)} />
        </div>
      )}
    </search>
  )
}

/** Selects the match at the cursor or the first one after it, and nothing where there is none. */
function goToNearest(view: EditorView): void {
  const query = getSearchQuery(view.state)
  if (query.search === '' || !query.valid) return
  const { from } = view.state.selection.main
  const after = query.getCursor(view.state, from).next()
  const first = after.done ? query.getCursor(view.state).next() : after
  if (first.done) return
  const { from: anchor, to: head } = first.value
  view.dispatch({
    selection: { anchor, head },
    effects: EditorView.scrollIntoView(anchor, { y: 'nearest', yMargin: 60 }),
    userEvent: 'select.search',
  })
}
