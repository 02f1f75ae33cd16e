/** The state of the page: a copy of the server's state, and the state of this window. */
import { batch, computed, effect, type Signal, signal, untracked } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { BranchInfo, DeletedBranch } from '../../contract/branches.ts'
import type { DeskInfo, Layout, LeftBehind, ViewLayout } from '../../contract/desk.ts'
import type { News } from '../../contract/news.ts'
import { pathAfter } from '../../contract/paths.ts'
import type { At, Gone } from '../../contract/values.ts'
import { OpenFile, type Position } from '../editor/open-file.ts'
import { FieldInUse, FocusPlaces, FocusWish } from '../ui/focus.ts'
import type { MenuContent, Offer } from '../ui/menu-content.ts'
import { named } from '../ui/names.ts'
import { Connection, NotConnected } from '../ui/socket.ts'
import { ComposerState } from './composer-state.ts'
import { ConversationState } from './conversation-state.ts'
import type { CopiedFiles } from './copied-files.ts'
import type { DialogContent } from './dialog-content.ts'
import { DialogTexts } from './dialog-texts.ts'
import { ForkliftState } from './forklift-state.ts'
import { GraphState } from './graph-state.ts'
import { HistoryState } from './history-state.ts'
import { keep, kept as keptInBrowser } from './kept.ts'
import { MergingState } from './merging-state.ts'
import { OpenFiles, placeOf } from './open-files.ts'
import type { NamedPlace, PaletteMode } from './palette-mode.ts'
import { ReviewState } from './review-state.ts'
import { SaveMessage } from './save-message.ts'
import { Saves } from './saves.ts'
import { TextSearch } from './search.ts'
import { Settings } from './settings.ts'
import { TasksState } from './tasks-state.ts'
import { branchesWithTexts, moveTexts, placeIn } from './texts-of-places.ts'
import { Tree } from './tree.ts'
import { UnsentTexts } from './unsent-texts.ts'
import { keepInWindow, keptInWindow } from './window-layout.ts'

/** Lines of a file in its last commit, from 1, both included. `words`: their name, such as `lines 3 to 5`. */
export interface LinesOfFile {
  from: number
  to: number
  words: string
}

/** What a tab of a branch or a commit shows: at most one pane of each kind, and one for each open file. */
export type Pane =
  | { kind: 'chat' }
  | { kind: 'file'; path: string }
  | { kind: 'review' }
  | { kind: 'history'; path: string | undefined; lines?: LinesOfFile }
  | { kind: 'find' }

export function paneKey(pane: Pane): string {
  return pane.kind === 'file' ? `file ${pane.path}` : pane.kind
}

const CHAT: Pane = { kind: 'chat' }

/** What is kept of a tab: its files and views, and where the cursor is in them. */
export type TabLayout = Layout['tabs'][number]

/**
 * The tab of a branch or a commit. It stays the same when its branch is renamed, and is the key of the components that
 * show it: they keep their elements, and so the focus and what is being typed.
 */
export class Tab {
  readonly #at: Signal<At>
  readonly tree: Tree
  readonly review: ReviewState
  readonly search: TextSearch
  readonly conversation: ConversationState
  readonly composer: ComposerState
  readonly merging: MergingState
  readonly saveMessage: SaveMessage
  readonly panes: Signal<Pane[]>
  /** If the editor is split: the pane in the half without the focus, and whether this is the right half. */
  readonly split: Signal<{ key: string; isRight: boolean } | undefined>
  /** The paths of the pinned files, whose tabs come first. */
  readonly pinned: Signal<ReadonlySet<string>>
  /** The path of the file in the preview tab, which the next file opened by a single click replaces. */
  readonly previewed: Signal<string | undefined>
  readonly active: Signal<string>
  /** The heading that the preview of a Markdown file is to show, as a link has asked for it. */
  readonly headingWanted = signal<{ path: string; slug: string } | undefined>(undefined)
  /** The first line and cursor of each file in the last session, or when its tab was closed with its draft. */
  readonly positions: Map<string, Position>
  /** Requests the focus for the editor of the shown file. */
  readonly focusWish = new FocusWish()
  /** The label of the text field that had the focus when the tab was left, if one had it. */
  leftField: string | undefined
  /** The commit of the branch up to which the files that were not shown yet have followed renames. */
  followedTo: string | undefined
  /** Whether they were looked for when the tab was shown first. */
  hasFollowed = false
  /** Those of the files that were not shown yet which the branch does not have any more. */
  readonly missing = signal<ReadonlySet<string>>(new Set())
  /** The panes that the user has closed, the last one at the end; {@link closedPane} is opened again next. */
  readonly recentlyClosed = signal<readonly ClosedPane[]>([])
  /** The panes that operations of this window have closed, by the operation. */
  readonly #closed = new Map<string, ClosedPanes>()
  /** The shown history: the key of its component, which stays the same when its file is renamed. */
  history: HistoryState
  /** The keys of the panes that were shown, the last one at the end. */
  readonly #shown = new Set<string>()
  readonly #page: Page

  constructor(page: Page, at: At, kept?: TabLayout) {
    this.#page = page
    this.#at = signal(at)
    this.history = this.#newHistory()
    this.tree = new Tree(page.connection, at, kept?.folders ?? [])
    this.search = new TextSearch(page.connection, at, kept?.search, () => {
      const { at } = this
      return at.kind === 'branch' ? page.branch(at.branch)?.tip : undefined
    })
    this.conversation = new ConversationState(page.connection, at)
    const desk = page.desk.peek()
    const place = placeIn(desk?.folder, at)
    this.followedTo = at.kind === 'branch' ? desk?.branches.find(({ name }) => name === at.branch)?.tip : undefined
    this.review = new ReviewState(page, at, place)
    this.merging = new MergingState(page.connection, at, place, title => page.tell({ title }, 'info'))
    this.composer = new ComposerState(place)
    this.saveMessage = new SaveMessage(place)
    this.positions = keptPositions(kept)
    this.panes = signal(panesOf(kept))
    const shown: Pane | undefined = kept?.active === undefined ? undefined : { kind: 'file', path: kept.active }
    this.active = signal(shown ? paneKey(shown) : (kept?.view ?? CHAT.kind))
    this.review.chosenBase.value = kept?.base
    this.review.lookedAt.value = new Set(kept?.viewed)
    const split = kept?.split
    this.split = signal(split && { key: paneKey({ kind: 'file', path: split.path }), isRight: split.isRight })
    this.pinned = signal(new Set(kept?.pinned))
    this.previewed = signal(kept?.previewed)
    if (kept?.active !== undefined) this.tree.selected.value = kept.active
    this.active.subscribe(key => {
      this.#shown.delete(key)
      this.#shown.add(key)
    })
  }

  /** The branch or commit; the branch under the name that it has now. */
  get at(): At {
    return this.#at.value
  }

  /**
   * Follows the branch to its new name, with what is being written and looked for there. `place`: a key that identifies
   * the branch and its repository; the browser has moved the texts to it already.
   */
  moveTo(at: At, place: string): void {
    batch(() => {
      this.#at.value = at
      this.hasFollowed = false
      this.tree.moveTo(at)
      this.search.moveTo(at)
      this.review.moveTo(at, place)
      this.conversation.moveTo(at)
      this.merging.moveTo(at, place)
      this.composer.moveTo(place)
      this.saveMessage.moveTo(place)
    })
  }

