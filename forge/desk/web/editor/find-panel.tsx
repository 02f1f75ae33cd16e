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
  searchPanelOpen,
  setSearchQuery,
} from '@codemirror/search'
import {
  type ChangeSpec,
  EditorState,
  type Extension,
  Facet,
  type SelectionRange,
  StateEffect,
  StateField,
  Transaction,
} from '@codemirror/state'
import {
  type Command,
  Decoration,
  type DecorationSet,
  EditorView,
  type Panel,
  runScopeHandlers,
  type ViewUpdate,
} from '@codemirror/view'
import { batch, type Signal, signal } from '@preact/signals'
import { render } from 'preact'
import { FIND_KEYS } from '../ui/find-keys.ts'
import { keysOf } from '../ui/keys.ts'
import { withCaseOf } from '../ui/letter-case.ts'
import { digits, plural } from '../ui/times.ts'
import { Button, IconButton, Toggle, withKeys } from '../ui/words.tsx'

/** More matches than these are not counted. */
const MAX_COUNTED_MATCHES = 999
/** Matches are counted this many milliseconds after the last change of the text. */
const COUNT_DELAY_MS = 100
/** A longer selection is not what is searched for. */
const MAX_SELECTED_CHARACTERS = 100

/** The scope of the editor's keys that also work while a button of the panel has the focus. */
export const FIND_BUTTONS = 'find-buttons'

/** The editor's state that the panel shows: the search, and whether the text is read-only. */
interface Found {
  query: Signal<SearchQuery>
  words: Signal<string>
  isReadOnly: Signal<boolean>
  isInCase: Signal<boolean>
  /** How many matches were just replaced, in words: shown until the next change. */
  replaced?: string | undefined
}

/** Sets the part of the text in which is searched, as a decoration; none: in all of it. */
const setScope = StateEffect.define<DecorationSet>()
const SCOPE = Decoration.mark({ class: 'find-scope', inclusiveStart: true, inclusiveEnd: true })

const scope = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (value, { changes, effects }) => effects.find(effect => effect.is(setScope))?.value ?? value.map(changes),
  provide: field => EditorView.decorations.from(field),
})

const setPreservesCase = StateEffect.define<boolean>()

/** Whether each replacement has the case of its match. */
const preservesCase = StateField.define<boolean>({
  create: () => false,
  update: (value, { effects }) => effects.find(effect => effect.is(setPreservesCase))?.value ?? value,
})

/** CodeMirror's replacements, in the case of their matches. */
const replacedInCase = EditorState.transactionFilter.of(transaction => {
  const { startState, selection, effects } = transaction
  const userEvent = transaction.annotation(Transaction.userEvent)
  if (userEvent === undefined || !transaction.isUserEvent('input.replace') || !startState.field(preservesCase))
    return transaction
  const changes: ChangeSpec[] = []
  transaction.changes.iterChanges((from, to, _from, _to, given) => {
    const replacement = given.toString()
    const insert = withCaseOf(startState.sliceDoc(from, to), replacement)
    // Another length, as of ß in upper case, would move what is selected next.
    changes.push({ from, to, insert: startState.toText(insert.length === replacement.length ? insert : replacement) })
  }, true)
  return { changes, effects, userEvent, ...(selection && { selection }) }
})

/** The user event of going to a match while the words are typed. */
const GOES_TO_TYPED = 'select.search.typed'

/** Where the search for typed words begins: at the cursor, but not at a match of the words so far. */
const searchStart = StateField.define<number>({
  create: ({ selection }) => selection.main.from,
  update: (start, transaction) => {
    const { selection, changes } = transaction
    return selection && !transaction.isUserEvent(GOES_TO_TYPED) ? selection.main.from : changes.mapPos(start)
  },
})

/** What was selected last by other means than this panel, whose matches are selected one after the other. */
const ownSelection = StateField.define<SelectionRange>({
  create: ({ selection }) => selection.main,
  update: (own, transaction) => {
    const { selection, changes } = transaction
    const isOfPanel = transaction.isUserEvent('select.search') || transaction.isUserEvent('input.replace')
    return selection && !isOfPanel ? selection.main : own.map(changes)
  },
})

export const findPanel: Extension = [
  search({ top: true, createPanel: makePanel }),
  searchStart,
  ownSelection,
  scope,
  preservesCase,
  replacedInCase,
]

/** Opens the panel, or goes to it. Text that is selected in one line is what is searched for. */
export const openFind: Command = view => {
  const { state } = view
  const before = getSearchQuery(state)
  const { from, to } = state.selection.main
  const isTaken = view.hasFocus && from < to && to - from <= MAX_SELECTED_CHARACTERS
  const selected = isTaken ? state.sliceDoc(from, to) : ''
  openSearchPanel(view)
  // CodeMirror would search for the selection unescaped in a regular expression too, and drop the replacement.
  const search = before.regexp ? escaped(selected) : selected
  const next = changed(before, selected === '' || selected.includes('\n') ? {} : { search })
  view.dispatch({ effects: setSearchQuery.of(next) })
  const field = view.dom.querySelector<HTMLInputElement>('.find-panel [name="search"]')
  if (!field) return true
  // The panel draws a new text only later.
  field.value = next.search
  field.select()
  return true
}

