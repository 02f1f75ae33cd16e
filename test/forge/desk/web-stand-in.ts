/**
 * A stand-in for the desk's server, for tests of the page alone: it implements the contract with a made-up repository
 * in memory, under the real content security policy, and can delay, refuse, forget, or break the connection.
 */
import { ChangeSet, Text } from '@codemirror/state'
import type { Server, ServerWebSocket } from 'bun'
import * as v from 'valibot'
import type { BranchInfo, Edit, File, Operation } from '../../../forge/desk/contract/branches.ts'
import type { Conversation } from '../../../forge/desk/contract/chat.ts'
import { type Asked, questions } from '../../../forge/desk/contract/contract.ts'
import type { DeskInfo, Layout } from '../../../forge/desk/contract/desk.ts'
import type { News } from '../../../forge/desk/contract/news.ts'
import type { CommitRow, FolderEntry, Match } from '../../../forge/desk/contract/reading.ts'
import type { Outlook } from '../../../forge/desk/contract/steps.ts'
import type { At, Change } from '../../../forge/desk/contract/values.ts'
import { PROTOCOL } from '../../../forge/desk/server/secret.ts'
import { policyOf } from '../../../forge/desk/server/server.ts'
import { GraphOf } from './graph/graph-stand-in.ts'

type Files = Map<string, { mode: string; text: string }>

interface Draft {
  text: Text
  version: number
}

interface StandInBranch {
  files: Files
  commits: (CommitRow & { files: Files; message: string })[]
  drafts: Map<string, Draft>
  session: boolean
  upstream: BranchInfo['upstream']
  moved?: BranchInfo['moved']
  checkout: string | undefined
  merging?: BranchInfo['merging']
}

export class Refusal extends Error {}

/** A stand-in for a part of the server in a file of its own, such as merging-stand-in.ts. */
export interface Part {
  /** Undefined for unknown questions. */
  answer: (question: Asked) => { value: unknown } | undefined
}

/** A stand-in for the AI, such as chat-stand-in.ts. */
export interface AiSide {
  /** Undefined for unknown questions. */
  answer: (question: Asked) => { value: unknown } | undefined
  turnOf: (branch: string) => BranchInfo['turn']
  contextOf: (at: At, path: string) => FolderEntry['context']
}

const NO_USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

const NO_CONVERSATION: Conversation = {
  items: [],
  models: [],
  missing: 'No model yet.',
  approvals: [],
  usage: NO_USAGE,
  context: { used: 0, of: 0, files: [] },
  commands: { isAllowed: false },
  isPublicNew: false,
}

const CLEAN: Outlook = { is: 'clean', conflicts: 0, words: 'merges cleanly' }

const FOLDER = '040000'
const PERSON = { name: 'Mira Okafor', email: 'mira@example.com' }

export function oidOf(words: string): string {
  return new Bun.CryptoHasher('sha1').update(words).digest('hex')
}

/** Converts a file name to a byte string, one character per byte. */
export function bytes(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text))
}

export class StandIn {
  readonly branches = new Map<string, StandInBranch>()
  readonly asked: Asked[] = []
  readonly operations: Operation[] = []
  readonly blobs = new Map<string, string>()
  /** Undefined: there is no model. */
  ai: AiSide | undefined
  readonly parts: Part[] = []
  name = 'tern'
  head = 'main'
  isEmpty = false
  hasIdentity = true
  layout: Layout | undefined
  /** The files of branches whose drafts are in conflict. */
  conflicts = new Map<string, string[]>()
  /** Renames of branches while a window was disconnected. */
  namesNow = new Map<string, string>()
  /** Files that can't be edited until a conflict is resolved. */
  waiting: ReadonlySet<string> = new Set()
  canUndo: string | undefined
  canRedo: string | undefined
  /** The delay of each answer, in milliseconds. */
  delay = 0
  /** The questions to refuse, each with its message. */
  refused = new Map<Asked['ask'], string>()
  /** Whether there is no stored layout, so that the page decides what to show. */
  isFirstStart = false
  /** Answers of a test in place of those here. */
  given = new Map<Asked['ask'], (question: never) => unknown>()
  /** Whether edits get no answer. */
  swallowsEdits = false
  violations: string[] = []

  /** Whether the page's secret differs from the server's, as after a start with a new key. */
  isLocked = false

  #server: Server<undefined> | undefined
  #sockets = new Set<ServerWebSocket<undefined>>()
  #built = ''
  readonly #held = new Map<Asked['ask'], Promise<void>>()
  #lastSearch = 0
  #commits = 0

