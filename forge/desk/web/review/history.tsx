/** The history of a branch or a file. A commit opens in a tab of its own. */
import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import type { CommitRow } from '../../contract/reading.ts'
import { branchOf } from '../page/branch-facts.ts'
import type { HistoryState } from '../page/history-state.ts'
import { usePlace } from '../page/places.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { sourceActions } from '../steps/source-actions.ts'
import { commitSource } from '../steps/step-ways.ts'
import { actionFor, listKeysIn } from '../ui/action.ts'
import { Failed, FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { LIST_STEPS } from '../ui/list-keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { modelName, readable, shortId, withoutTricks } from '../ui/names.ts'
import { age, fullTime } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { ActionButton, Button, Empty, Waiting } from '../ui/words.tsx'
import { Authorship } from './authorship.tsx'
import { ChangeSum, ChangesWithDiffs } from './change-list.tsx'
import { CommitLabels } from './commit-labels.tsx'
import {
  canReorder,
  HISTORY_KEYS,
  historyActionFor,
  historyMenu,
  historyViewActions,
  lineOf,
  reorder,
  revert,
  whyForOne,
  whyNotRewritten,
} from './history-actions.ts'
import { MessageBody, partsOf } from './message-body.tsx'
import { TagMessages } from './tag-messages.tsx'
import { useCommit } from './use-commit.ts'

const ROW_HEIGHT = 26
/** Delay after the last key of a search before the history is loaded, in milliseconds. */
const FIND_DELAY_MS = 200

interface HistoryProps {
  tab: Tab
  path: string | undefined
}

export function HistoryView({ tab, path }: HistoryProps) {
  const page = usePage()
  const { history } = tab
  const { value: rows } = history.rows
  const { value: words } = history.words
  const { value: isComplete } = history.isComplete
  const { value: problem } = history.problem
  const { tip, selected } = history
  useEffect(() => history.load(path), [history, tip, path, words])
  const dropAt = useSignal<number | undefined>(undefined)
  const labelRoom = useSignal(MAX_LABELS_WIDTH)
  // The branches of remotes and the tags at the commits.
  useEffect(() => page.graph.followRefs(), [page])
  const list = usePlace<HTMLDivElement>('list')
  const current = rows[selected]
  const isWhole = path === undefined && words === ''
  const branch = branchOf(tab)
  const line = useMemo(() => (isWhole ? lineOf(rows) : []), [rows, isWhole])
  const about = { page, branch, line, chosen: history.chosen }
  const openMenu = (index: number, event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    const isChosen = history.isSelected(index)
    if (!isChosen) history.select(index)
    const chosen = isChosen ? about.chosen : rows.slice(index, index + 1)
    page.openMenu(historyMenu({ ...about, chosen }), placeOfMenu(event, element), list.current ?? undefined)
  }
  const drag: RowDrag = {
    isPossible: branch !== undefined && isWhole,
    begin: index => {
      if (!history.isSelected(index)) history.select(index)
    },
    over: place => {
      dropAt.value = place
    },
    drop: place => {
      dropAt.value = undefined
      // The press has focused the row. The dialog would give the focus back to it.
      list.current?.focus({ preventScroll: true })
      const after = rows[place]?.oid ?? 'before the first'
      if (canReorder(about, after)) reorder(about, after)
    },
  }
  if (problem) {
    return <Failed title="The history could not be loaded" problem={problem} again={() => history.again()} />
  }
  if (isComplete && rows.length === 0 && words === '') return <Empty title="No commits yet" />
  return (
    <div class="history">
      <div class="history-list">
        <Search history={history} leave={() => list.current?.focus()} />
        <VirtualList
          class="list commit-list"
          box={list}
          role="listbox"
          aria-label={path === undefined ? 'History' : `History of ${readable(path)}`}
          tabIndex={0}
          aria-multiselectable={true}
          aria-keyshortcuts={`${HISTORY_KEYS} ${listKeysIn(historyViewActions)}`}
          aria-activedescendant={current ? `commit-${selected}` : undefined}
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          active={selected}
          listOf={words}
          place={history.top}
          onWidth={width => {
            labelRoom.value = labelRoomIn(width)
          }}
          onReach={index => history.reach(index)}
          onKeyDown={event => {
            if (asksForMenu(event)) {
              openMenu(selected, event, document.getElementById(`commit-${selected}`) ?? event.currentTarget)
              return
            }
            if (event.ctrlKey || event.metaKey) return
            const step = event.altKey ? undefined : LIST_STEPS[event.key]
            if (event.key === 'Enter' && current && !event.altKey) travel(page, current, path)
            else if (step !== undefined) history.select(selected + step, event.shiftKey)
            else {
              const run = historyActionFor(about, event) ?? actionFor(historyViewActions, { page, tab }, event)
              const why = run ? undefined : (whyNotRewritten(about, event) ?? whyForOne(about, event))
              if (why !== undefined) page.tell({ topic: 'history', title: why }, 'info')
              if (!run) return
              history.keepSelection()
              run()
              event.stopPropagation()
            }
            event.preventDefault()
          }}
          row={index => {
            const row = rows[index]
            if (!row) return null
            return (
              <HistoryRow
                key={row.oid}
                row={row}
                index={index}
                isSelected={history.isSelected(index)}
                isActive={index === selected}
                labelRoom={labelRoom.value}
                branch={branch}
                dropPlace={dropAt.value === index ? 'above' : dropAt.value === index + 1 ? 'below' : undefined}
                drag={drag}
                select={event => {
                  if (event.ctrlKey || event.metaKey) history.toggle(index)
                  else history.select(index, event.shiftKey)
                }}
                open={() => travel(page, row, path)}
                openMenu={openMenu}
              />
            )
          }}
        />
        {isComplete && rows.length === 0 ? <p class="meta none">No results</p> : null}
        {isComplete && page.desk.value?.isShallow ? (
          <p class="meta none">This clone is shallow: git fetch --unshallow brings older commits.</p>
        ) : null}
      </div>
      {current ? <Detail key={current.oid} tab={tab} row={current} path={path} /> : null}
      {current || isComplete ? null : <Waiting words="Loading history" />}
    </div>
  )
}

/** Opens a commit; from a file's history, with that file, under the name that it has there. */
function travel(page: Page, { oid, path: old }: CommitRow, path: string | undefined): void {
  const there = page.open({ kind: 'commit', commit: oid })
  if (path !== undefined) there.show({ kind: 'file', path: old ?? path })
}

interface SearchProps {
  history: HistoryState
  /** Moves the focus to the results. */
  leave: () => void
}

function Search({ history, leave }: SearchProps) {
  const field = usePlace<HTMLInputElement>('history search')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const look = (after: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      history.words.value = history.typed.trim()
    }, after)
  }
  useEffect(() => {
    // What was typed last, before something else was shown, may not have been searched for.
    look(0)
    return () => clearTimeout(timer.current)
  }, [])
  return (
    <search class="graph-find">
      <Icon name="search" />
      <input
        ref={field}
        class="field"
        aria-label="Search this history"
        placeholder="Message, author or hash"
        autocomplete="off"
        spellcheck={false}
        maxLength={400}
        defaultValue={history.typed}
        onInput={({ currentTarget }) => {
          history.typed = currentTarget.value
          look(FIND_DELAY_MS)
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            event.currentTarget.value = ''
            history.typed = ''
            look(0)
          } else if (event.key === 'Enter') look(0)
          else if (event.key === 'ArrowDown') leave()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span class="meta" role="status">
        {history.words.value === '' ? '' : history.total.value}
      </span>
    </search>
  )
}