/** Escapes the characters of a text that have a meaning in a regular expression. */
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** A search with some of its settings changed. */
function changed(query: SearchQuery, changes: Partial<ConstructorParameters<typeof SearchQuery>[0]>): SearchQuery {
  const { search, replace, caseSensitive, regexp, wholeWord, test } = query
  const fields = { search, replace, caseSensitive, regexp, wholeWord, test: test ?? isEditable, ...changes }
  // A backslash stands for itself, except in a regular expression and its replacement.
  return new SearchQuery({ ...fields, literal: !fields.regexp })
}

/** Tells of a range whether it can be edited: matches elsewhere, as in the block of a conflict, are not found. */
export const editableRanges = Facet.define<(state: EditorState, from: number, to: number) => boolean>()

function isEditable(_: string, state: EditorState, from: number, to: number): boolean {
  return state.facet(editableRanges).every(isIn => isIn(state, from, to))
}

/** Whether a match is in the part of the text in which is searched. */
function isInScope(words: string, state: EditorState, from: number, to: number): boolean {
  if (!isEditable(words, state, from, to)) return false
  let isInside = false
  state.field(scope).between(from, to, (start, end) => {
    if (start <= from && to <= end) isInside = true
  })
  return isInside
}

/**
 * Searches in the selection alone, or in the line of the cursor where nothing is selected. A selection that is a match
 * is what is searched for, and no place to search in.
 */
function findInSelection(view: EditorView): void {
  const { state } = view
  const query = getSearchQuery(state)
  const own = state.field(ownSelection)
  const { from, to } = own.empty || isMatch(query, state, own) ? state.doc.lineAt(state.selection.main.head) : own
  if (from === to) return
  view.dispatch({
    effects: [
      setScope.of(Decoration.set([SCOPE.range(from, to)])),
      setSearchQuery.of(changed(query, { test: isInScope })),
    ],
  })
}

function isMatch(query: SearchQuery, state: EditorState, { from, to }: SelectionRange): boolean {
  if (query.search === '' || !query.valid) return false
  const { value, done } = query.getCursor(state, from, to).next()
  return !done && value.from === from && value.to === to
}

function findEverywhere(view: EditorView): void {
  const { search, replace, caseSensitive, regexp, wholeWord, literal } = getSearchQuery(view.state)
  const query = new SearchQuery({ search, replace, caseSensitive, regexp, wholeWord, literal, test: isEditable })
  view.dispatch({ effects: [setScope.of(Decoration.none), setSearchQuery.of(query)] })
}

function makePanel(view: EditorView): Panel {
  const dom = document.createElement('div')
  dom.className = 'find-host'
  dom.addEventListener('keydown', event => {
    // The fields have an undo of their own.
    const isField = event.target instanceof HTMLInputElement
    const scopes = isField ? ['search-panel'] : ['search-panel', FIND_BUTTONS]
    if (scopes.some(name => runScopeHandlers(view, event, name))) event.preventDefault()
  })
  const found: Found = {
    query: signal(getSearchQuery(view.state)),
    words: signal(countWords(view.state)),
    isReadOnly: signal(view.state.readOnly),
    isInCase: signal(view.state.field(preservesCase)),
  }
  const { query, words, isReadOnly, isInCase } = found
  render(<FindPanel view={view} found={found} />, dom)
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    dom,
    top: true,
    // A panel that was open is drawn again with its file, and leaves the focus where it is.
    mount: () => {
      if (view.hasFocus) dom.querySelector<HTMLInputElement>('[name="search"]')?.select()
    },
    destroy: () => {
      clearTimeout(timer)
      render(null, dom)
      // Not where the whole editor goes. An update can't begin another one.
      if (!searchPanelOpen(view.state)) queueMicrotask(() => findEverywhere(view))
    },
    update: ({ state, docChanged, selectionSet }: ViewUpdate) => {
      const next = getSearchQuery(state)
      const isOther = !next.eq(query.peek())
      if (docChanged || selectionSet || isOther) {
        clearTimeout(timer)
        const { replaced } = found
        found.replaced = undefined
        timer = setTimeout(
          () => {
            words.value = replaced ?? countWords(view.state)
          },
          isOther ? 0 : COUNT_DELAY_MS,
        )
      }
      batch(() => {
        if (isOther) query.value = next
        isReadOnly.value = state.readOnly
        isInCase.value = state.field(preservesCase)
      })
    },
  }
}