  static async start(built: string, port = 0): Promise<StandIn> {
    const standIn = new StandIn()
    standIn.#built = built
    standIn.listen(port)
    return standIn
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/`
  }

  get port(): number {
    return this.#server?.port ?? 0
  }

  listen(port = 0): void {
    this.#server = Bun.serve<undefined>({
      hostname: '127.0.0.1',
      port,
      fetch: (request, server) => this.#fetch(request, server),
      websocket: {
        open: socket => {
          this.#sockets.add(socket)
        },
        close: socket => {
          this.#sockets.delete(socket)
        },
        message: (socket, data) => this.#hear(socket, String(data)),
      },
    })
  }

  async stop(): Promise<void> {
    await this.#server?.stop(true)
    this.#sockets.clear()
  }

  /** Breaks all connections; new ones can be opened. */
  breakConnections(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  /** As after a crash: versions of files begin again, and the last edits may be lost. */
  restart(lost?: { branch: string; path: string; text: string }): void {
    for (const branch of this.branches.values()) {
      for (const draft of branch.drafts.values()) draft.version = 0
    }
    if (lost) this.#branch(lost.branch).drafts.set(lost.path, { text: textOf(lost.text), version: 0 })
    this.breakConnections()
  }

  addBranch(name: string, files: Record<string, string>, more: Partial<StandInBranch> = {}): StandInBranch {
    const branch: StandInBranch = {
      files: new Map(Object.entries(files).map(([path, text]) => [path, { mode: '100644', text }])),
      commits: [],
      drafts: new Map(),
      session: false,
      upstream: undefined,
      checkout: undefined,
      ...more,
    }
    this.branches.set(name, branch)
    this.commit(name, `Begin ${name}`)
    return branch
  }

  commit(name: string, message: string, model?: string): string {
    const branch = this.#branch(name)
    const oid = oidOf(`commit ${++this.#commits} ${message}`)
    branch.commits.unshift({
      oid,
      parents: branch.commits[0] ? [branch.commits[0].oid] : [],
      subject: message.split('\n')[0] ?? '',
      message,
      author: PERSON,
      committed: Math.floor(Date.now() / 1000) - 60 * (1000 - this.#commits),
      files: new Map(branch.files),
      ...(model === undefined ? {} : { model }),
    })
    return oid
  }

  /** Delays a question and its effect until the returned function is called. */
  hold(ask: Asked['ask']): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held.set(ask, promise)
    return () => {
      this.#held.delete(ask)
      resolve()
    }
  }

  say(news: News): void {
    for (const socket of this.#sockets) socket.send(JSON.stringify(news))
  }

  sayDesk(): void {
    this.say({ say: 'desk', desk: this.#desk() })
  }

  textOf(branch: string, path: string): string | undefined {
    const { drafts, files } = this.#branch(branch)
    return drafts.get(path)?.text.toString() ?? files.get(path)?.text
  }

  /** An edit from another window. */
  typeElsewhere(branch: string, path: string, from: number, insert: string): void {
    const draft = this.#draft(branch, path)
    const changes = ChangeSet.of({ from, insert }, draft.text.length)
    this.#apply(branch, path, draft, [{ client: 'another window', changes: changes.toJSON() }])
  }

  #branch(name: string): StandInBranch {
    const branch = this.branches.get(name)
    if (!branch) throw new Refusal(`There is no branch ${name}.`)
    return branch
  }

  #draft(name: string, path: string): Draft {
    const { drafts, files } = this.#branch(name)
    const known = drafts.get(path)
    if (known) return known
    const draft = { text: textOf(files.get(path)?.text ?? ''), version: 0 }
    drafts.set(path, draft)
    return draft
  }

  #desk(): DeskInfo {
    return {
      name: this.name,
      folder: `/home/mira/${this.name}`,
      isBare: false,
      isEmpty: this.isEmpty,
      head: this.head,
      ...(this.hasIdentity ? { identity: PERSON } : {}),
      branches: [...this.branches].map(([name, branch]) => ({
        ...this.#info(name, branch),
        ...(this.canUndo ? { canUndo: this.canUndo } : {}),
        ...(this.canRedo ? { canRedo: this.canRedo } : {}),
      })),
      hooks: [],
      ...(this.canUndo ? { canUndo: this.canUndo } : {}),
      ...(this.canRedo ? { canRedo: this.canRedo } : {}),
    }
  }

  #info(name: string, branch: StandInBranch): BranchInfo {
    const [tip] = branch.commits
    const turn = this.ai?.turnOf(name)
    const conflicts = this.conflicts.get(name) ?? []
    return {
      name,
      tip: tip?.oid ?? oidOf(name),
      committed: tip?.committed ?? 0,
      subject: tip?.subject ?? '',
      session: branch.session,
      drafts: this.#draftPaths(branch),
      ...(conflicts.length > 0 && { conflicts }),
      ...(branch.upstream ? { upstream: branch.upstream } : {}),
      ...(branch.moved ? { moved: branch.moved } : {}),
      ...(branch.merging ? { merging: branch.merging } : {}),
      ...(branch.checkout ? { checkout: branch.checkout } : {}),
      ...(turn ? { turn } : {}),
    }
  }