  /** Goes on with the texts that the browser keeps for the branch, unless others are being written. */
  restoreTexts(): void {
    this.review.draft.restore()
    this.composer.restore()
    this.saveMessage.restore()
  }

  get pane(): Pane {
    const key = this.active.value
    return this.panes.value.find(pane => paneKey(pane) === key) ?? CHAT
  }

  /** The path of the shown file, if a file is shown. */
  get path(): string | undefined {
    const { pane } = this
    return pane.kind === 'file' ? pane.path : undefined
  }

  /** The paths of the open files and of those closed last, without the shown one; the one shown last is first. */
  get recentFiles(): string[] {
    const panes = [...this.recentlyClosed.value.map(({ pane }) => pane), ...this.panes.value].reverse()
    const paths = new Set(panes.flatMap(pane => (pane.kind === 'file' && pane.path !== this.path ? [pane.path] : [])))
    const order = [...this.#shown]
    const rankOf = (path: string) => order.indexOf(paneKey({ kind: 'file', path }))
    return [...paths].sort((one, other) => rankOf(other) - rankOf(one))
  }

  show(pane: Pane): void {
    const key = paneKey(pane)
    const there = this.panes.peek().find(other => paneKey(other) === key)
    batch(() => {
      if (pane.kind === 'history' && !isSameHistory(pane, there)) this.history = this.#newHistory()
      if (!there) this.panes.value = [...this.panes.peek(), pane]
      else if (pane.kind === 'history') {
        this.panes.value = this.panes.peek().map(other => (other.kind === 'history' ? pane : other))
      }
      this.#activate(key)
      if (pane.kind === 'file') this.tree.reveal(pane.path)
    })
  }

  #newHistory(): HistoryState {
    return new HistoryState(this.#page, () => this.at)
  }

  /** Shows a pane in the half with the focus, or moves the focus to the half that shows it. */
  #activate(key: string): void {
    if (this.active.peek() === key) return
    if (this.split.peek()?.key === key) this.toOtherHalf()
    else this.active.value = key
  }

  /** Makes the other half of a split the one with the focus. The explorer marks its file. */
  toOtherHalf(): void {
    const split = this.split.peek()
    if (!split) return
    batch(() => {
      this.split.value = { key: this.active.peek(), isRight: !split.isRight }
      this.active.value = split.key
      if (this.path !== undefined) this.tree.reveal(this.path)
    })
  }

  /** The pane in the half without the focus; undefined if the editor is not split. */
  get otherPane(): Pane | undefined {
    const key = this.split.value?.key
    return key === undefined ? undefined : this.panes.value.find(pane => paneKey(pane) === key)
  }

  /** The shown file, or else the open one that was shown last. */
  get lastFile(): Pane | undefined {
    const files = this.panes.value.filter(({ kind }) => kind === 'file')
    const keys = files.map(paneKey)
    const last = [...keys, ...this.#shown].findLast(key => keys.includes(key))
    return files.find(pane => paneKey(pane) === last)
  }

  /** Splits the editor: the shown pane stays on the left, and the right half gets the focus and the last file. */
  splitRight(): void {
    const next = this.lastFile
    if (!next) return
    batch(() => {
      this.split.value = { key: this.active.peek(), isRight: false }
      this.active.value = paneKey(next)
      this.focusWish.make()
    })
  }

  /** Moves a pane before another one, or to the end. The chat stays first, and pinned files before the others. */
  move(pane: Pane, before: Pane | undefined): void {
    if (pane.kind === 'chat' || pane === before) return
    const others = this.panes.peek().filter(other => other !== pane)
    const at = before === undefined ? others.length : Math.max(1, others.indexOf(before))
    batch(() => {
      this.panes.value = this.#inOrder(others.toSpliced(at, 0, pane))
      if (pane.kind === 'file') this.keepOpen(pane.path)
    })
  }

  pin(path: string): void {
    const pinned = new Set(this.pinned.peek())
    if (!pinned.delete(path)) pinned.add(path)
    batch(() => {
      this.keepOpen(path)
      this.pinned.value = pinned
      this.panes.value = this.#inOrder(this.panes.peek())
    })
  }

  isPinned(pane: Pane): boolean {
    return pane.kind === 'file' && this.pinned.value.has(pane.path)
  }

  #inOrder(panes: readonly Pane[]): Pane[] {
    const rank = (pane: Pane) => (pane.kind === 'chat' ? 0 : this.isPinned(pane) ? 1 : 2)
    return panes.toSorted((one, other) => rank(one) - rank(other))
  }

  /** Shows a file and focuses its editor. */
  edit(path: string): void {
    this.show({ kind: 'file', path })
    this.keepOpen(path)
    this.focusWish.make()
  }

  /**
   * Shows a file in the preview tab, or in its own tab if it has one. Returns the path of the file that the preview tab
   * showed before, if its tab is gone with that.
   */
  preview(path: string): string | undefined {
    const pane: Pane = { kind: 'file', path }
    const panes = this.panes.peek()
    const previous = this.previewed.peek()
    const index = panes.findIndex(other => other.kind === 'file' && other.path === previous)
    const isOpen = panes.some(other => paneKey(other) === paneKey(pane))
    // A file in the other half of a split stays there.
    const isReplaced = index >= 0 && this.split.peek()?.key !== paneKey({ kind: 'file', path: previous ?? '' })
    batch(() => {
      if (!isOpen) {
        this.panes.value = isReplaced ? panes.with(index, pane) : [...panes, pane]
        this.previewed.value = path
      }
      this.show(pane)
    })
    return !isOpen && isReplaced ? previous : undefined
  }

  isPreviewed(pane: Pane): boolean {
    return pane.kind === 'file' && this.previewed.value === pane.path
  }

  /** Makes the preview tab of a file an ordinary tab. Returns whether it was the preview tab. */
  keepOpen(path: string): boolean {
    if (this.previewed.peek() !== path) return false
    this.previewed.value = undefined
    return true
  }

  /** Shows the search in all files and focuses its field. */
  find(): void {
    this.show({ kind: 'find' })
    this.search.focus('words')
  }

  /** Follows the rename of a file or folder: its panes stay open under the new path. */
  rename(renamed: { from: string; to: string }): void {
    const moved = (pane: Pane): Pane => {
      const path = 'path' in pane && pane.path !== undefined ? pathAfter(renamed, pane.path) : undefined
      return path === undefined ? pane : ({ ...pane, path } as Pane)
    }
    for (const places of [...this.#closed.values()].flatMap(({ before, after }) => [before, after])) {
      places.shown = moved(places.shown)
      places.other = places.other && moved(places.other)
    }
    batch(() => {
      this.recentlyClosed.value = this.recentlyClosed.peek().map(it => ({ ...it, pane: moved(it.pane) }))
      this.active.value = paneKey(moved(this.pane))
      const other = this.otherPane
      const split = this.split.peek()
      if (other && split) this.split.value = { ...split, key: paneKey(moved(other)) }
      this.pinned.value = new Set([...this.pinned.peek()].map(path => pathAfter(renamed, path) ?? path))
      const previewed = this.previewed.peek()
      if (previewed !== undefined) this.previewed.value = pathAfter(renamed, previewed) ?? previewed
      const panes = this.panes.peek().map(moved)
      // A pane of the new path may have been open already: one of the two is removed.
      this.panes.value = panes.filter((pane, at) => panes.findIndex(it => paneKey(it) === paneKey(pane)) === at)
      this.tree.rename(renamed)
    })
  }

  get #places(): PanePlaces {
    const [shown, other] = [this.pane, this.otherPane]
    return { panes: this.panes.peek(), shown, other, isRight: this.split.peek()?.isRight ?? false }
  }

