/**
 * One desk: a repository, the work on its branches, and the windows that show it. A window's questions are answered;
 * news of changes goes to all windows.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../core/failure.ts'
import { headIn } from '../../core/git/checkouts.ts'
import { identityOf } from '../../core/git/identity.ts'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import type { Oid, Repository } from '../../core/git/repository.ts'
import type { StartParser } from '../code/reader.ts'
import type { Launcher } from '../language/launch.ts'
import { Operations } from '../operations.ts'
import { branchOfRef, HEADS } from './branches/branches.ts'
import { defaultBranchOf } from './branches/default-branch.ts'
import { originsIn } from './branches/draft-renames.ts'
import { closeFile, marksAt, renamesIn, vfsAt } from './branches/places.ts'
import { pathsNow } from './branches/renamed-files.ts'
import { whyNotReplaced } from './branches/replace-in-files.ts'
import type { Models } from './chat/models.ts'
import { Code } from './code/handlers.ts'
import type { BranchInfo } from './contract/branches.ts'
import type { PageBeginning, questions } from './contract/contract.ts'
import { type DeskInfo, type deskQuestions, Layout } from './contract/desk.ts'
import { GRAPH_CHUNK } from './contract/graph.ts'
import type { News } from './contract/news.ts'
import { type Handlers, handle } from './contract/question.ts'
import type { Theme } from './contract/settings.ts'
import type { At } from './contract/values.ts'
import { ForkliftOnDesk, type ForkliftOptions } from './forklift/forklift-on-desk.ts'
import { forkliftHandlers } from './forklift/handlers.ts'
import { GraphView } from './graph/graph-view.ts'
import { graphHandlers } from './graph/handlers.ts'
import { Comments } from './reading/comments.ts'
import { Reading } from './reading/handlers.ts'
import { imageAnswer } from './server/images.ts'
import type { Listener, WindowSocket } from './server/server.ts'
import { readLayout, repositoryName, writeLayout } from './server/state.ts'
import { SettingsFile } from './server/user-settings.ts'
import { errorInWords, Window } from './server/window.ts'
import { hooksOf } from './steps/warnings.ts'
import type { CommandOptions } from './tasks/command.ts'
import { tasksHandlers } from './tasks/handlers.ts'
import { openMergeOf } from './tasks/merge-in-parts.ts'
import { Tasks } from './tasks/tasks-on-desk.ts'
import { openWork, type Work } from './work.ts'

/**
 * Time for which settings made outside (a name, a hook) are cached, in milliseconds. A new page gets them read again.
 */
const SETTINGS_VALID_MS = 10_000
/**
 * Delays before the desk's state is sent again, in milliseconds. It is short after refs have moved, only to join
 * several changes. It is longer after changes of drafts, which the window that makes them knows: describing the state
 * runs git, which should not slow down typing and saving.
 */
const [REFS_NEWS_DELAY_MS, OTHER_NEWS_DELAY_MS] = [20, 250]
/** The desk's state waits this long at most, in milliseconds, for the look that tells of renamed branches. */
const LOOK_PATIENCE_MS = 1_000

export type DeskOptions = {
  /** The desk's state folder, outside the repository. */
  state: string
  /** The folder of the user's settings: see {@link WorkOptions}. */
  config?: string
  models?: Models
  /** How to start Forklift; undefined: the page does not offer it. */
  forklift?: ForkliftOptions
  /** How to start the commands of the tasks; undefined: the page does not offer tasks. */
  tasks?: CommandOptions
  /** How language servers are started. Default: in the locked container. */
  languageServers?: Launcher
  /** How parsers of code are started. Default: with processes of their own. */
  startParser?: StartParser
  /** Called with a line for the terminal. */
  log: (words: string) => void
}

export class Desk implements AsyncDisposable {
  readonly objects: Objects
  readonly #windows = new Set<Window>()
  readonly #reading: Reading
  readonly #comments: Comments
  readonly #code: Code
  readonly #graph: GraphView
  #opened: Work | undefined
  #forklift: ForkliftOnDesk | undefined
  readonly #tasks: Tasks | undefined
  readonly #userSettings: SettingsFile
  #layout: Promise<unknown> = Promise.resolve()
  /** The scheduled sending of the desk's state: its timer and time; undefined for none. */
  #deskNews: { clock: ReturnType<typeof setTimeout>; at: number } | undefined
  #known: { known: Promise<Settings>; since: number } | undefined
  /**
   * Counts the news sent to all windows. It starts at a random number, so that a page notices when it is connected to
   * another desk.
   */
  #said = Math.floor(Math.random() * 2 ** 40)

