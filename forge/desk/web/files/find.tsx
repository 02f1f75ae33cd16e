/** The search in all files of a branch or a commit: results as they arrive, by file. */
import type { Signal } from '@preact/signals'
import type { RefObject, TargetedKeyboardEvent } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { MAX_REPLACED_MATCHES } from '../../contract/limits.ts'
import type { Match } from '../../contract/reading.ts'
import { branchOf } from '../page/branch-facts.ts'
import { usePlace } from '../page/places.ts'
import { type Hit, hasLineEnd } from '../page/replacing.ts'
import { settle } from '../page/saving.ts'
import type { TextSearch } from '../page/search.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { FIND_KEYS } from '../ui/find-keys.ts'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { visible } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Button, IconButton, Path, Toggle } from '../ui/words.tsx'
import { openFile, openLine } from './open-line.ts'
import { chosenHits, isReplaceable, replaceHits, searchActions } from './search-actions.ts'

const ROW_HEIGHT = 24
/** At most this many characters of a line are shown before its first match. */
const MAX_CHARACTERS_BEFORE = 40
/** At most this many characters of a line are shown from the start of its first match on. */
const MAX_CHARACTERS_AFTER = 240

/** Why an expression with a line end finds nothing. */
const BY_LINE = 'A search in files goes line by line: \\n matches nothing.'

type Row =
  | { kind: 'file'; path: string; count: number; hits: readonly Hit[] }
  | { kind: 'read-only'; path: string; why: string }
  | { kind: 'match'; match: Match }
  | { kind: 'hit'; hit: Hit }

export function Find({ tab }: { tab: Tab }) {
  const page = usePage()
  const { search } = tab
  const branch = branchOf(tab)
  const isReplacing = branch !== undefined && search.isReplacing.value
  const { hits } = search.hits.value
  const matches = search.matches.value
  useRepeated(page, search, branch)
  const readOnly = search.readOnly.value
  const rows = useMemo(
    () => (isReplacing ? [...hitRows(hits), ...readOnlyRows(readOnly)] : matchRows(matches)),
    [isReplacing, hits, matches, readOnly],
  )
  return (
    <div class="finding">
      <Fields search={search} branch={branch} isReplacing={isReplacing} />
      <FilterBar search={search} />
      <Said search={search} isReplacing={isReplacing} files={rows.filter(({ kind }) => kind === 'file').length} />
      <Results tab={tab} rows={rows} />
    </div>
  )
}

/**
 * Searches for words of before, and repeats the search of a branch when it is shown again, when the branch changes, and
 * when text is typed in it, such as in another window: the results show its drafts.
 */
function useRepeated(page: Page, search: TextSearch, branch: string | undefined): void {
  const changed = branch === undefined ? undefined : page.changed.value.get(branch)
  const typed = branch === undefined ? undefined : page.typed.value.get(branch)
  useEffect(() => {
    const again = () => search.again()
    // The words of a page that was loaded again are not searched for yet.
    const isNew = search.found.peek() === undefined
    if (isNew ? search.words.peek() === '' : branch === undefined) return
    // Text that the server refuses is not searched.
    void (branch === undefined ? again() : settle(page, branch, 'all').then(again, again))
  }, [page, search, branch, changed, typed])
}

interface FieldsProps {
  search: TextSearch
  branch: string | undefined
  isReplacing: boolean
}