  /** Closes panes by `close`, as an operation has removed their files: {@link reopen} brings them back. */
  closeFor(operation: string, closed: readonly Pane[], close: () => void): void {
    const before = this.#places
    close()
    this.#closed.set(operation, { closed, before, after: this.#places })
  }

  /**
   * Opens the panes that an operation closed, in their places, after its undo. They are shown if they were before,
   * unless the user has shown another pane since.
   */
  reopen(operation: string): void {
    const known = this.#closed.get(operation)
    if (!known) return
    this.#closed.delete(operation)
    const { closed, before, after } = known
    const isSame = (one: Pane | undefined, other: Pane | undefined) =>
      (one && paneKey(one)) === (other && paneKey(other))
    const isStill = isSame(this.pane, after.shown) && isSame(this.otherPane, after.other)
    batch(() => {
      const panes = [...this.panes.peek()]
      for (const pane of closed)
        if (!panes.some(other => isSame(other, pane))) panes.splice(before.panes.indexOf(pane), 0, pane)
      this.panes.value = this.#inOrder(panes)
      const [shown, other] = [before.shown, before.other].map(it => panes.find(pane => isSame(pane, it)))
      if (!isStill || !shown) return
      this.active.value = paneKey(shown)
      this.split.value = other && { key: paneKey(other), isRight: before.isRight }
    })
  }

  /** The pane that the user has closed last, and that is not open. */
  get closedPane(): ClosedPane | undefined {
    const open = new Set(this.panes.value.map(paneKey))
    return this.recentlyClosed.value.findLast(({ pane }) => !open.has(paneKey(pane)))
  }

  /** Opens the pane that the user has closed last in its place again, and shows it. */
  reopenClosed(): Pane | undefined {
    const closed = this.closedPane
    if (!closed) return undefined
    const { pane, index, position } = closed
    if (pane.kind === 'file' && position) this.positions.set(pane.path, position)
    const recent = this.recentlyClosed.peek()
    batch(() => {
      this.recentlyClosed.value = recent.slice(0, recent.indexOf(closed))
      this.panes.value = this.#inOrder(this.panes.peek().toSpliced(index, 0, pane))
    })
    return pane
  }

  /** Remembers a pane that the user is about to close. `position`: where its file was. */
  rememberClosed(pane: Pane, position: Position | undefined): void {
    const key = paneKey(pane)
    const index = this.panes.peek().findIndex(other => paneKey(other) === key)
    if (pane.kind === 'chat' || index < 0) return
    this.recentlyClosed.value = [...this.recentlyClosed.peek(), { pane, index, position }].slice(-MAX_RECENTLY_CLOSED)
  }

  /** Closes a pane and shows the one beside it. */
  close(pane: Pane): void {
    if (pane.kind === 'chat') return
    const key = paneKey(pane)
    const index = this.panes.peek().findIndex(other => paneKey(other) === key)
    if (index < 0) return
    batch(() => {
      const panes = this.panes.peek().toSpliced(index, 1)
      this.panes.value = panes
      if (pane.kind === 'file') this.keepOpen(pane.path)
      const split = this.split.peek()
      const rest = split && split.key !== key ? split.key : paneKey(panes[index] ?? panes[index - 1] ?? CHAT)
      if (this.active.peek() === key) this.active.value = rest
      if (split && [key, this.active.peek()].includes(split.key)) this.split.value = undefined
    })
  }
}

/** The panes of a tab in their order, and which of them are shown: `other` is the one in the half without the focus. */
interface PanePlaces {
  panes: readonly Pane[]
  shown: Pane
  other: Pane | undefined
  isRight: boolean
}

/** A pane that the user has closed: its place among the others, and where its file was. */
interface ClosedPane {
  pane: Pane
  index: number
  position: Position | undefined
}

/** Panes that were closed together, and all of their tab before and after that. */
interface ClosedPanes {
  closed: readonly Pane[]
  before: PanePlaces
  after: PanePlaces
}

/** Whether two panes are the history of the same file, or of the same lines. */
function isSameHistory(one: Pane, other: Pane | undefined): boolean {
  if (one.kind !== 'history' || other?.kind !== 'history') return false
  return one.path === other.path && one.lines?.from === other.lines?.from && one.lines?.to === other.lines?.to
}

/** The panes of a kept tab, in their order. */
function panesOf(kept: TabLayout | undefined): Pane[] {
  const panes: Pane[] = [CHAT, ...(kept?.files ?? []).map(({ path }): Pane => ({ kind: 'file', path }))]
  for (const { at, kind, path, lines } of kept?.views ?? [])
    panes.splice(at, 0, kind === 'history' ? { kind, path, ...(lines && { lines }) } : { kind })
  return panes
}

/** The panes of a tab that show no file, apart from the chat. */
function viewsOf(panes: readonly Pane[]): ViewLayout[] {
  return panes.flatMap((pane, at): ViewLayout[] => {
    if (pane.kind === 'file' || pane.kind === 'chat') return []
    if (pane.kind !== 'history') return [{ kind: pane.kind, at }]
    const { kind, path, lines } = pane
    return [{ kind, at, ...(path !== undefined && { path }), ...(lines && { lines }) }]
  })
}

/** The places in the files of a kept tab; of a file in both halves of a split, both. */
function keptPositions(kept: TabLayout | undefined): Map<string, Position> {
  const { files = [], split, active } = kept ?? {}
  const { firstLine, cursor, cursorLine } = split ?? {}
  const other = split?.path === active && cursor !== undefined ? { firstLine, cursor, cursorLine } : undefined
  return new Map(
    files.map(({ path, ...place }) => [path, { ...place, ...(other && path === active && { other }) }] as const),
  )
}

export interface NoticeAction {
  words: string
  isMain?: boolean
  /** Whether the notice stays while the action runs. */
  stays?: boolean
  /** The key that does this, too, while the notice is shown: it may be about another branch than the one shown. */
  key?: 'undo' | 'redo'
  run: () => void
}

/** A message to the user. News of success disappears by itself; all else stays until it is resolved or dismissed. */
export interface Notice {
  /** The subject: a newer notice of the same topic replaces this one, and solving the topic removes it. */
  topic?: string
  /** Returns whether the notice still applies; it is hidden otherwise. */
  lasts?: (page: Page) => boolean
  /** The branch that the notice is about: it is shown only in the branch's tab. */
  branch?: string
  /** Where a notice without branch is shown: a {@link Page.place}. Without either, it is shown everywhere. */
  place?: string
  tone: 'good' | 'info' | 'plain' | 'warn' | 'bad'
  title: string
  words?: string
  /** A text of the user that the notice is about, such as one that could not be added to its file. */
  text?: string
  actions?: NoticeAction[]
}

/** Increases a branch's counter. */
function countIn(counters: Signal<ReadonlyMap<string, number>>, branch: string): void {
  const counts = counters.peek()
  counters.value = new Map(counts).set(branch, (counts.get(branch) ?? 0) + 1)
}

/** The topic of the notice that an operation has moved the drafts of a branch. */
const movedBy = (operation: string): string => `drafts moved by ${operation}`

/** The topic of the notice that a checkout is behind its branch. */
export const CHECKOUT = 'checkout'

/** Values of `active` that are no tab. UNDECIDED: until the server has sent the layout, or the user chooses. */
export const [REPOSITORY, TASKS, UNDECIDED] = [-1, -2, -3]

