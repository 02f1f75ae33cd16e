/** What the page knows and shows. The server is the truth: this is its copy, and what only this window needs. */
import { batch, computed, effect, type ReadonlySignal, type Signal, signal, untracked } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { BranchInfo } from '../../contract/branches.ts'
import type { DeskInfo, Layout } from '../../contract/desk.ts'
import type { News } from '../../contract/news.ts'
import { pathAfter } from '../../contract/paths.ts'
import type { At } from '../../contract/values.ts'
import { OpenFile } from '../editor/open-file.ts'
import { FocusPlaces } from '../ui/focus.ts'
import type { MenuContent, Offer } from '../ui/menu-content.ts'
import { Connection } from '../ui/socket.ts'
import { ComposerState, keep, kept as keptInBrowser } from './composer-state.ts'
import { ConversationState } from './conversation-state.ts'
import type { DialogContent } from './dialog-content.ts'
import { ForkliftState } from './forklift-state.ts'
import { GraphState } from './graph-state.ts'
import { MergingState } from './merging-state.ts'
import { OpenFiles, placeOf } from './open-files.ts'
import type { PaletteMode } from './palette-mode.ts'
import { ReviewState } from './review-state.ts'
import { Saves } from './saves.ts'
import { TextSearch } from './search.ts'
import { TasksState } from './tasks-state.ts'
import { Tree } from './tree.ts'

/** What a file tab shows. There is one of each kind, and one for each file. */
export type Pane =
  | { kind: 'chat' }
  | { kind: 'file'; path: string }
  | { kind: 'review' }
  | { kind: 'history'; path: string | undefined }
  | { kind: 'find' }

export function paneKey(pane: Pane): string {
  return pane.kind === 'file' ? `file ${pane.path}` : pane.kind
}

const CHAT: Pane = { kind: 'chat' }

/** A branch that is worked on, or a commit that is looked at. */
export class Tab {
  readonly at: At
  readonly tree: Tree
  readonly review: ReviewState
  readonly search: TextSearch
  readonly conversation: ConversationState
  readonly composer: ComposerState
  readonly merging: MergingState
  readonly panes: Signal<Pane[]>
  readonly active: Signal<string>
  /** Where each file was scrolled to in the last session. */
  readonly positions: ReadonlyMap<string, { top: number; cursor: number }>
  /** Counts up when the editor is to have the focus, and how many of these it has had. */
  readonly focusWanted = signal(0)
  focusGiven = 0
  readonly #message: Signal<string | undefined>
  readonly #messageKey: string

  constructor(page: Page, at: At, kept?: Layout['tabs'][number]) {
    this.at = at
    this.tree = new Tree(page.connection, at, kept?.folders ?? [])
    this.review = new ReviewState(page, at)
    this.search = new TextSearch(page.connection, at)
    this.conversation = new ConversationState(page.connection, at)
    this.merging = new MergingState(page.connection, at)
    const place = `${page.desk.peek()?.folder} ${placeOf(at)}`
    this.composer = new ComposerState(place)
    this.#messageKey = `commit message in ${place}`
    this.#message = signal(keptInBrowser(this.#messageKey) || undefined)
    this.positions = new Map((kept?.files ?? []).map(({ path, top, cursor }) => [path, { top, cursor }]))
    this.panes = signal<Pane[]>([CHAT, ...(kept?.files ?? []).map(({ path }): Pane => ({ kind: 'file', path }))])
    this.active = signal(kept?.active === undefined ? 'chat' : paneKey({ kind: 'file', path: kept.active }))
    if (kept?.active !== undefined) this.tree.selected.value = kept.active
  }

  /** What a person made of the commit's message, kept in this browser until it is used; undefined: the server's words. */
  get message(): ReadonlySignal<string | undefined> {
    return this.#message
  }