/** The fields of the search, which come before their buttons: Tab leads from the first one to the second. */
function Fields({ search, branch, isReplacing }: FieldsProps) {
  const page = usePage()
  const toggle = (setting: Signal<boolean>) => () => {
    setting.value = !setting.peek()
    search.start()
  }
  const count = isReplacing ? chosenHits(search).length : 0
  return (
    <search class="find-fields">
      {branch === undefined ? null : (
        <IconButton
          icon={isReplacing ? 'chevron-down' : 'chevron-right'}
          words="Replace"
          keys={searchActions.replace.keys}
          isPressed={isReplacing}
          onClick={() => search.replaces(!isReplacing)}
        />
      )}
      <WordsField search={search} />
      {isReplacing ? <ReplacementField search={search} /> : null}
      <div class="find-ways">
        <Toggle
          words="Match case"
          short="Aa"
          keys={FIND_KEYS.matchCase}
          isOn={search.matchCase.value}
          toggle={toggle(search.matchCase)}
        />
        <IconButton
          icon="whole-word"
          words="Match whole word"
          isPressed={search.matchWord.value}
          onClick={toggle(search.matchWord)}
        />
        <Toggle
          words="Regular expression"
          short=".*"
          keys={FIND_KEYS.isRegex}
          isOn={search.isRegex.value}
          toggle={toggle(search.isRegex)}
        />
        {isReplacing ? (
          <IconButton
            icon="case-upper"
            words="Preserve case"
            isPressed={search.preservesCase.value}
            onClick={() => {
              search.preservesCase.value = !search.preservesCase.peek()
            }}
          />
        ) : null}
      </div>
      {branch !== undefined && isReplacing ? (
        <Button
          look="small"
          words={count === 0 ? 'Replace' : `Replace ${count.toLocaleString('en')}`}
          title={`${searchActions.replaceAll.label}  ${shownKeys(searchActions.replaceAll.keys)}`}
          isOff={!isReplaceable(count) || search.isRunning.value}
          onClick={() => replaceHits(page, search, branch)}
        />
      ) : null}
    </search>
  )
}

/** Focuses a field of the search and selects its text, when the focus is requested for it. */
function useRequestedFocus(
  search: TextSearch,
  name: 'words' | 'replacement',
  field: RefObject<HTMLInputElement | null>,
): void {
  const { focusWish } = search
  const wanted = focusWish.made.value
  // A layout effect: letters typed right after the key are meant for the field.
  useLayoutEffect(() => {
    if (!focusWish.isOpen || search.wantedField.peek() !== name) return
    focusWish.end()
    field.current?.focus()
    field.current?.select()
  }, [focusWish, wanted, search, name, field])
}

function WordsField({ search }: { search: TextSearch }) {
  const page = usePage()
  const field = usePlace<HTMLInputElement>('search field')
  useRequestedFocus(search, 'words', field)
  return (
    <input
      ref={field}
      class="field"
      aria-label="Find in files"
      placeholder="Find in files"
      autocomplete="off"
      spellcheck={false}
      value={search.words.value}
      onKeyDown={event => {
        toResults(page, event)
        if (event.key === 'Enter' && !event.isComposing) void search.again()
      }}
      onInput={event => {
        search.words.value = event.currentTarget.value
        search.startSoon()
      }}
    />
  )
}

function toResults(page: Page, event: TargetedKeyboardEvent<HTMLInputElement>): void {
  if (event.key !== 'ArrowDown' || event.isComposing) return
  event.preventDefault()
  page.places.focus('list')
}

/** The path filters of the search. */
function FilterBar({ search }: { search: TextSearch }) {
  const page = usePage()
  return (
    <div class="review-bar">
      <input
        class="field grow"
        aria-label="Files to search"
        placeholder="Files: *.ts, src/, !test"
        title="Names or paths of files and folders, with * and **, separated by commas; ! leaves out"
        autocomplete="off"
        spellcheck={false}
        value={search.files.value}
        onKeyDown={event => {
          toResults(page, event)
          if (event.key === 'Enter' && !event.isComposing) void search.again()
        }}
        onInput={event => {
          search.files.value = event.currentTarget.value
          search.startSoon()
        }}
      />
    </div>
  )
}

function ReplacementField({ search }: { search: TextSearch }) {
  const page = usePage()
  const field = useRef<HTMLInputElement>(null)
  useRequestedFocus(search, 'replacement', field)
  return (
    <input
      ref={field}
      class="field"
      aria-label="Replace in files"
      placeholder="Replace"
      autocomplete="off"
      spellcheck={false}
      value={search.replacement.value}
      onKeyDown={event => toResults(page, event)}
      onInput={event => {
        search.replacement.value = event.currentTarget.value
      }}
    />
  )
}

