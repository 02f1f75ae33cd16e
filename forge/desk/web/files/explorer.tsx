/** The explorer: the files of a branch or a commit as a tree. Only visible rows are in the document. */
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { DraftState } from '../../contract/reading.ts'
import { ContextCircle, ContextMeter, contextWords } from '../chat/context.tsx'
import { hasDraft, isInConflict, mergingFiles, shownPath, showsTurn } from '../page/branch-facts.ts'
import { findActions } from '../page/desk-actions.ts'
import { usePlace } from '../page/places.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import type { TreeRow } from '../page/tree.ts'
import { actionFor, listKeysIn } from '../ui/action.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { keysOf } from '../ui/keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { readable } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ActionIcon, IconButton, Name } from '../ui/words.tsx'
import { ExplorerDrag } from './explorer-drag.ts'
import { fileActions, folderActions, folderOfRow, rowMenu } from './file-actions.ts'
import { isCut } from './file-copies.ts'

const ROW_HEIGHT = 24
const PAGE_OF_ROWS = 20

export function Explorer({ tab }: { tab: Tab }) {
  const page = usePage()
  const canEdit = tab.at.kind === 'branch'
  return (
    <aside class="side" aria-label="Side bar">
      <div class="side-head">
        <h2 class="grow">Explorer</h2>
        {canEdit ? (
          <>
            <ActionIcon action={folderActions.newFile} about={{ page, tab }} />
            <ActionIcon action={folderActions.newFolder} about={{ page, tab }} />
          </>
        ) : null}
        {isInConflict(page, tab) ? (
          <IconButton
            icon="clash"
            words="Show the conflicts"
            onClick={() => {
              tab.merging.showsExplorer.value = false
            }}
          />
        ) : null}
        <ActionIcon action={folderActions.filter} about={{ page, tab }} />
        <ActionIcon action={findActions.findInFiles} about={page} />
      </div>
      <FailedLine problem={tab.tree.problem.value} again={() => tab.tree.refresh()} />
      {tab.tree.filter.value === undefined ? null : <FilterField tab={tab} />}
      <TreeRows tab={tab} />
      <ContextMeter tab={tab} />
    </aside>
  )
}