  private constructor(
    readonly repository: Repository,
    readonly options: DeskOptions,
  ) {
    this.objects = openObjects(repository)
    this.#reading = new Reading(this.objects, {
      vfsAt: at => vfsAt(this.#work.branches, at),
      renamesIn: branch => renamesIn(this.#work.branches, branch),
      headOf: async branch => (await this.#work.branches.work(branch)).head,
      tipOf: branch => this.#work.branches.tipOf(branch),
      turnBaseOf: async branch => (await this.#work.branches.work(branch)).turnBase,
      savedPath: async (branch, path) => originsIn((await this.#work.branches.work(branch)).drafts).get(path) ?? path,
      marksAt: at => marksAt(this.#work.branches, at),
      whyNotReplaced: async (branch, paths, files) =>
        await whyNotReplaced(await this.#work.branches.work(branch), paths, files),
      contextOf: (branch, paths) => this.#work.chat.conversations.circlesIn(branch, paths),
    })
    this.#comments = new Comments({
      objects: this.objects,
      vfsAt: at => vfsAt(this.#work.branches, at),
      headOf: async branch => (await this.#work.branches.work(branch)).head,
      nameNow: branch => this.#work.branches.nameNow(branch),
      pathsNow: async (branch, asked) => (await pathsNow(this.#work.branches, branch, asked)).paths,
      changed: branch => this.#tell({ say: 'branch', branch, isOfDrafts: true }),
    })
    this.#code = new Code(this.objects, {
      vfsAt: at => vfsAt(this.#work.branches, at),
      marksAt: at => marksAt(this.#work.branches, at),
      folder: options.state,
      startParser: options.startParser,
    })
    const toWindows = () => this.#tell({ say: 'repository' })
    this.#graph = new GraphView(this.objects, new Operations(this.objects), toWindows)
    this.#tasks = options.tasks && new Tasks(repository, options.tasks)
    const { config = options.state } = options
    this.#userSettings = new SettingsFile(config, settings => this.#tell({ say: 'settings', settings }))
  }

  /** Opens the desk of a repository, with the drafts in it. The caller must close it. */
  static async open(repository: Repository, options: DeskOptions): Promise<Desk> {
    const desk = new Desk(repository, options)
    try {
      await desk.#open()
      return desk
    } catch (error) {
      await desk.#reading[Symbol.asyncDispose]()
      await desk.#graph[Symbol.asyncDispose]()
      await desk.objects[Symbol.asyncDispose]()
      throw error
    }
  }

  async #open(): Promise<void> {
    const { state, config, models, forklift, languageServers, startParser } = this.options
    await this.#userSettings.begin()
    const onNews = (news: News) => this.#say(news)
    this.#opened = await openWork(this.repository, {
      ...{ state, config, models, languageServers, startParser, onNews },
      shown: () => [...this.#windows].flatMap(({ shown }) => shown),
    })
    if (forklift) this.#forklift = new ForkliftOnDesk(this.objects, this.#work.branches, forklift, onNews)
  }

  async #isGraphShown(): Promise<boolean> {
    const layout = await readLayout(this.options.state, Layout)
    return !layout || layout.active >= layout.tabs.length
  }

  get #work(): Work {
    if (!this.#opened) throw new Error('The desk is not open yet')
    return this.#opened
  }

  get #theForklift(): ForkliftOnDesk {
    if (!this.#forklift) throw new Failure('There is no Forklift beside this desk.')
    return this.#forklift
  }

  get #theTasks(): Tasks {
    if (!this.#tasks) throw new Failure('There are no tasks beside this desk.')
    return this.#tasks
  }

  enter(line: WindowSocket): Listener {
    const tellOthers = (news: News) => {
      for (const other of this.#windows) if (other !== window) other.tell(news)
    }
    const window: Window = new Window(
      line,
      (name, fields, from) => handle(this.#handlers, name, fields, from),
      tellOthers,
    )
    this.#windows.add(window)
    return { hear: text => window.hear(text), leave: () => this.#leave(window) }
  }

  /** The answers to a page's first questions, embedded in pages for users with access. */
  async beginning(): Promise<PageBeginning> {
    const said = this.#said
    const answers = [{ ask: 'desk', fields: {}, value: await this.#describeAll() }]
    if (!(await this.#isGraphShown())) return { said, answers }
    const first = { filter: { withAbandoned: false }, from: 0, count: GRAPH_CHUNK }
    const graph = this.#graph.window(first.filter, first.from, first.count)
    const refs = this.#graph.refs()
    return {
      said,
      answers: [
        ...answers,
        { ask: 'graph', fields: first, value: await graph },
        { ask: 'refs', fields: {}, value: await refs },
      ],
    }
  }

  get theme(): Theme {
    return this.#userSettings.values.theme ?? 'system'
  }

  image(oid: Oid): Promise<Response | undefined> {
    return imageAnswer(this.objects, oid)
  }

  /** Writes all edits, and ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#userSettings[Symbol.dispose]()
    await Promise.all([...this.#windows].map(window => this.#leave(window)))
    await this.#layout
    await this.#opened?.[Symbol.asyncDispose]()
    this.#code[Symbol.dispose]()
    await this.#reading[Symbol.asyncDispose]()
    await this.#graph[Symbol.asyncDispose]()
    await this.objects[Symbol.asyncDispose]()
  }

  // --- News for all windows ---

  #say(news: News): void {
    const isOfDrafts = news.say === 'branch' && news.isOfDrafts === true
    const isOfRefs = (news.say === 'branch' && !isOfDrafts) || news.say === 'saved' || news.say === 'repository'
    // The graph is told before the news is sent, since windows ask as soon as they receive it.
    if (isOfRefs) this.#graph.touch()
    if (news.say === 'renamed') for (const window of this.#windows) window.branchRenamed(news)
    if (news.say === 'renamed file') for (const window of this.#windows) window.renamed(news)
    this.#opened?.hear(news)
    this.#tell(news)
    if (news.say === 'notice') this.options.log(news.words)
    // The desk's state lists how far each branch is ahead or behind, so it is sent again when refs move.
    if (isOfRefs) this.#sayDesk(REFS_NEWS_DELAY_MS)
    else if (isOfDrafts) this.#sayDesk(OTHER_NEWS_DELAY_MS)
  }

  #tell(news: News): void {
    this.#said++
    for (const window of this.#windows) window.tell(news)
  }

  /** Sends the desk's state after a delay, once for several changes. */
  #sayDesk(after: number): void {
    const at = performance.now() + after
    if (this.#deskNews && this.#deskNews.at <= at) return
    clearTimeout(this.#deskNews?.clock)
    const clock = setTimeout(async () => {
      this.#deskNews = undefined
      if (this.#windows.size === 0) return
      // Windows hear of a branch that was renamed outside before a list has only its new name: it would count as
      // deleted. A look that fails is repeated by the next one, which tells why; one may wait for a locked branch.
      await Promise.race([this.#work.look().catch(() => undefined), sleep(LOOK_PATIENCE_MS)])
      const desk = await this.#describe(this.#settings()).catch(() => undefined)
      if (desk) this.#say({ say: 'desk', desk })
    }, after)
    this.#deskNews = { clock, at }
  }

  /** Closes a window with its open files. Failures are logged. */
  async #leave(window: Window): Promise<void> {
    this.#windows.delete(window)
    window.leave()
    const closed = window.shown
      .splice(0)
      .map(({ at, path }) =>
        closeFile(this.#work.branches, at, path).catch(error => this.options.log(errorInWords(error))),
      )
    await Promise.all(closed)
  }

  /** The user's settings, from the cache if recent. */
  #settings(): Promise<Settings> {
    const { known } = this.#known ?? {}
    const isYoung = this.#known !== undefined && performance.now() - this.#known.since < SETTINGS_VALID_MS
    return known && isYoung ? known : this.#readSettings()
  }

  #readSettings(): Promise<Settings> {
    const known = settingsOf(this.repository)
    this.#known = { known, since: performance.now() }
    known.catch(() => {
      this.#known = undefined
    })
    return known
  }

  async #describe(coming: Promise<Settings>): Promise<DeskInfo> {
    const { repository } = this
    const work = this.#work
    const [all, deleted, head, origin, { identity, hooks }, { undo, redo }, inBranches] = await Promise.all([
      work.describeBranches(),
      work.vanished(),
      headIn(repository.gitDir),
      headIn(join(repository.commonDir, 'refs/remotes/origin')),
      coming,
      work.undoable(),
      work.undoableInBranches(),
    ])
    const branches = all.map(info => withUndo(info, inBranches.get(info.name)))
    const branch = head?.startsWith(HEADS) ? branchOfRef(head) : undefined
    const main = defaultBranchOf(new Set(branches.map(({ name }) => name)), { origin, head: branch })
    const isBorn = branch === undefined || branches.some(({ name }) => name === branch)
    const firstDrafts = isBorn ? [] : await work.draftsIn(branch)
    return {
      ...repositoryName(repository),
      isBare: repository.isBare,
      isShallow: repository.isShallow,
      isEmpty: branches.length === 0,
      ...(firstDrafts.length > 0 && { firstDrafts }),
      ...(branch && { head: branch }),
      ...(main !== undefined && { main }),
      ...(identity && { identity }),
      branches,
      ...(deleted.length > 0 && { deleted }),
      ...(undo && { canUndo: undo }),
      ...(redo && { canRedo: redo }),
      hooks,
    }
  }

  /** Describes the desk for a new page, with newly read settings. */
  async #describeAll() {
    const [desk, layout, settings] = await Promise.all([
      this.#describe(this.#readSettings()),
      this.#readLayout(),
      this.#userSettings.read(),
    ])
    return { desk, layout, settings, leftBehind: await this.#work.checkoutsLeftBehind() }
  }

  /** The handlers of all questions. */
  get #handlers(): Handlers<typeof questions, Window> {
    return {
      ...this.#ownHandlers,
      ...this.#work.handlers,
      ...this.#reading.handlers,
      ...this.#comments.handlers,
      ...this.#code.handlers,
      ...graphHandlers(this.#graph),
      ...forkliftHandlers(() => this.#theForklift),
      ...tasksHandlers(
        () => this.#theTasks,
        run => openMergeOf(this.objects, this.#work.branches, run),
      ),
    }
  }

  readonly #ownHandlers: Handlers<typeof deskQuestions, Window> = {
    desk: () => this.#describeAll(),
    'has missed': ({ said }) => said !== this.#said,
    ping: () => undefined,
    'keep layout': ({ layout }) => this.#keepLayout(layout),
    'set setting': ({ key, value }) => this.#userSettings.set(key, value),
  }

  async #readLayout(): Promise<Layout | undefined> {
    await this.#layout
    const layout = await readLayout(this.options.state, Layout)
    if (!layout) return undefined
    // A branch may have been renamed since the layout was stored.
    const tabs = layout.tabs.map(async tab => ({ ...tab, at: await this.#placeNow(tab.at) }))
    return { ...layout, tabs: await Promise.all(tabs) }
  }

  async #placeNow(at: At): Promise<At> {
    return at.kind === 'commit' ? at : { ...at, branch: await this.#work.branches.nameNow(at.branch) }
  }

  /** Writes the layout after any earlier write has ended, so that the newest layout is the last one written. */
  async #keepLayout(layout: Layout): Promise<void> {
    const written = this.#layout.then(() => writeLayout(this.options.state, layout))
    this.#layout = written.catch(() => undefined)
    await written
  }
}

/** The user's settings that a page shows. */
type Settings = Pick<DeskInfo, 'identity' | 'hooks'>

async function settingsOf(repository: Repository): Promise<Settings> {
  const [identity, hooks] = await Promise.all([identityOf(repository), hooksOf(repository)])
  return { hooks, ...(identity && { identity }) }
}

const withUndo = (info: BranchInfo, { undo, redo }: { undo?: string; redo?: string } = {}): BranchInfo => ({
  ...info,
  ...(undo !== undefined && { canUndo: undo }),
  ...(redo !== undefined && { canRedo: redo }),
})