/** Dragging commits to another place of the list, which is given as the index of the row below it. */
interface RowDrag {
  isPossible: boolean
  begin: (index: number) => void
  over: (place: number | undefined) => void
  drop: (place: number) => void
}

interface HistoryRowProps {
  row: CommitRow
  index: number
  isSelected: boolean
  /** Whether the focus ring is around the row: of several selected rows, around the one that was selected last. */
  isActive: boolean
  /** The width for the labels, in pixels. */
  labelRoom: number
  /** The branch whose history it is. */
  branch: string | undefined
  /** The side of the row at which a drop would insert the dragged commits. */
  dropPlace: 'above' | 'below' | undefined
  drag: RowDrag
  select: (event: MouseEvent) => void
  open: () => void
  openMenu: (index: number, event: MouseEvent, element: HTMLElement) => void
}

/** The place of a drop: above the row if the pointer is in its upper half, else below it. */
function placeAt(event: DragEvent & { currentTarget: HTMLElement }, index: number): number {
  const { top, height } = event.currentTarget.getBoundingClientRect()
  return event.clientY < top + height / 2 ? index : index + 1
}

function HistoryRow(props: HistoryRowProps) {
  const { row, index, isSelected, isActive, labelRoom, branch, dropPlace, drag, select, open, openMenu } = props
  const { oid, subject, author, committed, model, parents } = row
  return (
    // The list has the focus and handles the keys of its rows.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      role="option"
      id={`commit-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      class={`crow ${parents.length > 1 ? 'merge' : ''} ${isActive ? 'active' : ''} ${dropPlace === undefined ? '' : `drop-${dropPlace}`}`}
      draggable={drag.isPossible}
      onClick={select}
      onDblClick={open}
      onContextMenu={event => openMenu(index, event, event.currentTarget)}
      onDragStart={event => {
        event.dataTransfer?.setData('text/plain', oid)
        drag.begin(index)
      }}
      onDragOver={event => {
        event.preventDefault()
        drag.over(placeAt(event, index))
      }}
      onDragEnd={() => drag.over(undefined)}
      onDrop={event => {
        event.preventDefault()
        drag.drop(placeAt(event, index))
      }}
    >
      <span class="subject">
        <Icon name={model ? 'bot' : 'user'} tone={model ? 'by-ai' : ''} />
        <CommitLabels commit={oid} room={labelRoom} first={branch} />
        <bdi class="cut">{withoutTricks(subject)}</bdi>
      </span>
      <span class="who">
        <bdi class="cut">{model === undefined ? withoutTricks(author.name) : modelName(model)}</bdi>
      </span>
      <span class="hash">{shortId(oid)}</span>
      <span class="age" title={fullTime(committed)}>
        {age(committed)}
      </span>
    </div>
  )
}

/** The labels of a row take at most this width, in pixels, and this share of the list's width: see lists.css. */
const [MAX_LABELS_WIDTH, MAX_LABELS_SHARE] = [260, 1 / 3]
/** The width for labels changes in steps of this many pixels, so that rows are not drawn anew at each pixel. */
const LABEL_ROOM_STEP = 20

function labelRoomIn(width: number): number {
  return Math.floor(Math.min(MAX_LABELS_WIDTH, width * MAX_LABELS_SHARE) / LABEL_ROOM_STEP) * LABEL_ROOM_STEP
}

function Detail({ tab, row, path }: HistoryProps & { row: CommitRow }) {
  const page = usePage()
  const { commit, asked } = useCommit(row.oid)
  const branch = branchOf(tab)
  const { title, body } = partsOf(row, commit?.message)
  return (
    <aside class="detail" aria-label="Commit">
      <div class="detail-head">
        <h2>
          <bdi>{withoutTricks(title)}</bdi>
        </h2>
        <Authorship of={row} />
        <p class="mono meta">{row.oid}</p>
        <div class="acts">
          <Button look="small" words="Open" keys="Enter" onClick={() => travel(page, row, path)} />
          <Button look="small" icon="diff" words="Changes" onClick={() => showChanges(page, row)} />
          <ActionButton
            action={sourceActions.branchFromHere}
            about={{ page, source: commitSource(row.oid) }}
            look="small"
          />
          <Button look="small" icon="undo" words="Revert…" onClick={() => revert(page, [row], branch)} />
        </div>
      </div>
      <MessageBody text={body} />
      <TagMessages commit={row.oid} />
      <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
      <Files commit={commit} path={path && (row.path ?? path)} />
    </aside>
  )
}

function showChanges(page: Page, { oid }: CommitRow): void {
  page.open({ kind: 'commit', commit: oid }).show({ kind: 'review' })
}

/** The changed files, each with its diff below; in a file's history, the diff of that file is open. */
function Files({ commit, path }: { commit: Answer<'commit'> | undefined; path: string | undefined }) {
  if (!commit) return null
  const { changes } = commit
  return (
    <section class="detail-changes" aria-label="Files">
      <h3>
        <ChangeSum changes={changes} look="grow" />
      </h3>
      <ChangesWithDiffs changes={changes} open={path === undefined ? 'first' : { path }} />
    </section>
  )
}
