/**
 * One desk: a repository, the work in its branches, and the windows that show it. Each window asks and is answered;
 * what has become different is said to all of them.
 */
import { Failure } from '../../core/failure.ts'
import { headIn } from '../../core/git/checkouts.ts'
import { mergeBases } from '../../core/git/commits.ts'
import { findText, textSearch } from '../../core/git/grep.ts'
import { type Objects, openObjects } from '../../core/git/objects.ts'
import type { Oid, Path, Repository } from '../../core/git/repository.ts'
import { run } from '../../core/git/run.ts'
import { emptyTree } from '../../core/git/trees.ts'
import { Operations } from '../operations.ts'
import { branchOf, HEADS } from './branches/branches.ts'
import type { Models } from './chat/models.ts'
import { firstQuestions } from './first-questions.ts'
import { Forklift, type ForkliftOptions } from './forklift/forklift-on-desk.ts'
import { GraphView } from './graph/graph-view.ts'
import {
  type At,
  type BranchInfo,
  type Desk as DeskInfo,
  type File,
  type FolderEntry,
  Layout,
  type Match,
  type News,
  type PageBeginning,
  type Question,
  type Reply,
} from './messages.ts'
import { changesBetween } from './reading/changes.ts'
import type { FileFinder } from './reading/find.ts'
import { listFolder } from './reading/folders.ts'
import { commitInFull, commitNamed, Histories, rowsBeyond, rowsTouching, treeBefore } from './reading/history.ts'
import { listedAt, type Place, placeOf } from './reading/place.ts'
import { type Guess, guess } from './reading/text.ts'
import { imageAnswer } from './server/images.ts'
import type { Line, Listener } from './server/server.ts'
import { nameOf, readLayout, writeLayout } from './server/state.ts'
import { inWords, Window } from './server/window.ts'
import { hooksOf } from './steps/warnings.ts'
import type { CommandOptions } from './tasks/command.ts'
import { Tasks } from './tasks/tasks-on-desk.ts'
import type { Work, WorkOptions } from './work.ts'

/**
 * How long what a person sets by hand (a name, a hook) is taken for what it was, in milliseconds. A page that begins is
 * told how it is.
 */
const SETTINGS_FOR = 10_000
/**
 * Milliseconds after which the desk is described anew: at once, but for several changes together, where refs have
 * moved; later where there are other drafts only, of which the window that they are typed in knows by itself: git,
 * which is asked for the description, is not to be in the way of who types and saves.
 */
const [SOON, LATER] = [20, 250]
/** Milliseconds for which what was made ready for the first page is as good as new, where nothing is heard of. */
const READY_FOR = 3000
/** A text file of more bytes is not sent whole. */
const LONGEST_TEXT = 2 << 20

export type DeskOptions = {
  /** The folder outside of the repository in which the desk keeps what it knows. */
  state: string
  openWork: (repository: Repository, options: WorkOptions) => Promise<Work>
  /** As {@link WorkOptions} has them. */
  config?: string
  models?: Models
  /** How Forklift is started here; without it there is none. */
  forklift?: ForkliftOptions
  /** How the commands of the tasks are started here; without it there are none. */
  tasks?: CommandOptions
  /** Gets what a person at the terminal should know, as a line. */
  log: (words: string) => void
}

export class Desk implements AsyncDisposable {
  readonly objects: Objects
  readonly #windows = new Set<Window>()
  readonly #histories: Histories
  #finder: Promise<FileFinder> | undefined
  readonly #graph: GraphView
  /** Fails where the work could not be opened. What is asked before it is there waits for it. */
  readonly opened: Promise<void>
  #work: Work | undefined
  #forklift: Forklift | undefined
  readonly #tasks: Tasks | undefined
  #layout: Promise<unknown> = Promise.resolve()
  /** When the desk is described anew. */
  #deskNews: { clock: ReturnType<typeof setTimeout>; at: number } | undefined
  #known: { known: Promise<Settings>; since: number } | undefined
  /** How much was said to all windows. It begins anywhere: so that no page takes it for what another desk has said. */
  #said = Math.floor(Math.random() * 2 ** 40)
  /** What the first page will begin with, made while its browser starts. */
  #ready: { beginning: Promise<PageBeginning>; said: number; since: number } | undefined