  writeMessage(message: string | undefined): void {
    this.#message.value = message
    keep(this.#messageKey, message ?? '')
  }

  get pane(): Pane {
    const key = this.active.value
    return this.panes.value.find(pane => paneKey(pane) === key) ?? CHAT
  }

  /** The file that is shown, if one is. */
  get path(): string | undefined {
    const { pane } = this
    return pane.kind === 'file' ? pane.path : undefined
  }

  show(pane: Pane): void {
    const key = paneKey(pane)
    const isThere = this.panes.peek().some(other => paneKey(other) === key)
    batch(() => {
      if (!isThere) this.panes.value = [...this.panes.peek(), pane]
      else if (pane.kind === 'history') {
        this.panes.value = this.panes.peek().map(other => (other.kind === 'history' ? pane : other))
      }
      this.active.value = key
      if (pane.kind === 'file') this.tree.reveal(pane.path)
    })
  }

  /** Shows a file, to be typed into. */
  edit(path: string): void {
    this.show({ kind: 'file', path })
    this.focusWanted.value++
  }

  /** Shows the search in all files, to be typed into. */
  find(): void {
    this.show({ kind: 'find' })
    this.search.focusWanted.value++
  }

  /** A file or folder has another path: what is shown of it stays where it is. */
  rename(renamed: { from: string; to: string }): void {
    const moved = (pane: Pane): Pane => {
      const path = 'path' in pane && pane.path !== undefined ? pathAfter(renamed, pane.path) : undefined
      return path === undefined ? pane : ({ ...pane, path } as Pane)
    }
    batch(() => {
      this.active.value = paneKey(moved(this.pane))
      const panes = this.panes.peek().map(moved)
      // It may have been shown already that there was no file of the new name.
      this.panes.value = panes.filter((pane, at) => panes.findIndex(it => paneKey(it) === paneKey(pane)) === at)
      this.tree.rename(renamed)
    })
  }

  /** Closes a pane; the one beside it is shown. */
  close(pane: Pane): void {
    if (pane.kind === 'chat') return
    const key = paneKey(pane)
    const index = this.panes.peek().findIndex(other => paneKey(other) === key)
    if (index < 0) return
    batch(() => {
      const panes = this.panes.peek().toSpliced(index, 1)
      this.panes.value = panes
      if (this.active.peek() === key) this.active.value = paneKey(panes[index] ?? panes[index - 1] ?? CHAT)
    })
  }
}

export interface NoticeAction {
  words: string
  isMain?: boolean
  /** Whether the notice stays until what this begins is done. */
  stays?: boolean
  run: () => void
}

/**
 * Something that a person should know. Good news leave by themselves; all else stays until it is settled or dismissed.
 */
export interface Notice {
  /** What it is about: a newer notice about the same takes its place, and what solves it takes it away. */
  topic?: string
  /** Whether it still says what is so: otherwise it is not shown. */
  lasts?: (page: Page) => boolean
  /** The branch that it is about: it is shown there. */
  branch?: string
  /** Where it belongs if it is about no branch: what {@link Page.place} was there. Without either: everywhere. */
  place?: string
  tone: 'good' | 'plain' | 'warn' | 'bad'
  title: string
  words?: string
  actions?: NoticeAction[]
}

type LeftBehind = Extract<News, { say: 'checkout left behind' }>

/** Where `active` is no branch or commit; undecided: until the server has said what was open, or the person chooses. */
export const [REPOSITORY, TASKS, UNDECIDED] = [-1, -2, -3]

/** From this width on there is room for the chat beside the editor. */
const WIDE = '(min-width: 1180px)'
const DOCKED = 'the chat is docked'
/** Open files of a branch that are followed to the names that they got while the window was away. */
const MAX_FOLLOWED_FILES = 1_000
/** How long after the last change the layout is sent. */
const LAYOUT_DELAY_MS = 400

export class Page {
  readonly connection = new Connection()
  readonly places = new FocusPlaces()
  readonly files: OpenFiles
  readonly desk = signal<DeskInfo | undefined>(undefined)
  readonly tabs = signal<Tab[]>([])
  /** The tab that is shown, from 0; or the repository, or the tasks; or none yet. */
  readonly active = signal(UNDECIDED)
  readonly notices = signal<Notice[]>([])
  /** Good news: the newest, which leave by themselves. */
  readonly toast = signal<Notice | undefined>(undefined)
  readonly palette = signal<PaletteMode | undefined>(undefined)
  readonly menu = signal<MenuContent | undefined>(undefined)
  readonly dialog = signal<DialogContent | undefined>(undefined)
  /** Counts up when what is shown in the middle is to have the focus. */
  readonly focusWanted = signal(0)
  readonly isWrapped = signal(false)
  /** The branches that are just being saved, and what is to be saved in them next. */
  readonly saves = new Saves()
  /** Whether the chat stands beside the editor, where there is room for it. */
  readonly isDocked = signal(keptInBrowser(DOCKED) !== '')
  readonly #wide = matchMedia(WIDE)
  readonly isWide = signal(this.#wide.matches)
  /** A word for those who can't see what just happened. */
  readonly spoken = signal('')
  /** Commits that a branch was moved to from outside, which the person has taken note of. */
  readonly seen = signal<ReadonlySet<string>>(new Set())
  /** Counts up when a branch is another one: what shows it asks again. */
  readonly changed = signal<ReadonlyMap<string, number>>(new Map())
  readonly tab = computed(() => this.tabs.value[this.active.value])
  readonly forklift = new ForkliftState(this.connection)
  readonly tasks = new TasksState(this.connection)
  readonly graph = new GraphState(this)
  #layoutTimer: ReturnType<typeof setTimeout> | undefined
  /** Whether what was open in the last session is there again. */
  #isRestored = false
  /** The description of the desk that came by itself while one was asked for. */
  #heardDesk: DeskInfo | undefined

  /** Called when a checkout did not follow a save. */
  onLeftBehind: (news: LeftBehind) => void = () => {}

  /** `nonce`: the word without which the browser takes no style of a script's. */
  constructor(readonly nonce: string) {
    const choices = { nonce, isWrapped: this.isWrapped }
    this.files = new OpenFiles((at, path, position) => new OpenFile(this.connection, choices, at, path, position))
    this.connection.onNews = news => this.#hear(news)
    this.connection.onUp = () => this.#begin()
  }

  /** Connects. Waits for what came with the page, if something did: it is what is shown first then. */
  async start(): Promise<void> {
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

  branch(name: string): BranchInfo | undefined {
    return this.desk.value?.branches.find(branch => branch.name === name)
  }

  /** Whether a tab's branch is no more. In a repository without commits, its first branch is not there yet. */
  isGone(at: At): boolean {
    const desk = this.desk.value
    if (!desk || at.kind === 'commit') return false
    return !this.branch(at.branch) && !desk.isEmpty
  }

  /** Shows a branch or a commit, in its tab or a new one. */
  open(at: At): Tab {
    const place = placeOf(at)
    const index = this.tabs.peek().findIndex(tab => placeOf(tab.at) === place)
    if (index >= 0) {
      this.active.value = index
      return this.tabs.peek()[index] as Tab
    }
    const tab = new Tab(this, at)
    batch(() => {
      this.tabs.value = [...this.tabs.peek(), tab]
      this.active.value = this.tabs.peek().length - 1
    })
    return tab
  }

  /** Shows something of a tab, to go on there by the keyboard. */
  showHere(tab: Tab, pane: Pane): void {
    batch(() => {
      tab.show(pane)
      this.wantFocus()
    })
  }

  /** Shows the chat because the person asks for it: without a model it says then what to set. */
  showChat(tab: Tab): void {
    tab.composer.isWanted.value = true
    this.showHere(tab, CHAT)
  }

  wantFocus(): void {
    this.focusWanted.value++
  }

  close(tab: Tab): void {
    const index = this.tabs.peek().indexOf(tab)
    if (index < 0) return
    for (const pane of tab.panes.peek()) {
      if (pane.kind === 'file') this.files.close(tab.at, pane.path)
    }
    batch(() => {
      this.tabs.value = this.tabs.peek().toSpliced(index, 1)
      const active = this.active.peek()
      if (active > index || active >= this.tabs.peek().length) this.active.value = active - 1
    })
  }

  closeOthers(tab: Tab): void {
    for (const other of this.tabs.peek()) if (other !== tab) this.close(other)
  }

  /** Closes all panes of a tab but one, and the chat. */
  closeOtherPanes(tab: Tab, pane: Pane): void {
    const key = paneKey(pane)
    batch(() => {
      for (const other of tab.panes.peek()) if (paneKey(other) !== key) this.closePane(tab, other)
    })
  }

  /** Opens a menu at a place; `opener` gets the focus back when it closes. */
  openMenu(offer: Offer, place: { x: number; y: number }, opener: HTMLElement | undefined): void {
    const groups = offer.groups.filter(({ length }) => length > 0)
    if (groups.length > 0) this.menu.value = { title: offer.title, groups, ...place, opener }
  }

  /** Puts the chat beside the editor, or into its tab again. */
  dock(isDocked: boolean): void {
    this.isDocked.value = isDocked
    keep(DOCKED, isDocked ? 'yes' : '')
  }

  closePane(tab: Tab, pane: Pane): void {
    tab.close(pane)
    if (pane.kind === 'file') this.files.close(tab.at, pane.path)
  }

  /** A tab for the branch under its new name, with all that was open. */
  renamed(from: string, to: string): void {
    const tabs = this.tabs.peek()
    const index = tabs.findIndex(tab => tab.at.kind === 'branch' && tab.at.branch === from)
    const old = tabs[index]
    if (!old) return
    const tab = new Tab(this, { kind: 'branch', branch: to }, this.#layoutOf(old))
    tab.composer.write(old.composer.text.peek())
    old.composer.write('')
    tab.writeMessage(old.message.peek())
    old.writeMessage(undefined)
    for (const pane of old.panes.peek()) {
      if (pane.kind === 'file') this.files.close(old.at, pane.path)
    }
    this.tabs.value = tabs.with(index, tab)
  }

  /** What is shown, as a key: a branch, a commit, the repository or the tasks. */
  get place(): string {
    const tab = this.tab.value
    return tab ? placeOf(tab.at) : this.active.value === TASKS ? 'tasks' : 'repository'
  }

  /** Says that something went well, where the person is, for some seconds. */
  tell(news: Pick<Notice, 'topic' | 'title' | 'words' | 'actions' | 'lasts' | 'branch'>): void {
    if (news.topic !== undefined) this.solved(news.topic, news.branch)
    this.toast.value = { ...news, tone: 'good', place: untracked(() => this.place) }
    this.spoken.value = news.title
  }

  notify(notice: Notice): void {
    const isSame = ({ title, topic, branch }: Notice) =>
      branch === notice.branch && (topic === undefined ? title === notice.title : topic === notice.topic)
    this.notices.value = [...this.notices.peek().filter(other => !isSame(other)), notice]
  }

  /** What notices of a topic were about is not so any more. */
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

  /** Says why something did not work, where the person looks. */
  complain(error: unknown, { branch, topic }: { branch?: string | undefined; topic?: string | undefined } = {}): void {
    const title = error instanceof Error ? error.message : String(error)
    this.notify({
      tone: 'bad',
      title,
      ...(branch === undefined ? { place: untracked(() => this.place) } : { branch }),
      ...(topic === undefined ? {} : { topic }),
    })
  }

  /** Asks for what is so. The first answer brings what was open back; later ones have all that is shown asked for again. */
  async #begin(): Promise<void> {
    this.#heardDesk = undefined
    const tips = new Map(this.desk.peek()?.branches.map(({ name, tip }) => [name, tip]))
    let isFirst = false
    try {
      const { desk, layout } = await this.connection.ask('desk', {})
      isFirst = !this.#isRestored
      batch(() => {
        // Each change of the desk is followed by a description: the one that was heard last is the newest.
        this.desk.value = this.#heardDesk ?? desk
        if (!isFirst) return
        this.#isRestored = true
        this.#restore(desk, layout ?? undefined)
        this.wantFocus()
      })
    } catch (error) {
      this.complain(error)
    }
    if (!isFirst) await this.#followRenames(tips)
    for (const file of this.files.all()) if (!isFirst || file.isFromBeforeBreak) file.ask(true)
    if (isFirst) return
    for (const tab of this.tabs.peek()) {
      tab.tree.refresh()
      tab.conversation.touch()
      tab.merging.touch()
    }
    this.forklift.touch()
    this.graph.touch()
    // How a fetch has ended that was under way, nobody may have told this window.
    this.graph.progress.value = undefined
    for (const { name } of this.desk.peek()?.branches ?? []) this.#touch(name)
  }

  /**
   * A branch or a file may have got another name while this window was not told. `tips`: where the branches were, by
   * the names that they had then.
   */
  async #followRenames(tips: ReadonlyMap<string, string>): Promise<void> {
    for (const { at } of this.tabs.peek()) {
      if (at.kind === 'commit') continue
      const { branch } = this.isGone(at)
        ? await this.connection.ask('name now', { branch: at.branch }).catch(() => at)
        : at
      if (branch !== at.branch) this.renamed(at.branch, branch)
      const since = tips.get(at.branch)
      if (since !== undefined && since !== this.branch(branch)?.tip) await this.#followFiles(branch, since)
    }
  }

  async #followFiles(branch: string, since: string): Promise<void> {
    const panes = this.#tabOf(branch)?.panes.peek() ?? []
    const paths = panes.flatMap(pane => (pane.kind === 'file' ? [pane.path] : [])).slice(0, MAX_FOLLOWED_FILES)
    if (paths.length === 0) return
    const now = await this.connection.ask('paths now', { branch, since, paths }).catch(() => ({ paths }))
    for (const [at, from] of paths.entries()) {
      const to = now.paths[at]
      if (to === undefined || to === from) continue
      this.files.rename(branch, { from, to }, true)
      this.#tabOf(branch)?.rename({ from, to })
    }
  }

