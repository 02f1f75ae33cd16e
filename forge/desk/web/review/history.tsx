/** The history of a branch or a file. A commit opens in a tab of its own. */
import { batch, type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import type { CommitRow } from '../../contract/reading.ts'
import { branchOf } from '../page/branch-facts.ts'
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
import { age, fullTime, plural } from '../ui/times.ts'
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
const COMMITS_AT_ONCE = 200
/** Delay after the last key of a search before the history is loaded, in milliseconds. */
const FIND_DELAY_MS = 200

interface HistoryProps {
  tab: Tab
  path: string | undefined
}

export function HistoryView({ tab, path }: HistoryProps) {
  const page = usePage()
  const words = useSignal('')
  const selected = useSignal(0)
  // The first row of a selection of several commits, which extends from here to the selected row.
  const anchor = useSignal(0)
  // The ids of the selected commits, where Ctrl and a click have selected them one by one.
  const picked = useSignal<ReadonlySet<string> | undefined>(undefined)
  // Whether the user has selected a row, or done something with it. Before, the newest commit is selected, also when
  // another one becomes the newest.
  const hasSelected = useRef(false)
  const follow = (before: readonly CommitRow[], after: readonly CommitRow[]) => {
    if (!hasSelected.current) return
    const ids = new Set(after.map(({ oid }) => oid))
    if (picked.peek()?.isSubsetOf(ids) === false) picked.value = undefined
    const [from, to] = [anchor.peek(), selected.peek()]
    const [nowFrom, nowTo] = [placeAfter(before, after, from), placeAfter(before, after, to)]
    const areSame = nowFrom !== undefined && nowTo !== undefined && nowTo - nowFrom === to - from
    // A selection of which some is gone, as after a squash, would select commits that the user has not selected.
    const one = Math.max(0, Math.min(from, to, after.length - 1))
    anchor.value = areSame ? nowFrom : one
    selected.value = areSame ? nowTo : one
  }
  const { rows, problem, again, isComplete, found, more } = useHistory(page, tab, path, words.value, follow)
  const dropAt = useSignal<number | undefined>(undefined)
  const labelRoom = useSignal(MAX_LABELS_WIDTH)
  // The branches of remotes and the tags at the commits.
  useEffect(() => page.graph.followRefs(), [page])
  const list = usePlace<HTMLDivElement>('list')
  useEffect(() => {
    selected.value = 0
    anchor.value = 0
    picked.value = undefined
    hasSelected.current = false
  }, [words.value, selected, anchor])
  const current = rows[selected.value]
  const [first, last] = [Math.min(anchor.value, selected.value), Math.max(anchor.value, selected.value)]
  const isWhole = path === undefined && words.value === ''
  const branch = branchOf(tab)
  const line = useMemo(() => (isWhole ? lineOf(rows) : []), [rows, isWhole])
  const isIn = (index: number) => picked.value?.has(rows[index]?.oid ?? '') ?? (index >= first && index <= last)
  const about = { page, branch, line, chosen: rows.filter((_, index) => isIn(index)) }
  const select = (index: number, isExtended = false) => {
    hasSelected.current = true
    selected.value = Math.max(0, Math.min(index, rows.length - 1))
    if (!isExtended) anchor.value = selected.value
    picked.value = undefined
  }
  const toggle = (index: number) => {
    const ids = new Set(about.chosen.map(({ oid }) => oid))
    const oid = rows[index]?.oid
    if (oid === undefined) return
    // One commit stays selected.
    if (!ids.delete(oid) || ids.size === 0) ids.add(oid)
    select(index)
    picked.value = ids
  }
  const openMenu = (index: number, event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    const isChosen = isIn(index)
    if (!isChosen) select(index)
    const chosen = isChosen ? about.chosen : rows.slice(index, index + 1)
    page.openMenu(historyMenu({ ...about, chosen }), placeOfMenu(event, element), list.current ?? undefined)
  }
  const drag: RowDrag = {
    isPossible: branch !== undefined && isWhole,
    begin: index => {
      if (!isIn(index)) select(index)
    },
    over: place => {
      dropAt.value = place
    },
    drop: place => {
      dropAt.value = undefined
      const after = rows[place]?.oid ?? 'before the first'
      if (canReorder(about, after)) reorder(about, after)
    },
  }
  if (problem) {
    return <Failed title="The history could not be loaded" problem={problem} again={again} />
  }
  if (isComplete && rows.length === 0 && words.value === '') return <Empty title="No commits yet" />
  return (
    <div class="history">
      <div class="history-list">
        <Search words={words} leave={() => list.current?.focus()} found={found} />
        <VirtualList
          class="list commit-list"
          box={list}
          role="listbox"
          aria-label={path === undefined ? 'History' : `History of ${readable(path)}`}
          tabIndex={0}
          aria-multiselectable={true}
          aria-keyshortcuts={`${HISTORY_KEYS} ${listKeysIn(historyViewActions)}`}
          aria-activedescendant={current ? `commit-${selected.value}` : undefined}
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          active={selected.value}
          listOf={words.value}
          onWidth={width => {
            labelRoom.value = labelRoomIn(width)
          }}
          onReach={index => {
            if (index > rows.length - COMMITS_AT_ONCE / 4) more()
          }}
          onKeyDown={event => {
            if (asksForMenu(event)) {
              openMenu(
                selected.value,
                event,
                document.getElementById(`commit-${selected.value}`) ?? event.currentTarget,
              )
              return
            }
            if (event.ctrlKey || event.metaKey) return
            const step = event.altKey ? undefined : LIST_STEPS[event.key]
            if (event.key === 'Enter' && current && !event.altKey) travel(page, current, path)
            else if (step !== undefined) select(selected.value + step, event.shiftKey)
            else {
              const run = historyActionFor(about, event) ?? actionFor(historyViewActions, { page, tab }, event)
              const why = run ? undefined : (whyNotRewritten(about, event) ?? whyForOne(about, event))
              if (why !== undefined) page.tell({ topic: 'history', title: why }, 'info')
              if (!run) return
              hasSelected.current = true
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
                isSelected={isIn(index)}
                isActive={index === selected.value}
                labelRoom={labelRoom.value}
                dropPlace={dropAt.value === index ? 'above' : dropAt.value === index + 1 ? 'below' : undefined}
                drag={drag}
                select={event => {
                  if (event.ctrlKey || event.metaKey) toggle(index)
                  else select(index, event.shiftKey)
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
  words: Signal<string>
  /** How many commits have the words, in words. */
  found: string
  /** Moves the focus to the results. */
  leave: () => void
}

function Search({ words, found, leave }: SearchProps) {
  const field = usePlace<HTMLInputElement>('history search')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const look = (value: string, after: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      words.value = value.trim()
    }, after)
  }
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
        onInput={({ currentTarget }) => look(currentTarget.value, FIND_DELAY_MS)}
        onKeyDown={event => {
          if (event.key === 'Escape') {
            event.currentTarget.value = ''
            look('', 0)
          } else if (event.key === 'Enter') look(event.currentTarget.value, 0)
          else if (event.key === 'ArrowDown') leave()
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span class="meta" role="status">
        {words.value === '' ? '' : found}
      </span>
    </search>
  )
}

/**
 * The index of a row's commit after the rows were loaded again, also where it was made again with the same subject (as
 * by a reordering); undefined if the commit is gone.
 */
function placeAfter(before: readonly CommitRow[], after: readonly CommitRow[], index: number): number | undefined {
  const row = before[index]
  const timeOf = ({ authored, committed }: CommitRow) => authored ?? committed
  const isAgain = (other: CommitRow) =>
    row !== undefined && other.subject === row.subject && timeOf(other) === timeOf(row)
  const exact = after.findIndex(({ oid }) => oid === row?.oid)
  const place = exact === -1 ? after.findIndex(isAgain) : exact
  return place === -1 ? undefined : place
}

type RowsChange = (before: readonly CommitRow[], after: readonly CommitRow[]) => void

/** The rows of a history. `follow` is called when they are loaded again, before the page renders the new rows. */
function useHistory(page: Page, tab: Tab, path: string | undefined, words: string, follow: RowsChange) {
  const rows = useSignal<CommitRow[]>([])
  const problem = useSignal<string | undefined>(undefined)
  const isComplete = useSignal(false)
  /** The number of all commits, in words; '' if unknown. */
  const total = useSignal('')
  const isAsking = useRef(false)
  const branch = tab.at.kind === 'branch' ? page.branch(tab.at.branch) : undefined
  const tip = branch?.tip
  // While a merge waits, the history is that of the branch's tip: the merge is not a commit yet.
  const at: Tab['at'] = branch?.merging && tip !== undefined ? { kind: 'commit', commit: tip } : tab.at

  const round = useRef(0)
  const ask = async (from: number) => {
    if (isAsking.current && from > 0) return
    isAsking.current = true
    const own = from > 0 ? round.current : ++round.current
    try {
      const fields = {
        at,
        from,
        count: COMMITS_AT_ONCE,
        ...(path !== undefined && { path }),
        ...(words !== '' && { words }),
      }
      const answer = await page.connection.ask('history', fields)
      // A newer request has been made meanwhile: this answer is dropped.
      if (own !== round.current) return
      problem.value = undefined
      const next = [...rows.peek().slice(0, from), ...answer.rows]
      batch(() => {
        if (from === 0) follow(rows.peek(), next)
        rows.value = next
        isComplete.value = answer.rows.length < COMMITS_AT_ONCE
        total.value =
          answer.total === undefined ? '' : `${answer.isCut ? 'newest ' : ''}${plural(answer.total, 'commit')}`
      })
    } catch (error) {
      if (own === round.current) problem.value = (error as Error).message
    }
    isAsking.current = false
  }
  // Loaded again when the branch has a new commit, the file is renamed, or other words are searched.
  useEffect(() => {
    ask(0)
  }, [tip, path, words])
  const more = () => {
    if (!isComplete.peek() && rows.peek().length > 0) ask(rows.peek().length)
  }
  return {
    rows: rows.value,
    problem: problem.value,
    again: () => ask(0),
    isComplete: isComplete.value,
    found: total.value,
    more,
  }
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
  const { row, index, isSelected, isActive, labelRoom, dropPlace, drag, select, open, openMenu } = props
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
        <CommitLabels commit={oid} room={labelRoom} />
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