/** The number of the selected match. */
const shownAt = (at: number): string => (at === 0 ? '?' : digits(at))

/** Which of the matches is selected, and how many there are. */
function countWords(state: EditorState): string {
  const query = getSearchQuery(state)
  if (query.search === '') return ''
  if (!query.valid) return 'Invalid regular expression'
  const { from, to } = state.selection.main
  const cursor = query.getCursor(state)
  let [count, at] = [0, 0]
  for (let next = cursor.next(); !next.done; next = cursor.next()) {
    if (count === MAX_COUNTED_MATCHES) return `${shownAt(at)} of ${digits(MAX_COUNTED_MATCHES)}+`
    count++
    if (next.value.from === from && next.value.to === to) at = count
  }
  return count === 0 ? 'No results' : `${shownAt(at)} of ${digits(count)}`
}

/** Replaces all matches. The panel then says how many there were, and not that none is left. */
function replaceEach(view: EditorView, found: Found): void {
  const query = getSearchQuery(view.state)
  if (query.search === '' || !query.valid) return
  const cursor = query.getCursor(view.state)
  let count = 0
  for (let next = cursor.next(); !next.done; next = cursor.next()) count++
  found.replaced = count > 0 ? `${plural(count, 'match', 'matches')} replaced` : undefined
  replaceAll(view)
}

function FindPanel({ view, found }: { view: EditorView; found: Found }) {
  const { query, words, isReadOnly, isInCase } = found
  const { value: shown } = query
  const isInSelection = shown.test === isInScope
  const change = (changes: Partial<ConstructorParameters<typeof SearchQuery>[0]>) => {
    const next = changed(query.peek(), changes)
    if (next.eq(query.peek())) return
    view.dispatch({ effects: setSearchQuery.of(next) })
    if (!('replace' in changes)) goToNearest(view)
  }
  const toggleCase = () => change({ caseSensitive: !query.peek().caseSensitive })
  const toggleRegex = () => change({ regexp: !query.peek().regexp })
  const replaceThem = () => replaceEach(view, found)
  const byKeys = new Map<string, () => void>([
    [FIND_KEYS.matchCase, toggleCase],
    [FIND_KEYS.isRegex, toggleRegex],
    ...(isReadOnly.value ? [] : [[FIND_KEYS.replaceAll, replaceThem] as const]),
  ])
  const isBad = words.value === 'No results' || !shown.valid
  return (
    // The fields come first, so that Tab leads from the first one to the second.
    <search
      class="find-panel"
      aria-label="Find in the file"
      onKeyDown={event => {
        const run = byKeys.get(keysOf(event))
        if (!run || event.isComposing) return
        event.preventDefault()
        run()
      }}
    >
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
          const keys = keysOf(event)
          if (!/^(Shift\+)?Enter$/.test(keys) || event.isComposing) return
          event.preventDefault()
          ;(keys === 'Enter' ? findNext : findPrevious)(view)
        }}
      />
      {isReadOnly.value ? null : (
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
            if (keysOf(event) !== 'Enter' || event.isComposing) return
            event.preventDefault()
            replaceNext(view)
          }}
        />
      )}
      <div class="find-rest">
        <Toggle
          words="Match case"
          short="Aa"
          keys={FIND_KEYS.matchCase}
          isOn={shown.caseSensitive}
          toggle={toggleCase}
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
          keys={FIND_KEYS.isRegex}
          isOn={shown.regexp}
          toggle={toggleRegex}
        />
        <Toggle
          words="Find in selection"
          short="[ ]"
          isOn={isInSelection}
          toggle={() => (isInSelection ? findEverywhere : findInSelection)(view)}
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
        <div class="find-rest of-replace">
          <IconButton
            icon="case-upper"
            words="Preserve case"
            isPressed={isInCase.value}
            onClick={() => view.dispatch({ effects: setPreservesCase.of(!isInCase.peek()) })}
          />
          <Button look="small" words="Replace" onClick={() => replaceNext(view)} />
          <Button
            look="small"
            words="Replace all"
            title={withKeys('Replace all', FIND_KEYS.replaceAll)}
            onClick={replaceThem}
          />
        </div>
      )}
    </search>
  )
}

/** Selects the match at the start of the search or the first one after it, and nothing where there is none. */
function goToNearest(view: EditorView): void {
  const query = getSearchQuery(view.state)
  if (query.search === '' || !query.valid) return
  const after = query.getCursor(view.state, view.state.field(searchStart)).next()
  const first = after.done ? query.getCursor(view.state).next() : after
  if (first.done) return
  const { from: anchor, to: head } = first.value
  view.dispatch({
    selection: { anchor, head },
    effects: EditorView.scrollIntoView(anchor, { y: 'nearest', yMargin: 60 }),
    userEvent: GOES_TO_TYPED,
  })
}