  /** What was open is there again. What the person has opened or chosen meanwhile stays, and stays chosen. */
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
    // The HEAD of a bare repository may name a branch that nobody has pushed.
    const isHeadThere = desk.isEmpty || desk.branches.some(({ name }) => name === desk.head)
    const first = isHeadThere ? desk.head : desk.branches[0]?.name
    return first === undefined ? [] : [new Tab(this, { kind: 'branch', branch: first })]
  }

  /** A first start shows the repository; where there is none yet, where its first commit is made. */
  #firstActive(desk: DeskInfo, layout: Layout | undefined): number {
    const count = layout?.tabs.length ?? 0
    if (!layout || count === 0) return desk.isEmpty && this.tabs.peek().length > 0 ? 0 : REPOSITORY
    // As the layout is kept: the repository stands behind all tabs, the tasks behind that.
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
        // Before what was open is there, nothing that is shown could be of use.
        if (this.#isRestored) this.desk.value = news.desk
        return
      case 'branch':
        this.#branchChanged(news.branch)
        return
      case 'renamed':
        this.renamed(news.branch, news.to)
        return
      case 'renamed file':
        this.files.rename(news.branch, news)
        this.#tabOf(news.branch)?.rename(news)
        return
      case 'edited':
        this.#fileIn(news.branch, news.path)?.receive(news.version, news.edits)
        return
      case 'replaced':
        this.#fileIn(news.branch, news.path)?.take(news.file)
        return
      case 'saved':
        this.saved(news.branch, news.commit, news.drafts)
        return
      case 'checkout follows':
        this.solved('checkout', news.branch)
        return
      case 'checkout left behind':
        this.onLeftBehind(news)
        return
      case 'found':
        for (const tab of this.tabs.peek()) tab.search.receive(news)
        return
      case 'turn':
        this.#tabOf(news.branch)?.conversation.receive(news.news)
        return
      case 'waiting':
        this.#waits(news.branch, news.words)
        return
      case 'notice':
        this.#say(news.words, news.isBad, news.topic)
        return
    }
  }

  #say(title: string, isBad: boolean, topic: string | undefined): void {
    const about = topic === undefined ? {} : { topic }
    if (isBad) this.notify({ tone: 'bad', title, ...about })
    else this.tell({ title, ...about })
  }

  /** Also where it was begun elsewhere, as an undo is: it is shown everywhere. */
  #waits(branch: string, words: string | undefined): void {
    const topic = `waiting ${branch}`
    if (words === undefined) this.solved(topic)
    else this.notify({ topic, tone: 'plain', title: words })
  }

  /**
   * The branch has this commit now, and these drafts are left: seen at once, before the server sends all of the desk.
   */
  saved(branch: string, commit: string, drafts?: string[]): void {
    const desk = this.desk.peek()
    if (!desk) return
    const changed = { tip: commit, ...(drafts && { drafts }) }
    const branches = desk.branches.map(info => (info.name === branch ? { ...info, ...changed } : info))
    batch(() => {
      this.desk.value = { ...desk, branches }
      this.spoken.value = `Saved → ${commit.slice(0, 8)}`
    })
  }

  #fileIn(branch: string, path: string) {
    return this.files.find({ kind: 'branch', branch }, path)
  }

  #branchChanged(branch: string): void {
    // The server says by itself what becomes of a file that is open.
    for (const file of this.files.of(branch)) if (file.problem.peek() !== undefined) file.ask()
    const tab = this.#tabOf(branch)
    tab?.tree.refreshSoon()
    tab?.conversation.touch()
    tab?.merging.touch()
    this.#touch(branch)
  }

  #tabOf(branch: string): Tab | undefined {
    return this.tabs.peek().find(({ at }) => at.kind === 'branch' && at.branch === branch)
  }

  #touch(branch: string): void {
    const changed = this.changed.peek()
    this.changed.value = new Map(changed).set(branch, (changed.get(branch) ?? 0) + 1)
  }

  #showActive(): void {
    const tab = this.tab.value
    if (tab) this.need(tab)
  }

  /** A tab is shown, or about to be: what it needs is asked for, at the first time. */
  need(tab: Tab): void {
    const { pane } = tab
    tab.tree.load()
    tab.conversation.load()
    const branch = tab.at.kind === 'branch' ? this.branch(tab.at.branch) : undefined
    if (branch?.merging || branch?.conflicts) tab.merging.load()
    if (pane.kind !== 'file') return
    const { path } = pane
    if (!this.files.find(tab.at, path)) this.files.open(tab.at, path, tab.positions.get(path))
  }

  #watchLayout(): void {
    // Read here, so that the effect runs when any of it changes.
    for (const tab of this.tabs.value) {
      tab.panes.value
      tab.active.value
      tab.tree.open.value
    }
    this.active.value
    this.graph.panes.chosen.value
    if (this.desk.value) this.keepLayout()
  }

  /** Also called where something scrolls. `isNow`: the window goes, there is no later. */
  keepLayout(isNow = false): void {
    const wasWaiting = this.#layoutTimer !== undefined
    clearTimeout(this.#layoutTimer)
    this.#layoutTimer = undefined
    const send = () => {
      this.#layoutTimer = undefined
      const tabs = this.tabs.peek()
      // The repository stands behind all tabs, the tasks behind that.
      const active = this.active.peek() < 0 ? tabs.length - 1 - this.active.peek() : this.active.peek()
      const panes = this.graph.panes.chosen.peek()
      const layout = { tabs: tabs.map(tab => this.#layoutOf(tab)), active, panes }
      this.connection.ask('keep layout', { layout }).catch(() => {})
    }
    if (!isNow) this.#layoutTimer = setTimeout(send, LAYOUT_DELAY_MS)
    else if (wasWaiting) send()
  }

  #layoutOf(tab: Tab): Layout['tabs'][number] {
    const paths = tab.panes.peek().flatMap(pane => (pane.kind === 'file' ? [pane.path] : []))
    const key = tab.active.peek()
    const active = paths.find(path => paneKey({ kind: 'file', path }) === key)
    const files = paths.map(path => {
      const position = this.files.find(tab.at, path)?.position ?? tab.positions.get(path)
      return { path, ...(position ?? { top: 0, cursor: 0 }) }
    })
    return { at: tab.at, files, folders: [...tab.tree.open.peek()], ...(active === undefined ? {} : { active }) }
  }
}

const PageContext = createContext<Page | undefined>(undefined)
export const PageProvider = PageContext.Provider

export function usePage(): Page {
  const page = useContext(PageContext)
  if (!page) throw new Error('There is no page around this component.')
  return page
}
