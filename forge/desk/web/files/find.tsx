/** The search in all files of a branch or a commit: results as they arrive, by file. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Match } from '../../contract/reading.ts'
import { usePlace } from '../page/places.ts'
import type { TextSearch } from '../page/search.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Path, Toggle } from '../ui/words.tsx'

const ROW_HEIGHT = 24
/** Delay after the last key before a search starts, in milliseconds. */
const SEARCH_DELAY_MS = 200
/** At most this many characters of a line are shown before its first match. */
const MAX_CHARACTERS_BEFORE = 40
/** At most this many characters of a line are shown from the start of its first match on. */
const MAX_CHARACTERS_AFTER = 240

type Row = { kind: 'file'; path: string; count: number } | { kind: 'match'; match: Match }

export function Find({ tab }: { tab: Tab }) {
  const { search } = tab
  const rows = rowsOf(search.matches.value)
  return (
    <div class="finding">
      <FindBar search={search} />
      <Said search={search} files={rows.filter(({ kind }) => kind === 'file').length} />
      <Results tab={tab} rows={rows} />
    </div>
  )
}

function FindBar({ search }: { search: TextSearch }) {
  const page = usePage()
  const field = usePlace<HTMLInputElement>('search field')
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const wanted = search.focusWanted.value
  // A layout effect: letters typed right after the key are meant for the field.
  useLayoutEffect(() => {
    if (wanted === 0) return
    field.current?.focus()
    field.current?.select()
  }, [wanted])
  const start = (pause: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => search.start(), pause)
  }
  return (
    <search>
      <form
        class="review-bar"
        onSubmit={event => {
          event.preventDefault()
          start(0)
        }}
      >
        <input
          ref={field}
          class="field grow"
          aria-label="Find in files"
          placeholder="Find in files"
          autocomplete="off"
          spellcheck={false}
          value={search.words.value}
          onKeyDown={event => {
            if (event.key !== 'ArrowDown' || event.isComposing) return
            event.preventDefault()
            page.places.focus('list')
          }}
          onInput={event => {
            search.words.value = event.currentTarget.value
            start(SEARCH_DELAY_MS)
          }}
        />
        <Toggle
          words="Match case"
          short="Aa"
          isOn={search.matchCase.value}
          toggle={() => toggle(search, 'matchCase', start)}
        />
        <Toggle
          words="Regular expression"
          short=".*"
          isOn={search.isRegex.value}
          toggle={() => toggle(search, 'isRegex', start)}
        />
      </form>
    </search>
  )
}

function toggle(search: TextSearch, what: 'matchCase' | 'isRegex', start: (pause: number) => void): void {
  search[what].value = !search[what].peek()
  start(0)
}

function Said({ search, files }: { search: TextSearch; files: number }) {
  const { matches, isRunning, isCut, problem, found } = search
  const count = matches.value.length
  const words =
    problem.value ??
    (found.value === undefined
      ? 'Results come as they are found.'
      : count === 0 && !isRunning.value
        ? 'No results'
        : `${plural(count, 'line')} in ${plural(files, 'file')}${isRunning.value ? ', still searching' : ''}${
            isCut.value ? '. There are more results: narrow the search.' : ''
          }`)
  return (
    <p class={`find-said meta ${problem.value ? 'is-bad' : ''}`} role="status">
      {words}
    </p>
  )
}

function Results({ tab, rows }: { tab: Tab; rows: Row[] }) {
  const page = usePage()
  const { search } = tab
  const active = useSignal(1)
  const list = usePlace<HTMLDivElement>('list')
  const open = (row: Row | undefined) => {
    if (row?.kind === 'file') tab.edit(row.path)
    else if (row) openMatch(page, tab, row.match)
  }
  return (
    <VirtualList
      class="list results"
      role="listbox"
      box={list}
      aria-label="Results"
      tabIndex={0}
      aria-activedescendant={rows.length > 0 ? `result-${active.value}` : undefined}
      count={rows.length}
      rowHeight={ROW_HEIGHT}
      active={active.value}
      onKeyDown={event => {
        if (event.altKey || event.ctrlKey || event.metaKey) return
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key]
        const isAtTop = active.value === 0 && event.key === 'ArrowUp'
        if (event.key === 'Enter') open(rows[active.value])
        else if (isAtTop) search.focusWanted.value++
        else if (step === undefined) return
        else active.value = Math.max(0, Math.min(active.value + step, rows.length - 1))
        event.preventDefault()
      }}
      row={index => {
        const row = rows[index]
        if (!row) return null
        return (
          // The list has the focus and handles the keys of its rows.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          <div
            key={index}
            id={`result-${index}`}
            role="option"
            tabIndex={-1}
            class={`result ${row.kind}`}
            aria-selected={index === active.value}
            onClick={() => {
              active.value = index
              open(row)
            }}
          >
            {row.kind === 'file' ? <FileLine path={row.path} count={row.count} /> : <MatchLine match={row.match} />}
          </div>
        )
      }}
    />
  )
}

function FileLine({ path, count }: { path: string; count: number }) {
  return (
    <>
      <Path of={path} />
      <span class="meta">{count}</span>
    </>
  )
}

function MatchLine({ match }: { match: Match }) {
  return (
    <>
      <span class="line-number">{match.line}</span>
      <code class="cut">{piecesOf(match)}</code>
    </>
  )
}

/** The part of a line around its first match, without indentation, cut into matches and the text between them. */
function piecesOf({ text, ranges }: Match) {
  const first = ranges[0]?.[0] ?? 0
  const indentation = /^\s*/.exec(text)?.[0].length ?? 0
  const from =
    first > MAX_CHARACTERS_BEFORE + indentation ? first - MAX_CHARACTERS_BEFORE : Math.min(indentation, first)
  const to = Math.min(text.length, first + MAX_CHARACTERS_AFTER)
  const pieces = []
  let at = from
  for (const [start, end] of ranges) {
    if (start < at || start >= to) continue
    pieces.push(
      visible(text.slice(at, start)),
      <mark key={start}>{visible(text.slice(start, Math.min(end, to)))}</mark>,
    )
    at = Math.min(end, to)
  }
  return [from > indentation ? '…' : '', ...pieces, visible(text.slice(at, to))]
}

async function openMatch(page: Page, tab: Tab, match: Match): Promise<void> {
  tab.edit(match.path)
  const file = page.files.open(tab.at, match.path)
  await file.opened()
  file.goTo(match.line, match.ranges[0])
}

/** The matches grouped by file, in the order of each file's first match. */
function rowsOf(matches: Match[]): Row[] {
  const byFile = Map.groupBy(matches, ({ path }) => path)
  return [...byFile].flatMap(([path, found]): Row[] => [
    { kind: 'file', path, count: found.length },
    ...found.map((match): Row => ({ kind: 'match', match })),
  ])
}