  private constructor(
    readonly repository: Repository,
    readonly options: DeskOptions,
  ) {
    this.objects = openObjects(repository)
    this.#histories = new Histories(this.objects)
    const toWindows = () => this.#tell({ say: 'repository' })
    this.#graph = new GraphView(this.objects, new Operations(this.objects), toWindows)
    this.#tasks = options.tasks && new Tasks(repository, options.tasks)
    this.opened = this.#openWork()
    // Who waits for it is told.
    this.opened.catch(() => undefined)
  }

  /** Begins to open the desk: see {@link opened}. To be closed. */
  static begin(repository: Repository, options: DeskOptions): Desk {
    return new Desk(repository, options)
  }

  async #openWork(): Promise<void> {
    const { state, config, models, forklift, openWork } = this.options
    this.#work = await openWork(this.repository, { state, config, models, onNews: news => this.#say(news) })
    if (forklift) this.#forklift = new Forklift(this.objects, this.#work, forklift, news => this.#say(news))
  }

  /** Makes ready what a page begins with, while the browser that is to show it starts. */
  async prepare(): Promise<void> {
    const beginning = this.#makeBeginning()
    this.#ready = { beginning, said: this.#said, since: performance.now() }
    // Who asks for it is told why.
    await beginning.catch(() => undefined)
  }

  async #isGraphShown(): Promise<boolean> {
    const layout = await readLayout(this.options.state, Layout)
    return !layout || layout.active >= layout.tabs.length
  }

  get #opened(): Work {
    if (!this.#work) throw new Error('The desk is not open yet')
    return this.#work
  }

  get #theForklift(): Forklift {
    if (!this.#forklift) throw new Failure('There is no Forklift beside this desk.')
    return this.#forklift
  }

  get #theTasks(): Tasks {
    if (!this.#tasks) throw new Failure('There are no tasks beside this desk.')
    return this.#tasks
  }

  /** It is loaded when somebody looks for a file first. */
  #theFinder(): Promise<FileFinder> {
    this.#finder ??= import('./reading/find.ts').then(({ FileFinder }) => new FileFinder(this.repository))
    return this.#finder
  }

  enter(line: Line): Listener {
    const window = new Window(line, question => this.#answer(window, question))
    this.#windows.add(window)
    return { hear: text => window.hear(text), leave: () => this.#leave(window) }
  }

  /**
   * What comes with a page, for who may see all of the repository: what its first questions would be answered. Once, it
   * is what was made ready, where that is still so.
   */
  async beginning(): Promise<PageBeginning> {
    const ready = this.#ready
    this.#ready = undefined
    const isYoung = ready && ready.said === this.#said && performance.now() - ready.since < READY_FOR
    return await (isYoung ? ready.beginning : this.#makeBeginning())
  }

  async #makeBeginning(): Promise<PageBeginning> {
    const said = this.#said
    const replies: Reply[] = []
    // It hears no news: the page asks whether there was any when it can hear some itself.
    const window = new Window({ send: text => replies.push(JSON.parse(text)), end: () => undefined }, question =>
      this.#answer(window, question),
    )
    const questions = firstQuestions(await this.#isGraphShown())
    await Promise.all(questions.map(question => window.hear(JSON.stringify(question))))
    return { said, replies }
  }

  image(oid: Oid): Promise<Response | undefined> {
    return imageAnswer(this.objects, oid)
  }

  /** Writes what has been typed, and ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const window of this.#windows) this.#leave(window)
    await this.#layout
    await this.opened.catch(() => undefined)
    await this.#work?.[Symbol.asyncDispose]()
    await this.#histories[Symbol.asyncDispose]()
    await this.#graph[Symbol.asyncDispose]()
    await this.objects[Symbol.asyncDispose]()
  }

  // --- What is said to all windows ----------------------------------------------------------------------------------

  #say(news: News): void {
    const isOfDrafts = news.say === 'branch' && news.isOfDrafts === true
    const isOfRefs = (news.say === 'branch' && !isOfDrafts) || news.say === 'saved' || news.say === 'repository'
    // Before it is said: who hears it asks.
    if (isOfRefs) this.#graph.touch()
    this.#tell(news)
    if (news.say === 'notice') this.options.log(news.words)
    // Branches, and how far they are from others, are in the description of the desk, too.
    if (isOfRefs) this.#sayDesk(SOON)
    else if (isOfDrafts) this.#sayDesk(LATER)
  }

  #tell(news: News): void {
    this.#said++
    for (const window of this.#windows) window.tell(news)
  }

  /** Several changes at once make one description. */
  #sayDesk(after: number): void {
    const at = performance.now() + after
    if (this.#deskNews && this.#deskNews.at <= at) return
    clearTimeout(this.#deskNews?.clock)
    const clock = setTimeout(async () => {
      this.#deskNews = undefined
      if (this.#windows.size === 0) return
      const desk = await this.#describe(this.#settings()).catch(() => undefined)
      if (desk) this.#say({ say: 'desk', desk })
    }, after)
    this.#deskNews = { clock, at }
  }

  /** What the window has open is closed. */
  #leave(window: Window): void {
    this.#windows.delete(window)
    window.leave()
    for (const { at, path } of window.shown.splice(0))
      this.#opened.close(at, path).catch(error => this.options.log(inWords(error)))
  }

  async #open(window: Window, at: At, path: Path): Promise<File> {
    const file = await this.#opened.open(at, path)
    if (this.#windows.has(window)) window.shown.push({ at, path })
    // It went while the file was read.
    else await this.#opened.close(at, path)
    return file
  }

  /** A window closes what it has opened itself, and no other's. */
  async #close(window: Window, at: At, path: Path): Promise<void> {
    const place = window.shown.findIndex(shown => shown.path === path && isSamePlace(shown.at, at))
    if (place < 0) return
    window.shown.splice(place, 1)
    await this.#opened.close(at, path)
  }

  /** What the user has set, as it was a moment ago. */
  #settings(): Promise<Settings> {
    const { known } = this.#known ?? {}
    const isYoung = this.#known !== undefined && performance.now() - this.#known.since < SETTINGS_FOR
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
    const work = this.#opened
    const [all, head, { identity, hooks }, { undo, redo }, inBranches] = await Promise.all([
      work.branches(),
      headIn(repository.gitDir),
      coming,
      work.undoable(),
      work.undoableInBranches(),
    ])
    const branches = all.map(info => withUndo(info, inBranches.get(info.name)))
    const branch = head?.startsWith(HEADS) ? branchOf(head) : undefined
    return {
      ...nameOf(repository),
      isBare: repository.isBare,
      isEmpty: branches.length === 0,
      ...(branch && { head: branch }),
      ...(identity && { identity }),
      branches,
      ...(undo && { canUndo: undo }),
      ...(redo && { canRedo: redo }),
      hooks,
    }
  }

  /** What a page begins with: how the user has set things is read anew then. */
  async #describeAll() {
    const [desk, layout] = await Promise.all([this.#describe(this.#readSettings()), this.#readLayout()])
    return { desk, layout }
  }

  // --- What the windows ask -----------------------------------------------------------------------------------------

  /** The value of the reply. What goes to the work goes there at once, in the order in which it was asked. */
  async #answer(window: Window, question: Question): Promise<unknown> {
    // These two take no work in progress: they are read while that is opened.
    if (question.ask === 'graph') return await this.#graph.window(question.filter, question.from, question.count)
    if (question.ask === 'refs') return await this.#graph.refs()
    if (!this.#work) await this.opened
    const work = this.#opened
    switch (question.ask) {
      case 'desk':
        return await this.#describeAll()
      case 'has missed':
        return question.said !== this.#said
      case 'keep layout':
        return await this.#keepLayout(question.layout)
      case 'folder':
        return await this.#folder(question.at, question.path)
      case 'find file': {
        const { tree } = await this.#placeOf(question.at)
        return await (await this.#theFinder()).find(tree, question.words, Math.min(question.count, 1000))
      }
      case 'open':
        return await this.#open(window, question.at, question.path)
      case 'close':
        return await this.#close(window, question.at, question.path)
      case 'edit':
        return { accepted: await work.edit(question.branch, question.path, question.version, question.edits) }
      case 'save':
        return { commit: await work.save(question.branch, question.paths, question.message) }
      case 'save elsewhere':
        return { commit: await work.saveElsewhere(question.branch, question.to) }
      case 'drafts elsewhere':
        return await work.draftsElsewhere(question.branch, question.from, question.to)
      case 'discard':
        return await work.discard(question.branch, question.paths)
      case 'message':
        return { message: await work.messageFor(question.branch, question.paths) }
      case 'new file':
        return { commit: await work.newFile(question.branch, question.path) }
      case 'rename':
        return { commit: await work.rename(question.branch, question.from, question.to) }
      case 'delete':
        return { commit: await work.delete(question.branch, question.path) }
      case 'new branch':
        return await work.newBranch(question.branch, question.from)
      case 'rename branch':
        return await work.renameBranch(question.branch, question.to)
      case 'delete branch':
        return await work.deleteBranch(question.branch)
      case 'name now':
        return { branch: await work.nameNow(question.branch) }
      case 'restore branch':
        return await work.restoreBranch(question.branch)
      case 'changes':
        return await this.#changes(question.from, question.to)
      case 'blob':
        return await this.#text(question.oid)
      case 'history':
        return await this.#history(question)
      case 'commit':
        return await commitInFull(this.objects, await commitNamed(this.objects, question.commit))
      case 'find text':
        return { search: await this.#findText(window, question) }
      case 'stop finding':
        return window.endFinding(question.search)
      case 'operations':
        return await work.operations(question.from, Math.min(question.count, 500))
      case 'undo':
        return await work.undo(question.operation, question.branch)
      case 'redo':
        return await work.redo(question.branch)
      case 'clashes':
        return await work.clashes(question.branch)
      case 'settle':
        return await work.settle(question.branch, question.path, question.text, question.choice)
      case 'conversation':
        return await work.conversation(question.at)
      case 'send':
        return { turn: await work.chat.turns.send(question.branch, question.text) }
      case 'stop turn':
        return work.chat.turns.stop(question.branch)
      case 'end turn':
        return await work.chat.turns.end(question.branch, question.keep)
      case 'undo turn':
        return await work.chat.undoTurn(question.branch, question.turn)
      case 'choose model':
        return await work.chat.chooseModel(question.branch, question.model)
      case 'allow commands':
        return await work.chat.allowCommands(question.isAllowed)
      case 'approve tool':
        return work.chat.turns.approve(question.branch, question.path, question.oid, question.isApproved)
      case 'set context':
        return await work.chat.setContext(question.branch, question.path, question.isWhole)
      case 'graph place':
        return { row: await this.#graph.place(question.filter, question.name) }
      case 'find commits':
        return await this.#findCommits(window, question)
      case 'forklift':
        return await this.#theForklift.describe()
      case 'run forklift':
        return this.#theForklift.run()
      case 'stop forklift':
        return this.#theForklift.stop()
      case 'open run':
        return { branch: await this.#theForklift.open(question.run) }
      case 'publish':
        return await this.#theForklift.publish(question.branch)
      case 'look at tasks':
        return await this.#theTasks.look(question.look)
      case 'tell tasks':
        return { words: await this.#theTasks.tell(question.word) }
      case 'settle by side':
        return await work.takeSide(question.branch, question.path, question.side, question.choice)
      case 'outlooks':
        return await work.steps.outlooks(question.steps)
      case 'preview':
        return await work.steps.preview(question.step, window.beginToPreview())
      case 'stop preview':
        return window.endPreview()
      case 'do':
        return await work.steps.do(question.step, question)
      case 'stop step':
        return work.steps.stop()
      case 'merging':
        return (await work.mergings.in(question.branch)) ?? null
      case 'conflict':
        return await work.mergings.conflict(question.branch, question.path)
      case 'take side':
        return await work.mergings.takeSide(question.branch, question.path, question.side)
      case 'ask for conflicts':
        return { turn: await work.askForConflicts(question.branch, question.paths, question.only) }
      case 'finish merging':
        return await work.mergings.finish(question.branch, question.message)
      case 'abort merging':
        return await work.mergings.abort(question.branch)
      default:
        // The types hold that every question has its answer.
        return question satisfies never
    }
  }

  /** What stands in a folder; of a branch's files also how its AI knows them. */
  async #folder(at: At, path: Path): Promise<FolderEntry[]> {
    const listed = await listedAt(this.objects, await this.#opened.vfsOf(at))
    const entries = await listFolder(this.objects, listed, path)
    if (at.kind === 'commit') return entries
    const paths = new Map(entries.map(({ name }) => [name, path === '' ? name : `${path}/${name}`]))
    const files = entries.filter(({ mode }) => mode !== '040000').map(({ name }) => paths.get(name) ?? name)
    const circles = await this.#opened.chat.conversations.circlesIn(at.branch, files)
    return entries.map(entry => {
      const context = circles.get(paths.get(entry.name) ?? '')
      return context === undefined ? entry : { ...entry, context }
    })
  }

  async #placeOf(at: At): Promise<Place> {
    return await placeOf(this.objects, await this.#opened.vfsOf(at))
  }

  async #readLayout(): Promise<Layout | undefined> {
    await this.#layout
    const layout = await readLayout(this.options.state, Layout)
    if (!layout) return undefined
    // A branch may have got another name since a window kept its layout.
    const tabs = layout.tabs.map(async tab => ({ ...tab, at: await this.#placeNow(tab.at) }))
    return { ...layout, tabs: await Promise.all(tabs) }
  }

  async #placeNow(at: At): Promise<At> {
    return at.kind === 'commit' ? at : { ...at, branch: await this.#opened.nameNow(at.branch) }
  }

  /** One after the other, so that the last word is what stays. */
  async #keepLayout(layout: Layout): Promise<void> {
    const written = this.#layout.then(() => writeLayout(this.options.state, layout))
    this.#layout = written.catch(() => undefined)
    await written
  }

  /**
   * Without a beginning: what a commit changed, or what is not saved in a branch. From another branch: what is
   * different since the two parted, as it has gone on, too.
   */
  async #changes(from: At | undefined, to: At) {
    const place = await this.#placeOf(to)
    const before = from ? await this.#treeSince(from, to, place) : await this.#treeBefore(to, place)
    return await changesBetween(this.objects, before, place.tree)
  }

  async #treeSince(from: At, to: At, { commit }: Place): Promise<Oid> {
    const other = await this.#placeOf(from)
    const isItself = from.kind === 'branch' && to.kind === 'branch' && from.branch === to.branch
    if (from.kind === 'commit' || isItself || commit === undefined || other.commit === undefined) return other.tree
    const [base] = await mergeBases(this.repository, other.commit, commit)
    const tree = base && (await this.objects.info(`${base}^{tree}`))
    return tree ? tree.oid : other.tree
  }

  async #treeBefore(to: At, { commit }: Place): Promise<Oid> {
    if (commit === undefined) return emptyTree(this.repository.format)
    if (to.kind === 'commit') return await treeBefore(this.objects, commit)
    const tree = await this.objects.info(`${commit}^{tree}`)
    return tree?.oid ?? emptyTree(this.repository.format)
  }

  /** A text to be compared, for the eye alone; what is no UTF-8 in the encoding that it is in perhaps. */
  async #text(oid: Oid): Promise<{ text: string | undefined; encoding?: Guess }> {
    const blob = await this.objects.read(oid, { limit: LONGEST_TEXT })
    if (!blob?.bytes || blob.type !== 'blob' || blob.bytes.includes(0)) return { text: undefined }
    try {
      return { text: new TextDecoder('utf-8', { fatal: true }).decode(blob.bytes) }
    } catch {
      const guessed = guess(blob.bytes)
      if (!guessed) return { text: undefined }
      // With its line ends, which may be what has changed.
      return { text: new TextDecoder('windows-1252').decode(blob.bytes), encoding: guessed.encoding }
    }
  }

  /** The commit of a place: of a branch in which a merge waits, its own. */
  async #commitOf(at: At): Promise<Oid | undefined> {
    if (at.kind === 'branch') return await this.#opened.headOf(at.branch)
    return (await this.#placeOf(at)).commit
  }

  async #history({ at, path, beyond, from, count }: Extract<Question, { ask: 'history' }>) {
    const commit = await this.#commitOf(at)
    if (commit === undefined) return { rows: [], total: 0 }
    const other = beyond === undefined ? undefined : await this.#commitOf({ kind: 'branch', branch: beyond })
    if (other !== undefined)
      return { rows: await rowsBeyond(this.objects, commit, other, { from, count }), total: undefined }
    if (path !== undefined)
      return { rows: await rowsTouching(this.objects, commit, path, { from, count }), total: undefined }
    const name = at.kind === 'branch' ? `refs/heads/${at.branch}` : at.commit
    return await this.#histories.rows(name, commit, from, count)
  }

  /** Who looks for something else waits no longer for what was looked for before. */
  async #findCommits(window: Window, { filter, words }: Extract<Question, { ask: 'find commits' }>) {
    const { search, signal } = window.beginToFind()
    try {
      return await this.#graph.find(filter, words, signal)
    } finally {
      window.endFinding(search)
    }
  }

  /** The search goes on after the reply: what it finds is said to its window alone. */
  async #findText(window: Window, { at, ...question }: Extract<Question, { ask: 'find text' }>): Promise<number> {
    const { tree } = await this.#placeOf(at)
    const wanted = await textSearch(this.repository, { ...question, tree })
    const { search, signal } = window.beginToFind()
    const found = (matches: Match[], isDone: boolean, isCut: boolean) =>
      window.tell({ say: 'found', search, matches, isDone, isCut })
    const look = async () => {
      try {
        const { isCut } = await findText(this.repository, wanted, { signal, onFound: it => found(it, false, false) })
        found([], true, isCut)
      } catch (error) {
        found([], true, true)
        if (!signal.aborted) window.tell({ say: 'notice', words: inWords(error), isBad: true })
      } finally {
        window.endFinding(search)
      }
    }
    // The reply says what the number stands for, so it goes first.
    setImmediate(look)
    return search
  }
}

const isSamePlace = (one: At, other: At): boolean =>
  one.kind === 'branch'
    ? other.kind === 'branch' && one.branch === other.branch
    : other.kind === 'commit' && one.commit === other.commit

/** What the user has set, and a page is told. */
type Settings = Pick<DeskInfo, 'identity' | 'hooks'>

async function settingsOf(repository: Repository): Promise<Settings> {
  const [identity, hooks] = await Promise.all([identityOf(repository), hooksOf(repository)])
  return { hooks, ...(identity && { identity }) }
}

/** Whose name a commit would bear; undefined where git knows none. */
async function identityOf(repository: Repository): Promise<DeskInfo['identity']> {
  const { code, stdout } = await run(repository, ['var', 'GIT_AUTHOR_IDENT'], { ok: [0, 128] })
  const [, name = '', email = ''] = /^(.*) <(.*)> \d+ [+-]\d+$/m.exec(stdout.toString()) ?? []
  return code === 0 ? { name, email } : undefined
}

const withUndo = (info: BranchInfo, { undo, redo }: { undo?: string; redo?: string } = {}): BranchInfo => ({
  ...info,
  ...(undo !== undefined && { canUndo: undo }),
  ...(redo !== undefined && { canRedo: redo }),
})