/** From this width on, the chat can stand beside the editor. */
const WIDE = '(min-width: 1180px)'
const DOCKED = 'the chat is docked'
/** The key in the browser's session storage of a window's own layout; the desk's folder is appended. */
const LAYOUT_IN_WINDOW = 'layout of '
/** What is typed in a file counts once nothing was typed there for this time, in milliseconds. */
const TYPING_PAUSE_MS = 1_000
/** At most this many open files of a branch are followed across renames after a reconnect. */
const MAX_FOLLOWED_FILES = 1_000
/** Of the changes that are marked as viewed in a tab's review, this many, the last ones, are in the layout. */
const MAX_VIEWED_KEPT = 1_000
/** Of the panes that the user has closed in a tab, this many can be opened again. */
const MAX_RECENTLY_CLOSED = 100
/** Delay after the last change before the layout is sent, in milliseconds. */
const LAYOUT_DELAY_MS = 400

export class Page {
  readonly connection = new Connection()
  readonly places = new FocusPlaces()
  readonly files: OpenFiles
  /** What was typed and is not confirmed by the server. */
  readonly unsent = new UnsentTexts(this)
  readonly desk = signal<DeskInfo | undefined>(undefined)
  readonly tabs = signal<Tab[]>([])
  /** The index of the shown tab; or REPOSITORY, TASKS or UNDECIDED. */
  readonly active = signal(UNDECIDED)
  readonly notices = signal<Notice[]>([])
  /** The newest news of success, which disappears by itself. */
  readonly toast = signal<Notice | undefined>(undefined)
  readonly palette = signal<PaletteMode | undefined>(undefined)
  /** The places that the palette lists in its mode `named`. */
  readonly named = signal<{ tab: Tab; title: string; places: readonly NamedPlace[] } | undefined>(undefined)
  /** The last jump within the shown file, as places of the cursor in its text. */
  readonly jumped = signal<{ from: number; to: number } | undefined>(undefined)
  readonly menu = signal<MenuContent | undefined>(undefined)
  readonly dialog = signal<DialogContent | undefined>(undefined)
  readonly dialogTexts = new DialogTexts()
  /** Requests the focus for the content in the middle. */
  readonly focusWish = new FocusWish()
  readonly fieldInUse = new FieldInUse()
  readonly isWrapped = signal(false)
  /** Whether the previews of files that have one are shown beside their text. */
  readonly isPreviewed = signal(false)
  /** The user's settings. */
  readonly settings = new Settings(this)
  /** Whether the editor shows the commits beside the lines. */
  readonly isBlamed = signal(false)
  /** The saves that run or are queued, by branch. */
  readonly saves = new Saves()
  /** The commit of the last save of each branch, in any window, since the page was loaded. */
  readonly savedLast = signal<ReadonlyMap<string, string>>(new Map())
  /** Whether the chat stands beside the editor when there is room. */
  readonly isDocked = signal(keptInBrowser(DOCKED) !== '')
  readonly #wide = matchMedia(WIDE)
  readonly isWide = signal(this.#wide.matches)
  /** What Paste in the explorer would paste. */
  readonly copied = signal<CopiedFiles | undefined>(undefined)
  /** A message for screen readers. */
  readonly spoken = signal('')
  /** Commits that a branch was moved to from outside, and for which the notice was dismissed. */
  readonly seen = signal<ReadonlySet<string>>(new Set())
  /** A counter for each branch: it increases when the branch or its drafts change, and the views load again. */
  readonly changed = signal<ReadonlyMap<string, number>>(new Map())
  /** A counter for each branch: it increases when typing in its files pauses, in any window. */
  readonly typed = signal<ReadonlyMap<string, number>>(new Map())
  readonly #typedTimers = new Map<string, ReturnType<typeof setTimeout>>()
  readonly tab = computed(() => this.tabs.value[this.active.value])
  #lastTab: Tab | undefined
  #shownTab: Tab | undefined
  /** The closed tabs of branches that the user has deleted in this window, by branch. */
  readonly #deletedTabs = new Map<string, { index: number; isShown: boolean; layout: TabLayout }>()
  readonly forklift = new ForkliftState(this.connection)
  readonly tasks = new TasksState(this.connection)
  readonly graph = new GraphState(this)
  #layoutTimer: ReturnType<typeof setTimeout> | undefined
  /** Increases when language servers were switched on or off: files ask for theirs again. */
  readonly languageSwitches = signal(0)
  /** Whether the tabs of the last session are restored. */
  #isRestored = false
  /** The desk's state from news that arrived while a question for it was under way. */
  #heardDesk: DeskInfo | undefined
  /** The newest news of the branches when a branch was opened: one that was just made is in the next news. */
  readonly #awaited = new Map<string, DeskInfo | undefined>()

  /** Called when a checkout did not follow a save, and with those left behind when the page connects. */
  onLeftBehind: (checkout: LeftBehind) => void = () => {}

  /** `nonce`: the value that the content security policy requires of style elements added by scripts. */
  constructor(readonly nonce: string) {
    const onTyped = (file: OpenFile) => this.unsent.changed(file)
    const choices = { nonce, isWrapped: this.isWrapped, settings: this.settings.values, onTyped }
    this.files = new OpenFiles((at, path, position) => new OpenFile(this.connection, choices, at, path, position))
    this.connection.onNews = news => this.#hear(news)
    this.connection.onUp = () => this.#begin()
  }

  /** Connects. Waits for the embedded answers, if there are any, so that they are shown first. */
  async start(): Promise<void> {
    this.unsent.start()
    const isBrought = this.connection.start()
    this.#wide.addEventListener('change', ({ matches }) => {
      this.isWide.value = matches
    })
    effect(() => this.#showActive())
    effect(() => this.#watchLayout())
    if (!isBrought) return
    await this.#begin()
    if (this.active.peek() === REPOSITORY) await this.graph.begin()
  }

  /** The tab that was shown last, while it is open; else the first one. */
  get lastTab(): Tab | undefined {
    const tabs = this.tabs.peek()
    return tabs.find(tab => tab === this.#lastTab) ?? tabs[0]
  }

  branch(name: string): BranchInfo | undefined {
    return this.desk.value?.branches.find(branch => branch.name === name)
  }

  /** What is known of a deleted branch that has drafts or a turn of its AI. */
  deleted(name: string): DeletedBranch | undefined {
    return this.desk.value?.deleted?.find(({ branch }) => branch === name)
  }

  /** Whether a tab's branch is deleted. In a repository without commits, the first branch does not exist yet. */
  isGone(at: At): boolean {
    const desk = this.desk.value
    if (!desk || at.kind === 'commit') return false
    const isAwaited = this.#awaited.has(at.branch) && this.#awaited.get(at.branch) === this.#heardDesk
    return !this.branch(at.branch) && !desk.isEmpty && !isAwaited
  }

  /** Shows a branch or a commit in its tab, or in a new one. */
  open(at: At): Tab {
    const place = placeOf(at)
    const index = this.tabs.peek().findIndex(tab => placeOf(tab.at) === place)
    if (index >= 0) {
      this.active.value = index
      return this.tabs.peek()[index] as Tab
    }
    if (at.kind === 'branch' && !this.deleted(at.branch)) this.#awaited.set(at.branch, this.#heardDesk)
    const tab = new Tab(this, at)
    batch(() => {
      this.tabs.value = [...this.tabs.peek(), tab]
      this.active.value = this.tabs.peek().length - 1
    })
    return tab
  }

  /** Shows a pane of a tab and focuses it. */
  showHere(tab: Tab, pane: Pane): void {
    batch(() => {
      tab.show(pane)
      // The active editor takes the focus itself: in a split editor, a search in the page could find the other half's.
      if (pane.kind === 'file') tab.focusWish.make()
      else this.wantFocus()
    })
  }

  /** Shows the chat on the user's request: without a model, it shows which settings a model needs. */
  showChat(tab: Tab): void {
    tab.composer.isWanted.value = true
    this.showHere(tab, CHAT)
  }

  /** Moves the focus to the content in the middle when that is shown, unless the user puts it elsewhere before. */
  wantFocus(): void {
    this.focusWish.make()
  }

  /**
   * Moves the focus to where it was when the shown tab was left: to a text field, such as the message that was being
   * written, or else to the content. What is typed on must not end up in the code.
   */
  wantFocusBack(): void {
    const tab = this.tab.peek()
    this.focusWish.make(tab?.leftField)
    if (tab) tab.leftField = undefined
  }

  /**
   * Called where an action moves the focus: neither an editor that is still loading nor the content takes it from
   * there.
   */
  dropFocusWishes(): void {
    this.focusWish.end()
    for (const { focusWish, composer, search } of this.tabs.peek())
      for (const wish of [focusWish, composer.focusWish, search.focusWish]) wish.end()
  }

  /**
   * Shows a file as a single click does: in the preview tab, or in a tab of its own if the user has switched that off.
   */
  preview(tab: Tab, path: string): void {
    if (this.settings.values.peek()['editor.previewTab'] === false) {
      tab.show({ kind: 'file', path })
      return
    }
    const closed = tab.preview(path)
    if (closed !== undefined) this.files.close(tab.at, closed)
  }

  close(tab: Tab): void {
    const index = this.tabs.peek().indexOf(tab)
    if (index < 0) return
    const wasShown = this.tab.peek() === tab
    for (const pane of tab.panes.peek()) {
      if (pane.kind === 'file') this.files.close(tab.at, pane.path)
    }
    batch(() => {
      this.tabs.value = this.tabs.peek().toSpliced(index, 1)
      const active = this.active.peek()
      if (active > index || active >= this.tabs.peek().length) this.active.value = active - 1
    })
    if (wasShown) this.wantFocusBack()
  }

  /** The tab of a branch, as the layout keeps it; undefined where none is open. */
  tabLayoutOf(branch: string): TabLayout | undefined {
    const tab = this.#tabOf(branch)
    return tab && this.#layoutOf(tab)
  }

  /**
   * Closes the tab of a branch that the user has deleted; {@link reopen} brings it back. `layout`: the tab before the
   * deletion, which takes the drafts out of its files, and moves the cursors with that.
   */
  closeDeleted(branch: string, layout = this.tabLayoutOf(branch)): void {
    const tab = this.#tabOf(branch)
    if (!tab || !layout) return
    const index = this.tabs.peek().indexOf(tab)
    this.#deletedTabs.set(branch, { index, isShown: this.active.peek() === index, layout })
    this.close(tab)
  }

  /** Closes the tab of a branch that an undo or a redo has deleted, unless what is typed here is on its way to it. */
  #closeGone(branch: string): void {
    if (this.files.of(branch).some(file => file.isUnsettled)) return
    const toast = this.shownToast
    batch(() => {
      this.closeDeleted(branch)
      // News that are shown stay so in the view that comes next.
      if (toast) this.toast.value = { ...toast, place: this.place }
    })
  }

  /** Brings back the tab of a deleted branch, as it was, as soon as the page knows that the branch exists again. */
  reopen(branch: string): void {
    const closed = this.#deletedTabs.get(branch)
    if (!closed) return
    this.#deletedTabs.delete(branch)
    const open = () => {
      if (this.#tabOf(branch)) return
      const index = Math.min(closed.index, this.tabs.peek().length)
      const active = this.active.peek()
      const toast = this.shownToast
      batch(() => {
        this.tabs.value = this.tabs.peek().toSpliced(index, 0, new Tab(this, closed.layout.at, closed.layout))
        this.active.value = closed.isShown ? index : active + (active >= index ? 1 : 0)
        // The news of the undo, which may have come before, is shown where its view leads.
        if (toast) this.toast.value = { ...toast, place: this.place }
      })
    }
    const isThere = computed(() => this.branch(branch) !== undefined)
    const stop = effect(() => {
      if (!isThere.value) return
      untracked(open)
      queueMicrotask(() => stop())
    })
  }

  closeOthers(tab: Tab): void {
    for (const other of this.tabs.peek()) if (other !== tab) this.close(other)
  }

  /** Closes all panes of a tab except one and the chat. */
  closeOtherPanes(tab: Tab, pane: Pane): void {
    const key = paneKey(pane)
    batch(() => {
      for (const other of tab.panes.peek()) {
        if (paneKey(other) !== key && !tab.isPinned(other)) this.closePane(tab, other)
      }
    })
  }

  /** Opens a menu at a point; `opener` gets the focus when it closes. */
  openMenu(offer: Offer, place: { x: number; y: number }, opener: HTMLElement | undefined): void {
    const groups = offer.groups.filter(({ length }) => length > 0)
    if (groups.length > 0) this.menu.value = { title: offer.title, groups, ...place, opener }
  }

  /** Moves the chat beside the editor, or back into its tab. */
  dock(isDocked: boolean): void {
    this.isDocked.value = isDocked
    keep(DOCKED, isDocked ? 'yes' : '')
  }

  /**
   * Closes the tabs of files that an operation has removed from a branch, except those with text that the server does
   * not have yet. {@link reopenFiles} brings them back.
   */
  closeFiles(branch: string, { gone, operation }: Gone): void {
    const tab = this.#tabOf(branch)
    const paths = new Set(gone.filter(path => !this.#fileIn(branch, path)?.isUnsettled))
    const panes = tab?.panes.peek().filter(pane => pane.kind === 'file' && paths.has(pane.path)) ?? []
    if (!tab || panes.length === 0 || operation === undefined) return
    tab.closeFor(operation, panes, () => {
      for (const pane of panes) this.#closeWithPosition(tab, pane)
    })
  }

  #positionIn(tab: Tab, pane: Pane): Position | undefined {
    return pane.kind === 'file' ? this.files.find(tab.at, pane.path)?.position : undefined
  }

  #closeWithPosition(tab: Tab, pane: Pane): void {
    const position = this.#positionIn(tab, pane)
    if (pane.kind === 'file' && position) tab.positions.set(pane.path, position)
    this.#close(tab, pane)
  }

  /** Brings back the file tabs that an operation closed, after its undo. */
  reopenFiles(operation: string): void {
    for (const tab of this.tabs.peek()) tab.reopen(operation)
  }

  /** Closes a pane at the user's request, and remembers it for Reopen. */
  closePane(tab: Tab, pane: Pane): void {
    tab.rememberClosed(pane, this.#positionIn(tab, pane))
    this.#close(tab, pane)
  }

  #close(tab: Tab, pane: Pane): void {
    tab.close(pane)
    if (pane.kind === 'file') this.files.close(tab.at, pane.path)
  }

  /** Follows the rename of a branch: its tab keeps everything open, and what is being written in the branch moves. */
  renamed(from: string, to: string): void {
    const [before, now] = [from, to].map((branch): At => ({ kind: 'branch', branch })) as [At, At]
    const folder = this.desk.peek()?.folder
    const place = placeIn(folder, now)
    moveTexts(placeIn(folder, before), place)
    // All at once: a view in between would be of a branch that does not exist, without the field that is typed into.
    batch(() => {
      this.#renameInDesk(from, to)
      this.#followBase(from, to)
      this.#renameInNotices(from, to)
      this.files.renameBranch(from, to)
      const tab = this.#tabOf(from)
      if (tab) tab.moveTo(now, place)
      else this.#tabOf(to)?.restoreTexts()
    })
    this.#renameInDialog(from, to)
  }

  /** Gives an open dialog the new name of a branch: there is none of the old one any more. */
  #renameInDialog(from: string, to: string): void {
    const dialog = this.dialog.peek()
    if (!dialog || !('renamed' in dialog)) return
    const renamed = dialog.renamed?.(from, to)
    if (!renamed) return
    this.dialog.value = { ...renamed, firstTitle: dialog.firstTitle ?? dialog.title }
  }

  /** Gives a branch its new name at once, before the server sends the desk's state. */
  #renameInDesk(from: string, to: string): void {
    const desk = this.desk.peek()
    if (!desk || desk.branches.some(({ name }) => name === to)) return
    const branches = desk.branches.map(info => (info.name === from ? { ...info, name: to } : info))
    this.desk.value = { ...desk, branches }
  }