/** The field that filters the tree by path. Escape ends the filter, and the down arrow moves the focus to the tree. */
function FilterField({ tab }: { tab: Tab }) {
  const page = usePage()
  const { tree } = tab
  const field = useRef<HTMLInputElement>(null)
  const { filterWish } = tree
  const wanted = filterWish.made.value
  useLayoutEffect(() => {
    if (!filterWish.isOpen) return
    filterWish.end()
    field.current?.focus()
  }, [filterWish, wanted])
  const count = tree.matches.value?.length
  const toTree = () => {
    const rows = tree.rows.peek()
    const first = rows.find(({ kind }) => kind !== 'folder') ?? rows[0]
    if (first && !rows.some(({ path }) => path === tree.selected.peek())) tree.pick(first.path)
    page.places.focus('explorer')
  }
  return (
    <div class="filter">
      <input
        ref={field}
        class="field"
        aria-label="Filter files"
        placeholder="Filter files"
        autocomplete="off"
        spellcheck={false}
        value={tree.filter.value}
        onInput={event => tree.filterBy(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            tree.filterBy(undefined)
            page.places.focus('explorer')
          } else if (event.key === 'ArrowDown' || event.key === 'Enter') toTree()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span class="vh" role="status">
        {count === undefined ? '' : `${plural(count, 'file')} found`}
      </span>
    </div>
  )
}

function TreeRows({ tab }: { tab: Tab }) {
  const { tree } = tab
  const box = usePlace<HTMLDivElement>('explorer')
  const page = usePage()
  useEffect(() => tree.load(), [tree])
  const drag = useMemo(() => new ExplorerDrag(page, tab), [page, tab])
  const rows = tree.rows.value
  const active = rows.findIndex(({ path }) => path === tree.selected.value)
  return (
    <VirtualList
      class={`tree ${drag.target.value === '' ? 'drop-into' : ''}`}
      box={box}
      role="tree"
      aria-label="Explorer"
      aria-multiselectable={true}
      tabIndex={0}
      aria-keyshortcuts={`${listKeysIn(fileActions)} ${listKeysIn(folderActions)}`}
      aria-activedescendant={active >= 0 ? rowId(active) : undefined}
      count={Math.max(1, rows.length)}
      rowHeight={ROW_HEIGHT}
      active={active}
      isStill={drag.isUnderWay}
      listOf={tab}
      onContextMenu={event => {
        event.preventDefault()
        const row = rowAt(event, rows)
        if (row && !tree.isChosen(row.path)) tree.pick(row.path)
        openMenu(page, tab, row, event)
      }}
      onDragOver={event => drag.over(event, rowAt(event, rows))}
      onDrop={event => {
        box.current?.focus()
        drag.drop(event)
      }}
      onDragLeave={event => {
        if (!(event.relatedTarget instanceof Node && box.current?.contains(event.relatedTarget))) drag.leave()
      }}
      onDragEnd={() => drag.end()}
      onKeyDown={event => {
        const row = rows[active]
        if (asksForMenu(event)) openMenu(page, tab, row, event)
        else if (
          !runOn(page, tab, row, event) &&
          !extendBy(page, event, tab, rows, active) &&
          !moveBy(page, event, tab, rows, active)
        )
          return
        event.preventDefault()
        event.stopPropagation()
      }}
      row={index => {
        const row = rows[index]
        if (!row) return <NoRow key="none" tab={tab} />
        return <ExplorerRow key={row.path} tab={tab} row={row} index={index} drag={drag} />
      }}
    />
  )
}

/** The explorer without files. */
function NoRow({ tab }: { tab: Tab }) {
  const { isThere } = tab.tree
  const page = usePage()
  const isEmpty = isThere.value || page.desk.value?.isEmpty === true
  return (
    <div role="treeitem" class="meta no-row" aria-selected="false" tabIndex={-1}>
      {tab.tree.matches.value ? 'No results' : isEmpty ? 'No files yet' : <span class="vh">Loading the files</span>}
    </div>
  )
}

const ROW_ID = 'row-'

function rowId(index: number): string {
  return `${ROW_ID}${index}`
}

function openMenu(page: Page, tab: Tab, row: TreeRow | undefined, event: MouseEvent | KeyboardEvent): void {
  const tree = page.places.find('explorer')
  if (!tree) return
  const index = row ? tab.tree.rows.peek().indexOf(row) : -1
  const element = tree.querySelector(`#${rowId(index)}`) ?? tree
  page.openMenu(rowMenu(page, tab, row), placeOfMenu(event, element), tree)
}

/** Runs an action of the row, or of its folder, by its key. Returns whether there is one. */
function runOn(page: Page, tab: Tab, row: TreeRow | undefined, event: KeyboardEvent): boolean {
  const ofRow = row && actionFor(fileActions, { page, tab, path: row.path, row }, event)
  const run = ofRow ?? actionFor(folderActions, { page, tab, folder: folderOfRow(row) }, event)
  run?.()
  return run !== undefined
}

/** The row under the pointer. */
function rowAt({ target }: Event, rows: TreeRow[]): TreeRow | undefined {
  const element = target instanceof Element ? target.closest('[role="treeitem"]') : null
  return element?.id ? rows[Number(element.id.slice(ROW_ID.length))] : undefined
}

/** Handles the keys that select several rows, as in a file manager. Returns whether the key is one of them. */
function extendBy(page: Page, event: KeyboardEvent, tab: Tab, rows: TreeRow[], active: number): boolean {
  const { tree } = tab
  const keys = keysOf(event)
  const row = rows[active]
  const ends: Record<string, number> = {
    'Shift+ArrowDown': active + 1,
    'Shift+ArrowUp': active - 1,
    'Shift+Home': 0,
    'Shift+End': rows.length - 1,
  }
  const end = ends[keys]
  if (end !== undefined) tree.extendTo(rows[Math.max(0, Math.min(end, rows.length - 1))]?.path ?? '')
  else if (keys === 'Ctrl+A') tree.chooseAll()
  else if ((keys === 'Ctrl+Space' || keys === 'Ctrl+ ') && row) tree.toggleChosen(row.path)
  else if (keys === 'Escape' && page.copied.peek()?.isCut) page.copied.value = undefined
  else if (keys === 'Escape' && tree.chosen.peek().size > 0) tree.pick(tree.selected.peek())
  else if (keys === 'Escape' && tree.filter.peek() !== undefined) tree.filterBy(undefined)
  else return false
  const count = tree.chosen.peek().size
  page.spoken.value = count > 1 ? `${digits(count)} selected` : ''
  return true
}

/** Handles a key pressed in the tree. Returns whether the tree has used the key. */
function moveBy(page: Page, event: KeyboardEvent, tab: Tab, rows: TreeRow[], active: number): boolean {
  if (event.altKey || event.ctrlKey || event.metaKey || event.key === 'Shift') return false
  const row = rows[active]
  const moves: Record<string, number> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + PAGE_OF_ROWS,
    PageUp: active - PAGE_OF_ROWS,
    Home: 0,
    End: rows.length - 1,
  }
  const next = moves[event.key]
  const isLetter = event.key.length === 1 && event.key !== ' '
  if (isLetter) return find(tab, rows, active, tab.tree.typeAhead.add(event.key, event.timeStamp))
  tab.tree.typeAhead.end()
  if (next !== undefined) select(tab, rows, next)
  else if (event.key === 'ArrowRight' && row) openOrEnter(tab, rows, row, active)
  else if (event.key === 'ArrowLeft' && row) closeOrLeave(tab, rows, row, active)
  else if (event.key === ' ' && row) activate(page, tab, row)
  else return false
  return true
}

