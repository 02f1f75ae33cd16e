/** The repository view: the history as a graph, its refs at the side, and the selected commit. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { newBranch } from '../page/actions.ts'
import { splitByRun } from '../page/branches-of-runs.ts'
import { type GraphPaneName, PANE_BOUNDS } from '../page/graph-panes.ts'
import { usePlace } from '../page/places.ts'
import { type Page, usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import type { MenuItem } from '../ui/menu-content.ts'
import { placeOfMenu } from '../ui/menu-content.ts'
import { readable } from '../ui/names.ts'
import { Splitter } from '../ui/splitter.tsx'
import { digits, plural } from '../ui/times.ts'
import { ActionButton, Button, Empty, IconButton } from '../ui/words.tsx'
import { branchInView, graphActions } from './graph-actions.ts'
import { GraphDetail } from './graph-detail.tsx'
import { DragLayer, pressOn } from './graph-drag.tsx'
import { GraphList } from './graph-list.tsx'
import { GraphSide } from './graph-side.tsx'
import { stopStep } from './graph-steps.ts'

/** Delay after the last key before a search starts, in milliseconds. */
const FIND_DELAY_MS = 200

/** The repository view. `notices`: shown above the graph. */
export function RepositoryView({ notices }: { notices: ComponentChildren }) {
  const page = usePage()
  const { graph } = page
  useEffect(() => {
    graph.begin()
    return () => graph.end()
  }, [graph])
  const { value: desk } = page.desk
  const { panes } = graph
  const areRefsShown = panes.areRefsShown.value && !panes.isCommitLarge.value
  return (
    <main class={`repo ${panes.isCommitLarge.value ? 'large' : ''}`} onPointerDown={event => pressOn(page, event)}>
      {areRefsShown ? (
        <>
          <GraphSide width={panes.widthOf('refs')} />
          <PaneEdge pane="refs" />
        </>
      ) : null}
      <section class="middle" aria-label="Repository">
        <Toolbar />
        {graph.isFinding.value ? <FindBar /> : null}
        {notices}
        <FailedLine problem={graph.problem.value} again={() => graph.look()} />
        {desk?.isEmpty && graph.count === 0 ? <NoCommits page={page} /> : <GraphList />}
      </section>
      {panes.isCommitShown.value ? (
        <>
          {panes.isCommitLarge.value ? null : <PaneEdge pane="commit" />}
          <GraphDetail />
        </>
      ) : null}
      <DragLayer />
    </main>
  )
}

const PANES = {
  refs: { words: 'the branches and tags', side: 'left' },
  commit: { words: 'the commit', side: 'right' },
} as const

function PaneEdge({ pane }: { pane: GraphPaneName }) {
  const page = usePage()
  const { panes } = page.graph
  const { words, side } = PANES[pane]
  return (
    <Splitter
      words={words}
      side={side}
      {...PANE_BOUNDS[pane]}
      width={() => page.places.find(pane)?.offsetWidth ?? panes.widthOf(pane) ?? PANE_BOUNDS[pane].min}
      resize={width => panes.resize(pane, width)}
    />
  )
}

function NoCommits({ page }: { page: Page }) {
  const button = usePlace<HTMLButtonElement>('home')
  return (
    <Empty title={`${page.desk.value?.name ?? 'The repository'} has no commits yet`}>
      <p class="lede">The first save in a branch creates the first commit.</p>
      <Button buttonRef={button} words="New branch" icon="branch" onClick={() => newBranch(page)} />
    </Empty>
  )
}