  /** Keeps a renamed branch the base of the reviews that compare with it. */
  #followBase(from: string, to: string): void {
    for (const { review } of this.tabs.peek()) {
      const base = review.chosenBase.peek()
      if (base?.kind !== 'branch' || base.name !== from) continue
      review.chosenBase.value = { ...base, name: to, at: { kind: 'branch', branch: to } }
    }
  }

  /** The news of success that is shown in this view. */
  get shownToast(): Notice | undefined {
    const { value: notice } = this.toast
    return notice?.place === this.place && notice.lasts?.(this) !== false ? notice : undefined
  }

  /** The current view as a key: a branch, a commit, the repository or the tasks. */
  get place(): string {
    const tab = this.tab.value
    return tab ? placeOf(tab.at) : this.active.value === TASKS ? 'tasks' : 'repository'
  }

  /** Shows news for some seconds: of success, or (`info`) that there was nothing to do. */
  tell(
    news: Pick<Notice, 'topic' | 'title' | 'words' | 'actions' | 'lasts' | 'branch'>,
    tone: 'good' | 'info' = 'good',
  ): void {
    if (news.topic !== undefined) this.solved(news.topic, news.branch)
    this.toast.value = { ...news, tone, place: untracked(() => this.place) }
    const { title, words } = news
    this.spoken.value = words === undefined ? title : `${title.replace(/\.$/, '')}. ${words}`
  }

  notify(notice: Notice): void {
    const isSame = ({ title, topic, branch }: Notice) =>
      branch === notice.branch && (topic === undefined ? title === notice.title : topic === notice.topic)
    this.notices.value = [...this.notices.peek().filter(other => !isSame(other)), notice]
  }

  /**
   * Shows the notices about a renamed branch under its new name. That of a checkout acts on the branch by its name: the
   * desk says it again.
   */
  #renameInNotices(from: string, to: string): void {
    this.solved(CHECKOUT, from)
    const isAbout = ({ branch }: Notice) => branch === from
    if (!this.notices.peek().some(isAbout)) return
    this.notices.value = this.notices.peek().map(notice => (isAbout(notice) ? { ...notice, branch: to } : notice))
  }

  /** Removes the notices of a topic, which do not apply any more. */
  solved(topic: string, branch?: string): void {
    const left = this.notices.peek().filter(notice => notice.topic !== topic || notice.branch !== branch)
    if (left.length < this.notices.peek().length) this.notices.value = left
  }

  see(commit: string): void {
    this.seen.value = new Set([...this.seen.peek(), commit])
  }

  dismiss(notice: Notice): void {
    this.notices.value = this.notices.peek().filter(other => other !== notice)
  }

  /** Shows a notice with an error. */
  complain(error: unknown, { branch, topic, lasts }: Partial<Pick<Notice, 'branch' | 'topic' | 'lasts'>> = {}): void {
    const title = error instanceof Error ? error.message : String(error)
    const { isUp, breaks } = this.connection
    // Not again the next time that the connection breaks.
    const untilBack = () => !isUp.value && this.connection.breaks === breaks
    const condition = error instanceof NotConnected ? untilBack : lasts
    this.notify({
      tone: 'bad',
      title,
      ...(branch === undefined ? { place: untracked(() => this.place) } : { branch }),
      ...(topic === undefined ? {} : { topic }),
      ...(condition && { lasts: condition }),
    })
  }

  /**
   * Asks for the desk's state. The first answer restores the tabs; after a reconnect, everything shown is loaded again.
   */
  async #begin(): Promise<void> {
    this.#heardDesk = undefined
    this.#awaited.clear()
    const tips = new Map(this.desk.peek()?.branches.map(({ name, tip }) => [name, tip]))
    let isFirst = false
    try {
      const { desk, layout, settings, leftBehind } = await this.connection.ask('desk', {})
      isFirst = !this.#isRestored
      batch(() => {
        // News of the desk's state that arrived meanwhile is newer than the answer.
        this.desk.value = this.#heardDesk ?? desk
        this.settings.take(settings)
        this.#sayLeftBehind(leftBehind)
        if (!isFirst) return
        this.#isRestored = true
        const own = keptInWindow(LAYOUT_IN_WINDOW + desk.folder)
        if (own?.editor) this.#restoreSwitches(own.editor)
        this.#restore(desk, own ?? layout ?? undefined)
        this.wantFocus()
      })
    } catch (error) {
      this.complain(error)
    }
    await this.#followRenames(tips)
    void this.#followTexts()
    for (const file of this.files.all()) if (!isFirst || file.isFromBeforeBreak) file.ask()
    this.unsent.takeOver()
    if (isFirst) return
    for (const tab of this.tabs.peek()) {
      tab.tree.refresh()
      tab.conversation.touch()
      tab.merging.touch()
    }
    this.forklift.touch()
    this.graph.touch()
    // A fetch that was running may have ended while the connection was down.
    this.graph.progress.value = undefined
    for (const { name } of this.desk.peek()?.branches ?? []) this.#touch(name)
  }

  /** Shows the notices of the checkouts that are behind their branches, and removes those of others. */
  #sayLeftBehind(checkouts: readonly LeftBehind[]): void {
    const branches = new Set<string | undefined>(checkouts.map(({ branch }) => branch))
    for (const { topic, branch } of this.notices.peek())
      if (topic === CHECKOUT && !branches.has(branch)) this.solved(topic, branch)
    for (const checkout of checkouts) this.onLeftBehind(checkout)
  }

  /**
   * Finds renames of branches and files that happened while this window was disconnected, or while its page was loaded
   * again. `tips`: the branches' commits by their names at that time, as far as they are known.
   */
  async #followRenames(tips: ReadonlyMap<string, string>): Promise<void> {
    for (const { at } of this.tabs.peek()) {
      if (at.kind === 'commit') continue
      const { branch } = this.isGone(at)
        ? await this.connection.ask('name now', { branch: at.branch }).catch(() => at)
        : at
      if (branch !== at.branch) this.renamed(at.branch, branch)
      const since = tips.get(at.branch)
      // Renamed files are looked for even if the branch has no new commit, since a rename may be a draft.
      if (since !== undefined) await this.#followFiles(branch, since)
    }
  }

  /** Finds renames that happened while no window followed them of branches for which the browser keeps texts. */
  async #followTexts(): Promise<void> {
    const folder = this.desk.peek()?.folder
    if (folder === undefined) return
    const gone = branchesWithTexts(folder).filter(branch => this.isGone({ kind: 'branch', branch }))
    for (const branch of gone) {
      const now = await this.connection.ask('name now', { branch }).catch(() => undefined)
      if (now && now.branch !== branch) this.renamed(branch, now.branch)
    }
  }

  async #followFiles(branch: string, since: string, which = (_path: string) => true): Promise<void> {
    const panes = this.#tabOf(branch)?.panes.peek() ?? []
    const all = panes.flatMap(pane => (pane.kind === 'file' && which(pane.path) ? [pane.path] : []))
    const paths = all.slice(0, MAX_FOLLOWED_FILES)
    if (paths.length === 0) return
    const now = await this.connection.ask('paths now', { branch, since, paths }).catch(() => undefined)
    const tab = this.#tabOf(branch)
    if (!now || !tab) return
    for (const [at, from] of paths.entries()) {
      const to = now.paths[at]
      if (to === undefined || to === from) continue
      batch(() => {
        this.files.rename(branch, { from, to }, true)
        tab.rename({ from, to })
      })
    }
    tab.followedTo = now.tip
    tab.missing.value = new Set(now.missing)
  }

  /**
   * Finds renames and deletions of the files in a tab that were not shown yet, for example since a reload: the desk
   * sends news of files that this window has opened, and of no others.
   */
  async #followUnshown(branch: string): Promise<void> {
    const since = this.#tabOf(branch)?.followedTo
    if (since === undefined) return
    await this.#followFiles(branch, since, path => !this.#fileIn(branch, path))
  }

  /** Restores what was switched on or off in this window before its page was loaded again. */
  #restoreSwitches({
    isWrapped,
    isBlamed,
    isPreviewed,
  }: Record<'isWrapped' | 'isBlamed' | 'isPreviewed', boolean>): void {
    this.isWrapped.value = isWrapped
    this.isBlamed.value = isBlamed
    this.isPreviewed.value = isPreviewed
  }

  /**
   * Restores the tabs of the last session. Tabs that the user has opened meanwhile stay open, and the one chosen
   * meanwhile stays shown. `layout`: the one that this window had before its page was reloaded, so that several windows
   * keep their own; in a new window, the last changed one of all, which the server keeps. It may have branches that are
   * gone meanwhile.
   */
  #restore(desk: DeskInfo, layout: Layout | undefined): void {
    const [opened, chosen] = [this.tabs.peek(), this.active.peek()]
    this.graph.panes.chosen.value = layout?.panes ?? {}
    this.tabs.value = this.#firstTabs(desk, layout)
    for (const { at } of opened) this.open(at)
    const shown = opened[chosen]
    if (shown) this.open(shown.at)
    else this.active.value = chosen === UNDECIDED ? this.#firstActive(desk, layout) : chosen
  }

  #firstTabs(desk: DeskInfo, layout: Layout | undefined): Tab[] {
    const kept = layout?.tabs ?? []
    if (kept.length > 0) return kept.map(tab => new Tab(this, tab.at, tab))
    // HEAD of a bare repository may name a branch that does not exist.
    const isHeadThere = desk.isEmpty || desk.branches.some(({ name }) => name === desk.head)
    const first = isHeadThere ? desk.head : desk.branches[0]?.name
    return first === undefined ? [] : [new Tab(this, { kind: 'branch', branch: first })]
  }

  /** The first tab to show: without a layout the repository, or the branch of HEAD if there are no commits yet. */
  #firstActive(desk: DeskInfo, layout: Layout | undefined): number {
    const count = layout?.tabs.length ?? 0
    if (!layout || count === 0) return desk.isEmpty && this.tabs.peek().length > 0 ? 0 : REPOSITORY
    // In a stored layout, the repository is the index after all tabs, and the tasks the next one.
    if (layout.active < count) return layout.active
    return layout.active === count ? REPOSITORY : TASKS
  }

  #hear(news: News): void {
    this.forklift.hear(news)
    this.graph.hear(news)
    this.tasks.hear(news)
    switch (news.say) {
      case 'desk':
        this.#heardDesk = news.desk
        // The desk's state is not set before the tabs are restored: the view would have nothing to show.
        if (this.#isRestored) this.desk.value = news.desk
        return
      case 'settings':
        this.settings.take(news.settings)
        return
      case 'branch':
        this.#branchChanged(news.branch)
        return
      case 'branch gone':
        this.#closeGone(news.branch)
        return
      case 'renamed':
        this.renamed(news.branch, news.to)
        return
      case 'renamed file':
        batch(() => {
          this.files.rename(news.branch, news)
          this.#tabOf(news.branch)?.rename(news)
        })
        return
      case 'files gone':
        this.closeFiles(news.branch, news)
        return
      case 'drafts moved':
        this.closeFiles(news.branch, news)
        this.#sayDraftsMoved(news)
        return
      case 'undone':
        this.reopenFiles(news.operation)
        this.notices.value = this.notices.peek().filter(({ topic }) => topic !== movedBy(news.operation))
        return
      case 'problems':
        this.#fileIn(news.branch, news.path)?.takeProblems(news.version, news.problems)
        return
      case 'language server':
        for (const file of this.files.of(news.branch))
          if (file.language.peek() && news.ends.some(end => file.path.toLowerCase().endsWith(end)))
            file.language.value = news.state
        return
      case 'language servers':
        this.languageSwitches.value++
        return
      case 'edited':
        this.#fileIn(news.branch, news.path)?.receive(news.version, news.edits)
        this.#countTypedSoon(news.branch)
        return
      case 'replaced':
        this.#fileIn(news.branch, news.path)?.take(news.file)
        return
      case 'saved':
        this.solved('save', news.branch)
        this.saved(news.branch, news.commit, news.drafts)
        return
      case 'checkout follows':
        this.solved(CHECKOUT, news.branch)
        return
      case 'checkout left behind':
        this.onLeftBehind(news)
        return
      case 'refusal over':
        this.notices.value = this.notices.peek().filter(({ title }) => title !== news.words)
        return
      case 'found':
        // A failure is told after the results found before it.
        this.solved('find text')
        for (const tab of this.tabs.peek()) tab.search.receive(news)
        return
      case 'turn':
        this.#tabOf(news.branch)?.conversation.receive(news.news)
        return
      case 'waiting':
        this.#waits(news.branch, news.words)
        return
      case 'notice':
        this.#say(news)
        return
    }
  }

  #say({ words: title, isBad, topic, branch }: Extract<News, { say: 'notice' }>): void {
    const about = { ...(topic !== undefined && { topic }), ...(branch !== undefined && { branch }) }
    if (isBad) this.notify({ tone: 'bad', title, ...about })
    else this.tell({ title, ...about })
  }

  /** Says in the tab of a branch that another window has moved its drafts, until that is undone. */
  #sayDraftsMoved({ branch, to, operation }: Extract<News, { say: 'drafts moved' }>): void {
    if (!this.#tabOf(branch)) return
    this.notify({
      ...(operation !== undefined && { topic: movedBy(operation) }),
      branch,
      tone: 'info',
      title: `The drafts of ${named(branch)} were moved to ${named(to)} in another window`,
      actions: [{ words: `Show ${named(to)}`, run: () => void this.open({ kind: 'branch', branch: to }) }],
    })
  }

  /**
   * Shows that an operation in a branch waits for a signature, also one begun in another window; without words, hides
   * that.
   */
  #waits(branch: string, words: string | undefined): void {
    const topic = `waiting ${branch}`
    if (words === undefined) this.solved(topic)
    else this.notify({ topic, tone: 'plain', title: words })
  }

  /** Records a branch's new commit and its remaining drafts at once, before the server sends the desk's state. */
  saved(branch: string, commit: string, drafts?: string[]): void {
    const desk = this.desk.peek()
    if (!desk) return
    const changed = { tip: commit, ...(drafts && { drafts }) }
    const branches = desk.branches.map(info => (info.name === branch ? { ...info, ...changed } : info))
    batch(() => {
      this.desk.value = { ...desk, branches }
      this.savedLast.value = new Map(this.savedLast.peek()).set(branch, commit)
      this.spoken.value = `Saved → ${commit.slice(0, 8)}`
    })
  }

  #fileIn(branch: string, path: string) {
    return this.files.find({ kind: 'branch', branch }, path)
  }

  #branchChanged(branch: string): void {
    // Open files are not loaded again, since the server sends news of them, except after a failure.
    for (const file of this.files.of(branch)) if (file.problem.peek() !== undefined) file.ask()
    const tab = this.#tabOf(branch)
    tab?.tree.refreshSoon()
    tab?.conversation.touch()
    tab?.merging.touch()
    this.unsent.branchChanged(branch)
    void this.#followUnshown(branch)
    this.#touch(branch)
  }

  #tabOf(branch: string): Tab | undefined {
    return this.tabs.peek().find(({ at }) => at.kind === 'branch' && at.branch === branch)
  }

  #touch(branch: string): void {
    countIn(this.changed, branch)
  }

  #countTypedSoon(branch: string): void {
    clearTimeout(this.#typedTimers.get(branch))
    const timer = setTimeout(() => {
      this.#typedTimers.delete(branch)
      countIn(this.typed, branch)
    }, TYPING_PAUSE_MS)
    this.#typedTimers.set(branch, timer)
  }

  #showActive(): void {
    const tab = this.tab.value
    // The page still shows the tab that is left.
    if (this.#shownTab && this.#shownTab !== tab) this.#shownTab.leftField = this.fieldInUse.label
    this.#shownTab = tab
    if (!tab) return
    this.#lastTab = tab
    this.need(tab)
  }

  /** Loads what a tab needs, the first time it is shown. */
  need(tab: Tab): void {
    const { pane } = tab
    tab.tree.load()
    tab.conversation.load()
    const branch = tab.at.kind === 'branch' ? this.branch(tab.at.branch) : undefined
    if (branch?.merging || branch?.conflicts) tab.merging.load()
    else if (branch) tab.merging.forgetMessage()
    const other = tab.otherPane
    if (other?.kind === 'file' && !this.files.find(tab.at, other.path))
      this.files.open(tab.at, other.path, tab.positions.get(other.path))
    if (pane.kind === 'file' && !this.files.find(tab.at, pane.path))
      this.files.open(tab.at, pane.path, tab.positions.get(pane.path))
    if (!branch || tab.hasFollowed) return
    tab.hasFollowed = true
    void this.#followUnshown(branch.name)
  }

  #watchLayout(): void {
    // All parts of the layout are read here, so that the effect runs again when one of them changes.
    for (const tab of this.tabs.value) {
      tab.at
      tab.panes.value
      tab.active.value
      tab.split.value
      tab.pinned.value
      tab.previewed.value
      tab.review.chosenBase.value
      tab.review.lookedAt.value
      tab.search.layout.value
      tab.tree.open.value
    }
    this.active.value
    this.graph.panes.chosen.value
    this.isWrapped.value
    this.isBlamed.value
    this.isPreviewed.value
    if (this.desk.value) this.keepLayout()
  }

  /**
   * Sends the layout after a delay. Also called when a view scrolls, or its cursor moves. `isNow`: at once, since the
   * window is closing.
   */
  keepLayout(isNow = false): void {
    const wasWaiting = this.#layoutTimer !== undefined
    clearTimeout(this.#layoutTimer)
    this.#layoutTimer = undefined
    const send = () => {
      this.#layoutTimer = undefined
      const tabs = this.tabs.peek()
      // In a stored layout, the repository is the index after all tabs, and the tasks the next one.
      const active = this.active.peek() < 0 ? tabs.length - 1 - this.active.peek() : this.active.peek()
      const panes = this.graph.panes.chosen.peek()
      const layout = { tabs: tabs.map(tab => this.#layoutOf(tab)), active, panes }
      const [isWrapped, isBlamed] = [this.isWrapped.peek(), this.isBlamed.peek()]
      const editor = { isWrapped, isBlamed, isPreviewed: this.isPreviewed.peek() }
      keepInWindow(LAYOUT_IN_WINDOW + this.desk.peek()?.folder, { ...layout, editor })
      this.connection.ask('keep layout', { layout }).catch(() => {})
    }
    if (!isNow) this.#layoutTimer = setTimeout(send, LAYOUT_DELAY_MS)
    else if (wasWaiting) send()
  }

  #layoutOf(tab: Tab): TabLayout {
    const paths = tab.panes.peek().flatMap(pane => (pane.kind === 'file' ? [pane.path] : []))
    const key = tab.active.peek()
    const active = paths.find(path => paneKey({ kind: 'file', path }) === key)
    const positionOf = (path: string) => this.files.find(tab.at, path)?.position ?? tab.positions.get(path)
    const files = paths.map(path => {
      const { firstLine, cursor = 0, cursorLine, indentation, language } = positionOf(path) ?? {}
      const chosen = { ...(indentation && { indentation }), ...(language && { language }) }
      return { path, firstLine, cursor, cursorLine, ...chosen }
    })
    const split = tab.split.peek()
    const other = paths.find(path => paneKey({ kind: 'file', path }) === split?.key)
    const otherPlace = other !== undefined && other === active ? positionOf(other)?.other : undefined
    const pinned = [...tab.pinned.peek()].filter(path => paths.includes(path))
    const previewed = paths.find(path => path === tab.previewed.peek())
    const views = viewsOf(tab.panes.peek())
    const view = views.find(({ kind }) => kind === key)?.kind
    const { kind, name, at } = tab.review.chosenBase.peek() ?? {}
    const viewed = [...tab.review.lookedAt.peek()].slice(-MAX_VIEWED_KEPT)
    const search = tab.search.layout.peek()
    return {
      at: tab.at,
      files,
      folders: [...tab.tree.open.peek()],
      ...(active === undefined ? {} : { active }),
      ...(split &&
        other !== undefined &&
        active !== undefined && { split: { path: other, isRight: split.isRight, ...otherPlace } }),
      ...(pinned.length > 0 && { pinned }),
      ...(previewed !== undefined && { previewed }),
      ...(views.length > 0 && { views }),
      ...(view && { view }),
      ...(kind && name !== undefined && at && { base: { kind, name, at } }),
      ...(viewed.length > 0 && { viewed }),
      ...(search && { search }),
    }
  }
}

const PageContext = createContext<Page | undefined>(undefined)
export const PageProvider = PageContext.Provider

export function usePage(): Page {
  const page = useContext(PageContext)
  if (!page) throw new Error('There is no page around this component.')
  return page
}