function select(tab: Tab, rows: TreeRow[], index: number): void {
  const row = rows[Math.max(0, Math.min(index, rows.length - 1))]
  if (row) tab.tree.pick(row.path)
}

function openOrEnter(tab: Tab, rows: TreeRow[], row: TreeRow, index: number): void {
  if (row.kind !== 'folder') return
  if (row.isOpen) select(tab, rows, index + 1)
  else tab.tree.toggle(row.path)
}

function closeOrLeave(tab: Tab, rows: TreeRow[], row: TreeRow, index: number): void {
  if (row.kind === 'folder' && row.isOpen) {
    tab.tree.toggle(row.path)
    return
  }
  const above = rows.findLastIndex(({ depth }, at) => at < index && depth < row.depth)
  if (above >= 0) select(tab, rows, above)
}

/**
 * Selects the next row whose name begins with the typed text: with more than one letter, the active row counts, too.
 */
function find(tab: Tab, rows: TreeRow[], active: number, text: string): boolean {
  const begins = ({ name }: TreeRow) => name.toLowerCase().startsWith(text)
  const from = text.length > 1 ? active : active + 1
  const after = rows.findIndex((row, index) => index >= from && begins(row))
  const index = after >= 0 ? after : rows.findIndex(begins)
  if (index >= 0) select(tab, rows, index)
  return index >= 0
}

/** Opens or closes a folder, or shows a file in the preview tab. The focus stays in the explorer. */
function activate(page: Page, tab: Tab, row: TreeRow): void {
  tab.tree.pick(row.path)
  if (row.kind === 'folder') tab.tree.toggle(row.path)
  else page.preview(tab, row.path)
}

interface RowProps {
  tab: Tab
  row: TreeRow
  index: number
  drag: ExplorerDrag
}

