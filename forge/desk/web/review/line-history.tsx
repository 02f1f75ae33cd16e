/** The history of some lines of a file: the commits that changed them, each with what it changed in them. */
import { useEffect } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import { branchOf } from '../page/branch-facts.ts'
import { usePlace } from '../page/places.ts'
import { type LinesOfFile, type Tab, usePage } from '../page/state.ts'
import { Failed } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { LIST_STEPS } from '../ui/list-keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { baseName, modelName, readable, shortId, visible, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { age, fullTime } from '../ui/times.ts'
import { VirtualList } from '../ui/virtual-list.tsx'
import { Button, Empty, Waiting } from '../ui/words.tsx'
import { Authorship } from './authorship.tsx'
import { type ChosenCommits, HISTORY_KEYS, historyActionFor, historyMenu, revert } from './history-actions.ts'
import { MessageBody, partsOf } from './message-body.tsx'
import { useCommit } from './use-commit.ts'

const ROW_HEIGHT = 26

type Rows = Answer<'line history'>
type Hunk = Rows[number]['hunks'][number]

export interface LinesProps {
  tab: Tab
  path: string
  lines: LinesOfFile
}

/** The title of a history of lines, with the name that the file has now. */
export function titleOfLines(path: string, { words }: LinesOfFile): string {
  return `History of ${withoutTricks(words)} of ${readable(baseName(path))}`
}

export function LineHistory({ tab, path, lines }: LinesProps) {
  const page = usePage()
  const { from, to } = lines
  const asked = useServerValue(
    () => page.connection.ask('line history', { at: tab.at, path, from, to }),
    [path, from, to],
  )
  // By its commit, so that it stays selected where the list is loaded again, as after a rename of the file.
  const { top, selectedOfLines: selectedCommit } = tab.history
  const list = usePlace<HTMLDivElement>('list')
  const rows = asked.latest.value
  const isKnown = rows !== undefined
  useEffect(() => {
    // Focus the list once it is loaded, unless the user has moved the focus from the file's tab meanwhile.
    if (isKnown && document.activeElement?.matches('body, [role="tab"]')) list.current?.focus()
  }, [isKnown, list])
  const selected = Math.max(0, rows?.findIndex(({ commit }) => commit.oid === selectedCommit.value) ?? 0)
  const current = rows?.[selected]
  if (asked.problem.value !== undefined) {
    return (
      <Failed
        title="The history of these lines could not be loaded"
        problem={asked.problem.value}
        again={() => asked.refresh()}
      />
    )
  }
  if (!rows) return <Waiting words="Loading the history of these lines" />
  if (rows.length === 0) return <Empty title="No commits" />
  const open = (row = current) => row && page.open({ kind: 'commit', commit: row.commit.oid }).edit(row.path ?? path)
  const aboutOf = (row: Rows[number] | undefined): ChosenCommits => ({
    ...{ page, branch: branchOf(tab), line: [] },
    chosen: row ? [row.commit] : [],
  })
  const select = (index: number) => {
    selectedCommit.value = rows[index]?.commit.oid
  }
  const openMenu = (index: number, event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    select(index)
    page.openMenu(historyMenu(aboutOf(rows[index])), placeOfMenu(event, element), list.current ?? undefined)
  }
  return (
    <div class="history">
      <VirtualList
        class="list commit-list"
        box={list}
        role="listbox"
        aria-label={titleOfLines(path, lines)}
        tabIndex={0}
        aria-activedescendant={`line-commit-${selected}`}
        count={rows.length}
        rowHeight={ROW_HEIGHT}
        active={selected}
        place={top}
        aria-keyshortcuts={HISTORY_KEYS}
        onKeyDown={event => {
          if (asksForMenu(event)) {
            const row = document.getElementById(`line-commit-${selected}`)
            openMenu(selected, event, row ?? event.currentTarget)
            return
          }
          if (event.ctrlKey || event.metaKey || event.altKey) return
          const step = LIST_STEPS[event.key]
          if (event.key === 'Enter') open()
          else if (step !== undefined) select(Math.max(0, Math.min(selected + step, rows.length - 1)))
          else {
            const run = historyActionFor(aboutOf(current), event)
            if (!run) return
            run()
            event.stopPropagation()
          }
          event.preventDefault()
        }}
        row={index => {
          const row = rows[index]
          return row ? (
            <Row
              key={row.commit.oid}
              {...{ row, index, isSelected: index === selected }}
              select={() => select(index)}
              open={() => open(row)}
              openMenu={openMenu}
            />
          ) : null
        }}
      />
      {current ? <Detail key={current.commit.oid} tab={tab} row={current} open={() => open()} /> : null}
    </div>
  )
}

interface RowProps {
  row: Rows[number]
  index: number
  isSelected: boolean
  select: () => void
  open: () => void
  openMenu: (index: number, event: MouseEvent, element: HTMLElement) => void
}

function Row({ row: { commit }, index, isSelected, select, open, openMenu }: RowProps) {
  const { oid, subject, author, committed, model } = commit
  return (
    // The list has the focus and handles the keys of its rows.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      role="option"
      id={`line-commit-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      class={`crow ${isSelected ? 'active' : ''}`}
      onClick={select}
      onDblClick={open}
      onContextMenu={event => openMenu(index, event, event.currentTarget)}
    >
      <span class="subject">
        <Icon name={model ? 'bot' : 'user'} tone={model ? 'by-ai' : ''} />
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

function Detail({ tab, row: { commit: row, hunks }, open }: { tab: Tab; row: Rows[number]; open: () => void }) {
  const page = usePage()
  const branch = branchOf(tab)
  const { commit } = useCommit(row.oid)
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
          <Button look="small" words="Open" keys="Enter" onClick={open} />
          <Button
            look="small"
            icon="diff"
            words="Changes"
            onClick={() => page.open({ kind: 'commit', commit: row.oid }).show({ kind: 'review' })}
          />
          <Button look="small" icon="undo" words="Revert…" onClick={() => revert(page, [row], branch)} />
        </div>
      </div>
      <MessageBody text={body} />
      <section class="detail-changes" aria-label="Changes of these lines">
        {hunks.map(hunk => (
          <Patch key={`${hunk.before} ${hunk.after}`} hunk={hunk} />
        ))}
      </section>
    </aside>
  )
}

const LOOKS: Record<string, { look: string; sign: string }> = {
  '+': { look: 'a', sign: '+' },
  '-': { look: 'm', sign: '−' },
}

function Patch({ hunk }: { hunk: Hunk }) {
  let { before, after } = hunk
  return (
    // It scrolls, so the keyboard must be able to focus it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div class="diff-code" tabIndex={0}>
      {hunk.lines.map((line, index) => {
        const kind = line[0] ?? ' '
        const { look, sign } = LOOKS[kind] ?? { look: '', sign: '' }
        const numbers = [kind === '+' ? undefined : before++, kind === '-' ? undefined : after++]
        return (
          <div class={`dl ${look}`} key={index}>
            <i>{numbers[0]}</i>
            <i>{numbers[1]}</i>
            <b>{sign}</b>
            <span>{visible(line.slice(1))}</span>
          </div>
        )
      })}
    </div>
  )
}
