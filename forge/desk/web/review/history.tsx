/** The commits of a branch or a file, and what each of them is. A commit opens as it was, in a tab of its own. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import type { CommitRow } from '../../contract/reading.ts'
import { newBranch } from '../app/actions.ts'
import { type Page, type Tab, usePage } from '../app/state.ts'
import { Icon } from '../ui/icons.tsx'
import { LineCounts } from '../ui/line-counts.tsx'
import { readable, shortId, withoutTricks } from '../ui/names.ts'
import { age, fullTime, plural } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Button, Empty, Path, Waiting } from '../ui/words.tsx'
import { ChangeLetter } from './review-side.tsx'

const ROW_HEIGHT = 26
const WINDOW = 200
const MOST_FILES = 200

export function History({ tab, path }: { tab: Tab; path: string | undefined }) {
  const page = usePage()
  const { rows, problem, isComplete, more } = useHistory(page, tab, path)
  const selected = useSignal(0)
  const current = rows[selected.value]
  if (problem) {
    return (
      <Empty title="The history could not be read">
        <p class="lede">{problem}</p>
      </Empty>
    )
  }
  if (isComplete && rows.length === 0) return <Empty title="No commits yet" />
  return (
    <div class="history">
      <VirtualList
        class="list commit-list"
        role="listbox"
        aria-label={path === undefined ? 'History' : `History of ${readable(path)}`}
        tabIndex={0}
        aria-activedescendant={current ? `commit-${selected.value}` : undefined}
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        active={selected.value}
        onReach={index => {
          if (index > rows.length - WINDOW / 4) more()
        }}
        onKeyDown={event => {
          if (event.altKey || event.ctrlKey || event.metaKey) return
          const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key]
          if (event.key === 'Enter' && current) travel(page, tab, current, path)
          else if (step === undefined) return
          else selected.value = Math.max(0, Math.min(selected.value + step, rows.length - 1))
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
              isSelected={index === selected.value}
              select={() => {
                selected.value = index
              }}
              open={() => travel(page, tab, row, path)}
            />
          )
        }}
      />
      {current ? <Detail key={current.oid} tab={tab} row={current} path={path} /> : <Waiting words="Reading history" />}
    </div>
  )
}

/** Opens a commit; of a file's history, with that file. */
function travel(page: Page, tab: Tab, { oid }: CommitRow, path: string | undefined): void {
  const there = page.open({ kind: 'commit', commit: oid })
  const shown = path ?? (there.panes.peek().length === 1 ? tab.panes.peek().findLast(isFile)?.path : undefined)
  if (shown !== undefined && path !== undefined) there.show({ kind: 'file', path: shown })
}

function isFile(pane: { kind: string }): pane is { kind: 'file'; path: string } {
  return pane.kind === 'file'
}

function useHistory(page: Page, tab: Tab, path: string | undefined) {
  const rows = useSignal<CommitRow[]>([])
  const problem = useSignal<string | undefined>(undefined)
  const isComplete = useSignal(false)
  const isAsking = useRef(false)
  const branch = tab.at.kind === 'branch' ? page.branch(tab.at.branch) : undefined
  const tip = branch?.tip
  // What a merge that waits has so far is no commit of the branch's yet.
  const at: Tab['at'] = branch?.merging && tip !== undefined ? { kind: 'commit', commit: tip } : tab.at

  const ask = async (from: number) => {
    if (isAsking.current) return
    isAsking.current = true
    try {
      const fields = { at, from, count: WINDOW, ...(path === undefined ? {} : { path }) }
      const answer = await page.connection.ask('history', fields)
      rows.value = [...rows.peek().slice(0, from), ...answer.rows]
      isComplete.value = answer.rows.length < WINDOW
    } catch (error) {
      problem.value = (error as Error).message
    }
    isAsking.current = false
  }
  // Asked again when the branch has another commit.
  useEffect(() => {
    ask(0)
  }, [tip])
  const more = () => {
    if (!isComplete.peek() && rows.peek().length > 0) ask(rows.peek().length)
  }
  return { rows: rows.value, problem: problem.value, isComplete: isComplete.value, more }
}

interface HistoryRowProps {
  row: CommitRow
  index: number
  isSelected: boolean
  select: () => void
  open: () => void
}

function HistoryRow({ row, index, isSelected, select, open }: HistoryRowProps) {
  const { oid, subject, author, committed, model, parents } = row
  return (
    // The keys of the rows are those of the list, which has the focus.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      role="option"
      id={`commit-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      class={`crow ${parents.length > 1 ? 'merge' : ''}`}
      onClick={select}
      onDblClick={open}
    >
      <span class="subject">
        <Icon name={model ? 'bot' : 'user'} tone={model ? 'by-ai' : ''} />
        <bdi class="cut">{withoutTricks(subject)}</bdi>
      </span>
      <span class="who">
        <bdi class="cut">{model ?? author.name}</bdi>
      </span>
      <span class="hash">{shortId(oid)}</span>
      <span class="age" title={fullTime(committed)}>
        {age(committed)}
      </span>
    </div>
  )
}

function Detail({ tab, row, path }: { tab: Tab; row: CommitRow; path: string | undefined }) {
  const page = usePage()
  const commit = useSignal<Answer<'commit'> | undefined>(undefined)
  useEffect(() => {
    page.connection.ask('commit', { commit: row.oid }).then(
      answer => {
        commit.value = answer
      },
      error => page.complain(error),
    )
  }, [page, row.oid, commit])
  const { author, committed, model, subject } = row
  const body = commit.value?.message.slice(commit.value.message.indexOf('\n') + 1).trim()
  return (
    <aside class="detail" aria-label="Commit">
      <div class="detail-head">
        <h2>
          <bdi>{withoutTricks(subject)}</bdi>
        </h2>
        <p class="meta">
          <bdi>{author.name}</bdi>
          {model ? <span class="by-ai"> with {model}</span> : null}, {fullTime(committed)}
        </p>
        <p class="mono meta">{row.oid}</p>
        <div class="acts">
          <Button look="small" words="Open" keys="Enter" onClick={() => travel(page, tab, row, path)} />
          <Button look="small" icon="diff" words="Changes" onClick={() => showChanges(page, row)} />
          <Button
            look="small"
            icon="branch"
            words="Branch from here"
            onClick={() => newBranch(page, { commit: row.oid, words: shortId(row.oid) })}
          />
        </div>
      </div>
      {body && commit.value?.message.includes('\n') ? <pre class="message">{body}</pre> : null}
      <Files commit={commit.value} />
    </aside>
  )
}

function showChanges(page: Page, { oid }: CommitRow): void {
  page.open({ kind: 'commit', commit: oid }).show({ kind: 'review' })
}

function Files({ commit }: { commit: Answer<'commit'> | undefined }) {
  if (!commit) return null
  const { changes } = commit
  return (
    <section class="detail-files" aria-label="Files">
      <h3>{plural(changes.length, 'file')}</h3>
      {changes.slice(0, MOST_FILES).map(change => (
        <div class="filerow" key={change.path}>
          <ChangeLetter status={change.status} />
          <Path of={change.path} />
          <LineCounts count={change} />
        </div>
      ))}
      {changes.length > MOST_FILES ? <p class="meta">and {changes.length - MOST_FILES} more</p> : null}
    </section>
  )
}