interface SaidProps {
  search: TextSearch
  isReplacing: boolean
  files: number
}

function Said({ search, isReplacing, files }: SaidProps) {
  const problem = search.problem.value ?? (isReplacing ? search.hits.value.problem : undefined)
  return (
    <p class={`find-said meta ${problem ? 'is-bad' : ''}`} role="status">
      {problem ?? foundWords(search, isReplacing, files)}
    </p>
  )
}

const TOO_MANY = `At most ${digits(MAX_REPLACED_MATCHES)} matches are replaced at once: narrow the search.`
const UTF8_ALONE = 'Files in Latin-1 were not searched: this git was built without PCRE.'

function foundWords(search: TextSearch, isReplacing: boolean, files: number): string {
  const { matches, isRunning, isCut, found, asked } = search
  if (found.value === undefined) return 'Results come as they are found.'
  const isByLine = asked.value?.isRegex && hasLineEnd(asked.value.words)
  const readOnly = isReplacing ? search.readOnly.value.length : 0
  const isOfUtf8Alone = search.isOfUtf8Alone.value
  if (matches.value.length + readOnly === 0 && !isRunning.value)
    return inSentences('No results', [isByLine ? BY_LINE : '', isOfUtf8Alone ? UTF8_ALONE : ''])
  const { hits, tooLong, unread } = search.hits.value
  const count = isReplacing ? plural(hits.length, 'match', 'matches') : plural(matches.value.length, 'line')
  const notes = [
    isCut.value ? 'There are more results: narrow the search.' : '',
    isByLine ? BY_LINE : '',
    isOfUtf8Alone ? UTF8_ALONE : '',
    readOnly > 0 ? `${plural(readOnly, 'file')} left out: read-only.` : '',
    isReplacing && tooLong > 0 ? `${plural(tooLong, 'line')} left out: too long to replace in.` : '',
    isReplacing && unread > 0
      ? `${plural(unread, 'match', 'matches')} left out: browsers read the expression differently.`
      : '',
    isReplacing && chosenHits(search).length > MAX_REPLACED_MATCHES ? TOO_MANY : '',
  ]
  const where = `${count} in ${plural(files, 'file')}${isRunning.value ? ', still searching' : ''}`
  return inSentences(where, notes)
}

/** What was found, with the notes that are not empty. */
function inSentences(found: string, notes: readonly string[]): string {
  const all = notes.filter(note => note !== '')
  return all.length === 0 ? found : `${found}. ${all.join(' ')}`
}

function Results({ tab, rows }: { tab: Tab; rows: Row[] }) {
  const page = usePage()
  const { search } = tab
  const { active } = search
  const list = usePlace<HTMLDivElement>('list')
  const open = (row: Row | undefined, isPreview = false) => {
    if (row?.kind === 'file' || row?.kind === 'read-only') openFile(page, tab, row.path, isPreview)
    else if (row?.kind === 'hit') openLine(page, tab, row.hit.path, row.hit.line, [row.hit.from, row.hit.to], isPreview)
    else if (row) openLine(page, tab, row.match.path, row.match.line, row.match.ranges[0], isPreview)
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
        else if (event.key === ' ') toggleRow(search, rows[active.value])
        else if (isAtTop) search.focus('words')
        else if (step === undefined) return
        else active.value = Math.max(0, Math.min(active.value + step, rows.length - 1))
        event.preventDefault()
      }}
      row={index => {
        const row = rows[index]
        if (!row) return null
        const isChosen = isRowChosen(search, row)
        return (
          // The list has the focus and handles the keys of its rows.
          // biome-ignore lint/a11y/useKeyWithClickEvents: see above
          <div
            key={index}
            id={`result-${index}`}
            role="option"
            tabIndex={-1}
            class={`result ${row.kind} ${isChosen === false ? 'left-out' : ''}`}
            aria-selected={index === active.value}
            aria-checked={isChosen}
            onClick={event => {
              active.value = index
              if (event.target instanceof Element && event.target.closest('.choose')) toggleRow(search, row)
              else open(row, true)
            }}
          >
            {isChosen === undefined ? null : (
              <span class="choose" title="Replace or leave out  Space">
                <Icon name={isChosen ? 'check' : 'minus'} />
              </span>
            )}
            <RowContent row={row} />
          </div>
        )
      }}
    />
  )
}