function Toolbar() {
  const page = usePage()
  const { graph } = page
  const branch = branchInView(page)
  const { value: progress } = graph.progress
  const { value: filter } = graph.filter
  const isLarge = graph.panes.isCommitLarge.value
  const name = branch === undefined ? '' : readable(branch)
  return (
    <div class="graph-bar" role="toolbar" aria-label="Repository">
      {isLarge ? null : (
        <IconButton
          icon="panel-left"
          words="Branches and tags"
          isPressed={graph.panes.areRefsShown.value}
          onClick={() => graph.panes.toggle('refs')}
        />
      )}
      <ActionButton action={graphActions.fetch} about={page} look="small quiet" isOff={progress !== undefined} />
      {branch === undefined ? null : (
        <>
          <Button
            look="small quiet"
            icon="arrow-down"
            words="Pull"
            title={`Pull ${name}`}
            isOff={progress !== undefined}
            onClick={() => graphActions.pull.run(page)}
          />
          <Button
            look="small quiet"
            icon="upload"
            words="Push"
            title={`Push ${name}`}
            isOff={progress !== undefined}
            onClick={() => graphActions.push.run(page)}
          />
        </>
      )}
      {progress === undefined ? null : (
        <>
          <Icon name="arc" tone="spin" />
          <span class="cut progress" role="status">
            {progress}
          </span>
          <Button look="small stop" words="Stop" onClick={() => stopStep(page)} />
        </>
      )}
      <span class="grow" />
      {isLarge ? null : (
        <>
          <button
            type="button"
            class="button small quiet"
            aria-pressed={filter.withAbandoned}
            title={`Commits that only reflogs or Undo reach  ${shownKeys(graphActions.abandoned.keys)}`}
            onClick={() => graphActions.abandoned.run(page)}
          >
            <Icon name="ghost" />
            <span class="word">Unreachable</span>
          </button>
          <button
            type="button"
            class={`button small quiet ${graph.filterWords.value === undefined ? 'all-refs' : ''}`}
            aria-haspopup="menu"
            title="Which branches, tags and remotes are shown"
            onClick={event => {
              const button = event.currentTarget
              page.openMenu({ title: 'Show', groups: filterItems(page) }, placeOfMenu(event, button), button)
            }}
          >
            <Icon name="funnel" />
            <span class="cut">{graph.filterWords.value ?? 'All refs'}</span>
          </button>
        </>
      )}
      <IconButton
        icon="search"
        words="Find a commit"
        keys={graphActions.find.keys}
        isPressed={graph.isFinding.value}
        onClick={() => {
          graph.isFinding.value = !graph.isFinding.peek()
        }}
      />
      <IconButton
        icon="panel"
        words="Commit"
        isPressed={graph.panes.isCommitShown.value}
        onClick={() => graph.panes.toggle('commit')}
      />
    </div>
  )
}

function filterItems(page: Page): MenuItem[][] {
  const { graph } = page
  const { withAbandoned } = graph.filter.peek()
  const refsOf = (list: readonly { name: string }[]) => list.map(({ name }) => `refs/heads/${name}`)
  const branches = graph.branches.peek()
  const { own, ofRuns } = splitByRun(branches)
  const branch = branchInView(page)
  const only = (words: string, refs: string[] | undefined, label?: string): MenuItem => ({
    words,
    icon: 'funnel',
    run: () => graph.setFilter({ withAbandoned, ...(refs && { refs }) }, label),
  })
  return [
    [only('All refs', undefined)],
    [
      only('Local branches', refsOf(branches), 'Branches'),
      ...(ofRuns.length > 0 ? [only('Local branches without those of runs', refsOf(own), 'Without runs')] : []),
      ...(branch === undefined ? [] : [only(`${readable(branch)} only`, [`refs/heads/${branch}`], readable(branch))]),
    ],
  ]
}

function FindBar() {
  const page = usePage()
  const { graph } = page
  const field = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const { value: wanted } = graph.findWanted
  // A layout effect, so that the next key goes to the field, and replaces the words of an earlier search.
  useLayoutEffect(() => {
    field.current?.focus()
    field.current?.select()
  }, [wanted])
  useEffect(() => {
    return () => {
      clearTimeout(timer.current)
      graph.find('')
    }
  }, [graph])
  const close = () => {
    graph.isFinding.value = false
    graph.focusWish.make()
  }
  const { value: found } = graph.found
  const at = found?.rows.findIndex(({ row }) => row === graph.selected.value.row) ?? -1
  const words = found ? foundWords(found.rows.length, found.isCut, at) : ''
  return (
    <search class="graph-find">
      <Icon name="search" />
      <input
        ref={field}
        class="field"
        aria-label="Find a commit"
        placeholder="Message, author, hash or ref"
        autocomplete="off"
        spellcheck={false}
        onInput={event => {
          const { value } = event.currentTarget
          clearTimeout(timer.current)
          timer.current = setTimeout(() => graph.find(value), FIND_DELAY_MS)
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') close()
          else if (event.key === 'Enter') graph.findNext(event.shiftKey ? -1 : 1)
          else return
          event.preventDefault()
          event.stopPropagation()
        }}
      />
      <span class="meta" role="status">
        {words}
      </span>
      <IconButton icon="x" words="Close search" onClick={close} />
    </search>
  )
}

function foundWords(count: number, isCut: boolean, at: number): string {
  if (count === 0) return isCut ? 'It took too long' : 'No results'
  const all = `${plural(count, 'commit')}${isCut ? ' and more' : ''}`
  return at < 0 ? all : `${digits(at + 1)} of ${all}`
}