function ExplorerRow({ tab, row, index, drag }: RowProps) {
  const page = usePage()
  const { tree } = tab
  const isActive = tree.selected.value === row.path
  const canDrag = drag.isPossible(row)
  const draft = draftOf(page, tab, row)
  const hasConflict = isInConflict(page, tab) && isOpenConflictIn(page, tab, row)
  const isTaken = isCut(page, tab, row.path)
  const state = hasConflict ? ', in conflict' : draft === undefined ? '' : `, ${draftWords(row.kind, draft)}`
  const hiddenWords = isTaken ? `${state}, cut` : state
  return (
    // The keys of the rows are those of the tree, which has the focus.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      role="treeitem"
      id={rowId(index)}
      tabIndex={-1}
      class={`${isActive ? 'active' : ''} ${drag.isTarget(row) ? 'drop-into' : ''} ${isTaken ? 'taken' : ''}`}
      aria-selected={tree.isChosen(row.path)}
      draggable={canDrag}
      onDragStart={event => drag.begin(event, row)}
      aria-expanded={row.kind === 'folder' ? row.isOpen : undefined}
      aria-level={row.depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-description={contextWords(row.context)}
      title={row.from === undefined ? readable(row.path) : `${readable(row.path)}, renamed from ${readable(row.from)}`}
      style={{ paddingLeft: `${8 + row.depth * 14}px` }}
      onMouseDown={event => {
        // Keeps the focus in the tree, except for a row that can be dragged: preventDefault would prevent the drag,
        // too.
        if (canDrag && event.button === 0) return
        event.preventDefault()
        if (event.button === 0) treeOf(event).focus()
      }}
      onClick={event => {
        treeOf(event).focus()
        if (isMore(event)) openMenu(page, tab, row, event)
        else if (event.shiftKey) tree.extendTo(row.path)
        else if (event.ctrlKey || event.metaKey) tree.toggleChosen(row.path)
        // The second click of a double click opens nothing more.
        else if (row.kind === 'folder' || event.detail < 2) activate(page, tab, row)
      }}
      onDblClick={event => {
        if (row.kind !== 'folder' && !isMore(event) && !event.shiftKey && !event.ctrlKey && !event.metaKey)
          tab.edit(row.path)
      }}
    >
      <Twist row={row} />
      <Name of={row.name} class={`grow ${draft === undefined ? '' : draft === 'deleted' ? 'deleted' : 'changed'}`} />
      {hiddenWords === '' ? null : <span class="vh">{hiddenWords}</span>}
      {/* For mouse and touch; the keyboard has the menu keys. */}
      <span class="more" title="More" aria-hidden="true">
        <Icon name="more" />
      </span>
      <Mark kind={row.kind} draft={draft} hasConflict={hasConflict} />
      {draft === 'deleted' ? <span class="ctx-place" /> : <ContextCircle tab={tab} row={row} />}
    </div>
  )
}

/**
 * The unsaved change of a row. The tree does not know of the newest edits yet, but open files do. While the AI's turn
 * is shown, only the tree knows what the AI has changed: these are no drafts.
 */
function draftOf(page: Page, tab: Tab, { kind, path, draft }: TreeRow): DraftState | undefined {
  if (kind === 'folder' || (draft !== undefined && draft !== 'changed')) return draft
  if (tab.at.kind === 'branch' && showsTurn(page, tab.at.branch)) return draft
  return hasDraft(page, tab.at, path) ? 'changed' : undefined
}

function draftWords(kind: TreeRow['kind'], draft: DraftState): string {
  if (draft !== 'changed') return draft
  return kind === 'folder' ? 'has drafts' : 'draft'
}

const treeOf = ({ currentTarget }: { currentTarget: HTMLElement }): HTMLElement =>
  currentTarget.closest<HTMLElement>('[role="tree"]') ?? currentTarget

function isMore({ target }: Event): boolean {
  return target instanceof Element && target.closest('.more') !== null
}

function Twist({ row }: { row: TreeRow }) {
  if (row.kind !== 'folder') return <span class="twist" />
  return <Icon name={row.isOpen ? 'chevron-down' : 'chevron-right'} tone="twist" />
}

/** Whether a file, or a file in the folder, has open conflicts. */
function isOpenConflictIn(page: Page, tab: Tab, { kind, path }: TreeRow): boolean {
  const open = mergingFiles(page, tab).filter(({ state }) => state === 'open')
  return open.map(shownPath).some(it => it === path || (kind === 'folder' && it.startsWith(`${path}/`)))
}

interface MarkProps extends Pick<TreeRow, 'kind'> {
  draft: DraftState | undefined
  hasConflict: boolean
}

/** The letter of an unsaved change, its colour, and its description. */
const MARKS: Record<DraftState, { letter: string; look: string; words: string }> = {
  added: { letter: 'A', look: 'is-ok', words: 'unsaved: added' },
  changed: { letter: 'M', look: 'is-you', words: 'unsaved draft' },
  deleted: { letter: 'D', look: 'is-bad', words: 'unsaved: deleted' },
  renamed: { letter: 'R', look: 'is-you', words: 'unsaved: renamed' },
}

function Mark({ kind, draft, hasConflict }: MarkProps) {
  if (hasConflict && kind === 'folder') return <span class="dot small in-conflict" title="has conflicts" />
  if (hasConflict) {
    return (
      <span class="mark is-warn" title="in conflict" aria-hidden="true">
        !
      </span>
    )
  }
  if (kind === 'submodule') return <span class="meta">submodule</span>
  if (kind === 'link')
    return (
      <>
        <span class="meta">link</span>
        {draft === undefined ? null : <DraftMark draft={draft} />}
      </>
    )
  if (draft === undefined) return null
  if (kind === 'folder' && draft === 'changed') return <span class="dot small" title="has drafts" />
  return <DraftMark draft={draft} />
}

function DraftMark({ draft }: { draft: DraftState }) {
  const { letter, look, words } = MARKS[draft]
  return (
    <span class={`mark ${look}`} title={words} aria-hidden="true">
      {letter}
    </span>
  )
}