function RowContent({ row }: { row: Row }) {
  switch (row.kind) {
    case 'file':
      return <FileLine path={row.path} count={row.count} />
    case 'read-only':
      return <ReadOnlyLine path={row.path} why={row.why} />
    case 'match':
      return <MatchLine match={row.match} />
    case 'hit':
      return <HitLine hit={row.hit} />
  }
}

/** Whether the row's hits are to be replaced (for a file: at least one of them); undefined for rows without hits. */
function isRowChosen({ leftOut }: TextSearch, row: Row): boolean | undefined {
  const hits = hitsIn(row)
  return hits.length === 0 ? undefined : hits.some(({ key }) => !leftOut.value.has(key))
}

function toggleRow(search: TextSearch, row: Row | undefined): void {
  if (!row) return
  const keys = hitsIn(row).map(({ key }) => key)
  search.leaveOut(keys, isRowChosen(search, row) === true)
}

function hitsIn(row: Row): readonly Hit[] {
  if (row.kind === 'file') return row.hits
  return row.kind === 'hit' ? [row.hit] : []
}

function FileLine({ path, count }: { path: string; count: number }) {
  return (
    <>
      <Path of={path} />
      <span class="meta">{digits(count)}</span>
    </>
  )
}

/** A file with matches that can't be edited, and the reason. */
function ReadOnlyLine({ path, why }: { path: string; why: string }) {
  return (
    <>
      <Path of={path} />
      <span class="meta cut" title={why}>
        {why}
      </span>
    </>
  )
}

function MatchLine({ match }: { match: Match }) {
  return (
    <>
      <span class="line-number">{match.shownLine ?? match.line}</span>
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

/** A hit with what replaces it. */
function HitLine({ hit }: { hit: Hit }) {
  const { line, shownLine = line, text, from, to, insert } = hit
  const indentation = /^\s*/.exec(text)?.[0].length ?? 0
  const start = from > MAX_CHARACTERS_BEFORE + indentation ? from - MAX_CHARACTERS_BEFORE : Math.min(indentation, from)
  const end = Math.min(text.length, to + MAX_CHARACTERS_AFTER)
  return (
    <>
      <span class="line-number">{shownLine}</span>
      <code class="cut">
        {start > indentation ? '…' : ''}
        {visible(text.slice(start, from))}
        <del>{visible(text.slice(from, to))}</del>
        {insert === '' ? null : <ins>{visible(insert)}</ins>}
        {visible(text.slice(to, end))}
      </code>
    </>
  )
}

/** The matches grouped by file, in the order of each file's first match. */
function matchRows(matches: Match[]): Row[] {
  const byFile = Map.groupBy(matches, ({ path }) => path)
  return [...byFile].flatMap(([path, found]): Row[] => [
    { kind: 'file', path, count: found.length, hits: [] },
    ...found.map((match): Row => ({ kind: 'match', match })),
  ])
}

const readOnlyRows = (files: TextSearch['readOnly']['value']): Row[] =>
  files.map(({ path, why }) => ({ kind: 'read-only', path, why }))

function hitRows(hits: readonly Hit[]): Row[] {
  const byFile = Map.groupBy(hits, ({ path }) => path)
  return [...byFile].flatMap(([path, found]): Row[] => [
    { kind: 'file', path, count: found.length, hits: found },
    ...found.map((hit): Row => ({ kind: 'hit', hit })),
  ])
}