  #draftPaths({ drafts, files }: StandInBranch): string[] {
    return [...drafts].flatMap(([path, { text }]) => (text.toString() === files.get(path)?.text ? [] : [path]))
  }

  async #fetch(request: Request, server: Server<undefined>): Promise<Response | undefined> {
    const { pathname } = new URL(request.url)
    if (this.isLocked) return new Response('Not with this key.', { status: 401 })
    if (pathname === '/socket')
      return server.upgrade(request, { data: undefined, headers: { 'sec-websocket-protocol': PROTOCOL } })
        ? undefined
        : new Response('no', { status: 400 })
    const nonce = crypto.randomUUID()
    const headers = { 'content-security-policy': policyOf(nonce), 'x-content-type-options': 'nosniff' }
    if (pathname === '/key') return new Response(null, { status: 204 })
    if (pathname === '/') {
      const text = await Bun.file(`${this.#built}/page.html`).text()
      const page = text.replace('STYLE_NONCE', nonce).replace('PAGE_SECRET', '').replace('PAGE_BEGINNING', '')
      return new Response(page, { headers: { ...headers, 'content-type': 'text/html; charset=utf-8' } })
    }
    if (pathname.startsWith('/image/')) {
      const svg =
        '<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><circle cx="32" cy="32" r="30" fill="teal"/></svg>'
      return new Response(svg, { headers: { ...headers, 'content-type': 'image/svg+xml' } })
    }
    const file = Bun.file(`${this.#built}/${pathname.slice(1)}`)
    if (!/^\/[\w.-]+$/.test(pathname) || !(await file.exists())) return new Response('none', { status: 404 })
    return new Response(file, { headers })
  }

  async #hear(socket: ServerWebSocket<undefined>, data: string): Promise<void> {
    const question = JSON.parse(data) as Asked
    v.parse(questions[question.ask].fields as v.GenericSchema, question)
    this.asked.push(question)
    if (question.ask === 'edit' && this.swallowsEdits) return
    if (this.delay > 0) await Bun.sleep(this.delay)
    if (this.#held.has(question.ask)) await this.#held.get(question.ask)
    const reply = await this.#answer(question)
    socket.send(JSON.stringify(reply))
  }

  async #answer(question: Asked): Promise<object> {
    try {
      const refusal = this.refused.get(question.ask)
      if (refusal !== undefined) throw new Refusal(refusal)
      return { re: question.id, value: await this.#value(question) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { re: question.id, error: error.message }
    }
  }

  #value(question: Asked): unknown {
    for (const part of [this.ai, ...this.parts]) {
      const answer = part?.answer(question)
      if (answer) return answer.value
    }
    const own = this.given.get(question.ask)
    if (own) return own(question as never)
    switch (question.ask) {
      case 'graph':
        return this.#graph().window(question.from, question.count)
      case 'graph place':
        return { row: this.#graph().placeOf(this.#tipOf(question.name) ?? question.name) }
      case 'find commits':
        return { rows: this.#graph().find(question.words), isCut: false, commits: [] }
      case 'refs':
        return { remotes: [], tags: [] }
      case 'forklift':
        return { missing: 'It has no remote upstream.', runs: [], isRunning: false }
      case 'tasks mark':
        return { mark: '' }
      case 'tasks runs':
        return { runs: [] }
      case 'desk':
        return { desk: this.#desk(), layout: this.layout ?? this.#usualLayout() }
      case 'keep layout':
        this.layout = question.layout
        return undefined
      case 'folder':
        return this.#folder(question.at, question.path)
      case 'find file':
        return this.#findFile(question.at, question.words, question.count)
      case 'open':
        return this.#file(question.at, question.path)
      case 'edit':
        return this.#edit(question.branch, question.path, question.version, question.edits)
      case 'save':
        return this.#save(question.branch, question.paths, question.message)
      case 'discard':
        return this.#discard(question.branch, question.paths)
      case 'message':
        return { message: this.#message(question.branch, question.paths) }
      case 'new file':
        return this.#change(question.branch, `add: ${question.path}`, files => {
          if (files.has(question.path)) throw new Refusal(`${question.path} is there already.`)
          files.set(question.path, { mode: '100644', text: '' })
        })
      case 'rename':
        this.say({ say: 'renamed file', branch: question.branch, from: question.from, to: question.to })
        return this.#change(question.branch, `rename: ${question.from} → ${question.to}`, files => {
          files.set(question.to, files.get(question.from) ?? { mode: '100644', text: '' })
          files.delete(question.from)
        })
      case 'delete':
        return this.#change(question.branch, `delete: ${question.path}`, files => {
          files.delete(question.path)
        })
      case 'new branch':
        return this.#newBranch(question.branch, question.from)
      case 'save elsewhere':
        this.branches.set(question.to, { ...this.#branch(question.branch) })
        this.sayDesk()
        return { commit: oidOf('saved elsewhere') }
      case 'drafts elsewhere':
        this.branches.set(question.to, { ...this.#branch(question.branch) })
        this.#branch(question.branch).drafts = new Map()
        delete this.#branch(question.branch).moved
        this.sayDesk()
        return undefined
      case 'rename branch':
        this.branches.set(question.to, this.#branch(question.branch))
        this.branches.delete(question.branch)
        this.sayDesk()
        return undefined
      case 'name now':
        return { branch: this.namesNow.get(question.branch) ?? question.branch }
      case 'delete branch':
        this.branches.delete(question.branch)
        this.sayDesk()
        return undefined
      case 'restore branch':
        this.addBranch(question.branch, { 'README.md': 'back\n' })
        this.sayDesk()
        return undefined
      case 'changes':
        return this.#changes(question.from, question.to)
      case 'blob':
        return { text: this.blobs.get(question.oid) }
      case 'history':
        return this.#history(question)
      case 'commit':
        return this.#commit(question.commit)
      case 'find text':
        return this.#findText(question.at, question.words, question.matchCase)
      case 'operations':
        return this.operations
      case 'undo':
        this.canRedo = this.canUndo
        this.canUndo = undefined
        this.sayDesk()
        return { words: `undo: ${this.canRedo}`, refs: [] }
      case 'redo':
        this.canUndo = this.canRedo
        this.canRedo = undefined
        this.sayDesk()
        return { words: `redo: ${this.canUndo}`, refs: [] }
      case 'merging':
        return null
      case 'conversation':
        return NO_CONVERSATION
      case 'outlooks':
        return question.steps.map(() => CLEAN)
      case 'preview':
        return { ...CLEAN, commits: 1, conflictsIn: [], warnings: [] }
      default:
        return undefined
    }
  }

  #at(at: At): { files: Files; drafts: Map<string, Draft> } {
    if (at.kind === 'branch') return this.#branch(at.branch)
    return { files: this.#found(at.commit).files, drafts: new Map() }
  }

  #found(commit: string) {
    const all = [...this.branches.values()].flatMap(({ commits }) => commits)
    const found = all.find(({ oid }) => oid.startsWith(commit))
    if (!found) throw new Refusal(`There is no commit ${commit}.`)
    return found
  }

  #folder(at: At, folder: string): FolderEntry[] {
    const { files, drafts } = this.#at(at)
    const start = folder === '' ? '' : `${folder}/`
    const entries = new Map<string, FolderEntry>()
    for (const [path, { mode }] of files) {
      if (!path.startsWith(start)) continue
      const [name = '', ...rest] = path.slice(start.length).split('/')
      const isFolder = rest.length > 0
      const draft = drafts.has(path) || entries.get(name)?.draft === true
      const context = isFolder ? undefined : this.ai?.contextOf(at, path)
      entries.set(name, { name, mode: isFolder ? FOLDER : mode, draft, ...(context ? { context } : {}) })
    }
    if (folder !== '' && entries.size === 0) throw new Refusal(`There is no folder ${folder}.`)
    const rank = ({ mode }: FolderEntry) => (mode === FOLDER ? 0 : 1)
    return [...entries.values()].sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1))
  }

  #findFile(at: At, words: string, count: number) {
    const found = []
    for (const path of this.#at(at).files.keys()) {
      const index = path.toLowerCase().lastIndexOf(words.toLowerCase())
      if (index >= 0) found.push({ path, ranges: [[index, index + words.length]] })
      if (found.length === count) break
    }
    return found
  }

  #file(at: At, path: string): File {
    const { files, drafts } = this.#at(at)
    const saved = files.get(path)
    const draft = drafts.get(path)
    if (!saved && !draft) return { kind: 'nothing' }
    const mode = saved?.mode ?? '100644'
    const text = draft?.text.toString() ?? saved?.text ?? ''
    if (path.endsWith('.png')) return { kind: 'image', mode, size: 1234, type: 'image/png', oid: oidOf(path) }
    if (path.endsWith('.bin')) return { kind: 'other', mode, size: 4096, what: 'These bytes are no UTF-8 text.' }
    return {
      kind: 'text',
      text,
      version: draft?.version ?? 0,
      lineEnd: text.includes('\r') ? 'mixed' : 'LF',
      bom: false,
      mode,
      ...(saved ? { saved: saved.text } : {}),
      ...(this.waiting.has(path) ? { readOnly: `${path} waits for a choice.` } : {}),
      ...(path.endsWith('.locked') ? { readOnly: 'This file is kept by git-lfs, and is not edited here.' } : {}),
    }
  }

  #edit(branch: string, path: string, version: number, edits: Edit[]): { accepted: boolean } {
    const draft = this.#draft(branch, path)
    if (version !== draft.version) return { accepted: false }
    this.#apply(branch, path, draft, edits)
    return { accepted: true }
  }

  #apply(branch: string, path: string, draft: Draft, edits: Edit[]): void {
    const before = this.#draftPaths(this.#branch(branch)).join('\0')
    const { version } = draft
    for (const { changes } of edits) draft.text = ChangeSet.fromJSON(changes).apply(draft.text)
    draft.version += edits.length
    this.say({ say: 'edited', branch, path, version, edits })
    if (this.#draftPaths(this.#branch(branch)).join('\0') === before) return
    this.sayDesk()
    this.say({ say: 'branch', branch })
  }

  #save(name: string, wanted: string[] | 'all', message: string | undefined): { commit?: string } {
    const branch = this.#branch(name)
    const paths = this.#draftPaths(branch).filter(path => wanted === 'all' || wanted.includes(path))
    if (paths.length === 0) return {}
    const words = message ?? this.#message(name, wanted)
    for (const path of paths) {
      const draft = branch.drafts.get(path)
      if (draft) branch.files.set(path, { mode: branch.files.get(path)?.mode ?? '100644', text: draft.text.toString() })
    }
    const commit = this.commit(name, words)
    this.canUndo = words
    for (const path of paths) this.#replaced(name, path)
    this.say({ say: 'saved', branch: name, commit, drafts: this.#draftPaths(branch) })
    this.sayDesk()
    this.say({ say: 'branch', branch: name })
    return { commit }
  }

  #message(name: string, wanted: string[] | 'all'): string {
    const paths = this.#draftPaths(this.#branch(name)).filter(path => wanted === 'all' || wanted.includes(path))
    const names = paths.map(path => path.slice(path.lastIndexOf('/') + 1))
    return names.length > 3 ? `edit: ${names.length} files` : `edit: ${names.join(', ')}`
  }

  #discard(name: string, paths: string[]): void {
    for (const path of paths) {
      this.#branch(name).drafts.delete(path)
      this.#replaced(name, path)
    }
    this.sayDesk()
    this.say({ say: 'branch', branch: name })
  }

  #replaced(branch: string, path: string): void {
    this.say({ say: 'replaced', branch, path, file: this.#file({ kind: 'branch', branch }, path) })
  }

  #change(name: string, words: string, change: (files: Files) => void): { commit: string } {
    const branch = this.#branch(name)
    const before = branch.files
    branch.files = new Map(before)
    change(branch.files)
    const commit = this.commit(name, words)
    this.canUndo = words
    for (const path of new Set([...before.keys(), ...branch.files.keys()]))
      if (before.get(path) !== branch.files.get(path)) this.#replaced(name, path)
    this.sayDesk()
    this.say({ say: 'branch', branch: name })
    return { commit }
  }

  #newBranch(name: string, from: string | null): void {
    if (this.branches.has(name)) throw new Refusal(`There is a branch ${name} already.`)
    const files = from === null ? new Map() : this.#found(from).files
    this.addBranch(name, Object.fromEntries([...files].map(([path, { text }]) => [path, text])))
    this.sayDesk()
  }

  #changes(from: At | undefined, to: At): Change[] {
    const after = this.#contents(to)
    const before = from ? this.#contents(from) : this.#contentsBefore(to)
    const paths = [...new Set([...before.keys(), ...after.keys()])].sort()
    return paths.flatMap((path): Change[] => {
      const [one, other] = [before.get(path), after.get(path)]
      if (one === other) return []
      const side = (text: string | undefined) =>
        text === undefined ? undefined : { mode: '100644', oid: this.#blob(text) }
      const [lines, others] = [linesOf(one), linesOf(other)]
      const change: Change = {
        path,
        status: one === undefined ? 'added' : other === undefined ? 'deleted' : 'changed',
        added: others.filter(line => !lines.includes(line)).length,
        deleted: lines.filter(line => !others.includes(line)).length,
      }
      const [left, right] = [side(one), side(other)]
      return [{ ...change, ...(left ? { before: left } : {}), ...(right ? { after: right } : {}) }]
    })
  }

  #contents(at: At): Map<string, string> {
    const { files, drafts } = this.#at(at)
    const contents = new Map([...files].map(([path, { text }]) => [path, text]))
    for (const [path, { text }] of drafts) contents.set(path, text.toString())
    return contents
  }

  #contentsBefore(at: At): Map<string, string> {
    const parent = at.kind === 'commit' ? this.#found(at.commit).parents[0] : undefined
    return parent === undefined ? new Map() : this.#contents({ kind: 'commit', commit: parent })
  }

  #blob(text: string): string {
    const oid = oidOf(`blob ${text}`)
    this.blobs.set(oid, text)
    return oid
  }

  #history({ at, beyond, from, count }: Extract<Asked, { ask: 'history' }>) {
    const here = at.kind === 'branch' ? this.#branch(at.branch).commits : [this.#found(at.commit)]
    const there = beyond?.kind === 'branch' ? this.#branch(beyond.branch).commits.map(({ oid }) => oid) : []
    const all = here.filter(({ oid }) => !there.includes(oid))
    const rows = all.slice(from, from + count).map(rowOf)
    return { rows, total: all.length }
  }

  /** The layout with the checked out branch, as if it had been shown last. */
  #usualLayout(): Layout | undefined {
    if (this.isFirstStart || !this.branches.has(this.head)) return undefined
    return { tabs: [{ at: { kind: 'branch', branch: this.head }, files: [], folders: [] }], active: 0 }
  }

  /** All commits, newest first. */
  #graph(): GraphOf {
    const all = new Map<string, CommitRow>()
    for (const { commits } of this.branches.values()) for (const commit of commits) all.set(commit.oid, rowOf(commit))
    return new GraphOf([...all.values()].toSorted((one, other) => other.committed - one.committed))
  }

  #tipOf(ref: string): string | undefined {
    return this.branches.get(ref.replace('refs/heads/', ''))?.commits[0]?.oid
  }

  #commit(commit: string) {
    const found = this.#found(commit)
    return {
      row: rowOf(found),
      message: found.message,
      changes: this.#changes(undefined, { kind: 'commit', commit: found.oid }),
    }
  }

  #findText(at: At, words: string, matchCase: boolean): { search: number } {
    const search = ++this.#lastSearch
    const needle = matchCase ? words : words.toLowerCase()
    const matches: Match[] = []
    for (const [path, text] of this.#contents(at)) {
      for (const [index, line] of text.split('\n').entries()) {
        const place = (matchCase ? line : line.toLowerCase()).indexOf(needle)
        if (place >= 0) matches.push({ path, line: index + 1, text: line, ranges: [[place, place + words.length]] })
      }
    }
    const half = Math.ceil(matches.length / 2)
    setTimeout(
      () => this.say({ say: 'found', search, matches: matches.slice(0, half), isDone: false, isCut: false }),
      10,
    )
    setTimeout(() => this.say({ say: 'found', search, matches: matches.slice(half), isDone: true, isCut: false }), 40)
    return { search }
  }
}

function rowOf({ oid, parents, subject, author, committed, model }: CommitRow): CommitRow {
  return { oid, parents, subject, author, committed, ...(model === undefined ? {} : { model }) }
}

function textOf(text: string): Text {
  return Text.of(text.split('\n'))
}

function linesOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split('\n').slice(0, -1)
}
