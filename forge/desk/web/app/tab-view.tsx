/** The view of a branch or a commit: the side bar and the shown pane. */

import { ChatView, DockedChat } from '../chat/chat.tsx'
import { EditorPane } from '../files/editor-pane.tsx'
import { Explorer } from '../files/explorer.tsx'
import { folderActions } from '../files/file-actions.ts'
import { Find } from '../files/find.tsx'
import { TimeTravel } from '../files/time-travel.tsx'
import { PublishStrip } from '../forklift/forklift.tsx'
import { MergingSide } from '../merging/merging-side.tsx'
import { showsConflicts } from '../page/branch-facts.ts'
import { PANE_BOUNDS } from '../page/graph-panes.ts'
import { placeOf } from '../page/open-files.ts'
import { usePlace } from '../page/places.ts'
import { type Pane, paneKey, type Tab, usePage } from '../page/state.ts'
import { HistoryView } from '../review/history.tsx'
import { LineHistory } from '../review/line-history.tsx'
import { ReviewPane } from '../review/review.tsx'
import { ReviewSide } from '../review/review-side.tsx'
import { RunFacts } from '../tasks/run-facts.tsx'
import { Boundary } from '../ui/boundary.tsx'
import { readable } from '../ui/names.ts'
import { Splitter } from '../ui/splitter.tsx'
import { ActionWay, Empty } from '../ui/words.tsx'
import { FileTabs } from './file-tabs.tsx'
import { Notices } from './notices.tsx'

/**
 * Shows a tab. Components with state of their own are keyed by the tab, so that each tab gets new ones; all others are
 * reused for the next tab.
 */
export function TabView({ tab }: { tab: Tab }) {
  const page = usePage()
  const place = placeOf(tab.at)
  const { pane } = tab
  const hasChat = pane.kind === 'chat' || tab.at.kind === 'commit' || page.isGone(tab.at)
  const { panes } = page.graph
  const isSideShown = panes.isSideShown.value
  const width = panes.widthOf('side')
  const isDocked = page.isDocked.value && page.isWide.value && !hasChat
  return (
    <main
      class={`tab-view ${isDocked ? 'three' : ''} ${isSideShown ? '' : 'no-side'}`}
      style={width === undefined ? {} : { '--w-side': `${width}px` }}
    >
      {isSideShown ? (
        <Boundary part="The side column" about={`${place} ${pane.kind}`}>
          <Side tab={tab} />
          <Splitter
            words="the side bar"
            side="left"
            {...PANE_BOUNDS.side}
            width={() => width ?? document.querySelector<HTMLElement>('.tab-view > .side')?.offsetWidth ?? 0}
            resize={to => panes.resize('side', to)}
          />
        </Boundary>
      ) : null}
      <section key={tab} class="middle" aria-label="Work">
        <FileTabs tab={tab} />
        <Notices tab={tab} hasChat={hasChat || isDocked} />
        <PublishStrip tab={tab} />
        {tab.at.kind === 'commit' ? <TimeTravel commit={tab.at.commit} /> : null}
        <Halves tab={tab} />
      </section>
      {isDocked ? (
        <Boundary part="The chat" about={tab}>
          <DockedChat key={tab} tab={tab} />
        </Boundary>
      ) : null}
    </main>
  )
}

/** The side bar, one list at a time: the changes, the conflicts of a merge, or all files. */
function Side({ tab }: { tab: Tab }) {
  const page = usePage()
  if (tab.pane.kind === 'review') return <ReviewSide key={tab} tab={tab} />
  if (showsConflicts(page, tab)) return <MergingSide key={tab} tab={tab} />
  return <Explorer tab={tab} />
}

/**
 * Shows the active pane, or two panes side by side if the editor is split; the active one is the one with the focus.
 */
function Halves({ tab }: { tab: Tab }) {
  const page = usePage()
  const other = tab.otherPane
  const shown = (
    <Boundary part="What stands here" about={tab.active.value}>
      <Content tab={tab} pane={tab.pane} isActive={true} />
    </Boundary>
  )
  if (!other) return shown
  const isRight = tab.split.value?.isRight ?? false
  const { panes } = page.graph
  const width = panes.widthOf('split')
  const beside = (
    <Boundary part="The other half" about={paneKey(other)}>
      <Content tab={tab} pane={other} isActive={false} />
    </Boundary>
  )
  const activate = () => tab.toOtherHalf()
  return (
    <div class="halves" style={width === undefined ? {} : { '--w-split': `${width}px` }}>
      <section key="left" class="half" aria-label="Left half" onFocusIn={isRight ? undefined : activate}>
        {isRight ? shown : beside}
      </section>
      <Splitter
        words="the left half"
        side="left"
        {...PANE_BOUNDS.split}
        width={() => document.querySelector<HTMLElement>('.halves > .half')?.offsetWidth ?? 0}
        resize={to => panes.resize('split', to)}
      />
      <section key="right" class="half" aria-label="Right half" onFocusIn={isRight ? activate : undefined}>
        {isRight ? beside : shown}
      </section>
    </div>
  )
}

interface ContentProps {
  tab: Tab
  pane: Pane
  /** Whether the pane is in the half with the focus; always if the editor is not split. */
  isActive: boolean
}

function Content({ tab, pane, isActive }: ContentProps) {
  const page = usePage()
  switch (pane.kind) {
    case 'chat':
      return page.desk.value?.isEmpty ? <FirstCommit tab={tab} /> : <ChatView tab={tab} />
    case 'file':
      return <FilePane tab={tab} path={pane.path} isActive={isActive} />
    case 'review':
      return (
        <ReviewPane tab={tab}>
          <RunFacts tab={tab} />
        </ReviewPane>
      )
    case 'history':
      if (pane.lines && pane.path !== undefined)
        return <LineHistory key={tab.history} tab={tab} path={pane.path} lines={pane.lines} />
      return <HistoryView key={tab.history} tab={tab} path={pane.path} />
    case 'find':
      return <Find tab={tab} />
  }
}

/**
 * Shows an open file. The file is the key, since it stays the same when it is renamed: the editor and its search keep
 * the focus and what is being typed.
 */
function FilePane({ tab, path, isActive }: { tab: Tab; path: string; isActive: boolean }) {
  const page = usePage()
  const file = page.files.open(tab.at, path, tab.positions.get(path))
  return <EditorPane key={file} tab={tab} file={file} isActive={isActive} />
}

/** The view of a repository without commits. */
function FirstCommit({ tab }: { tab: Tab }) {
  const page = usePage()
  const button = usePlace<HTMLButtonElement>('home')
  const desk = page.desk.value
  const branch = tab.at.kind === 'branch' ? readable(tab.at.branch) : ''
  const name = desk?.identity?.name
  return (
    <Empty title={`${desk?.name ?? 'The repository'} has no commits yet`}>
      <p class="lede">
        The first save creates the first commit, on <code class="ic">{branch}</code>
        {name ? `, as ${name}` : ''}.
      </p>
      <div class="ways">
        <ActionWay
          buttonRef={button}
          action={folderActions.newFile}
          about={{ page, tab }}
          words="Saving it creates the first commit"
        />
      </div>
      <p class="meta after">
        Files in the folder are not changed: the desk works on commits. Commit them with git to see them here.
      </p>
    </Empty>
  )
}
