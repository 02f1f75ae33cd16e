/** A repository with the desk's work open on it. */

import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { openRepository, type Path } from '../../core/git/repository.ts'
import { closeFile, openFile } from '../../forge/desk/branches/places.ts'
import type { Models } from '../../forge/desk/chat/models.ts'
import type { Edit, File } from '../../forge/desk/contract/branches.ts'
import type { Answer, Fields } from '../../forge/desk/contract/contract.ts'
import type { News } from '../../forge/desk/contract/news.ts'
import { Window } from '../../forge/desk/server/window.ts'
import { openWork, type Work } from '../../forge/desk/work.ts'
import type { Launcher } from '../../forge/language/launch.ts'
import { gitWith, PLAIN } from './git.ts'
import { lendParser } from './lent-parsers.ts'
import { makeFolder } from './repository.ts'

/** The author of commits. */
export const PERSON = {
  GIT_CONFIG_COUNT: '2',
  GIT_CONFIG_KEY_0: 'user.name',
  GIT_CONFIG_VALUE_0: 'Ada',
  GIT_CONFIG_KEY_1: 'user.email',
  GIT_CONFIG_VALUE_1: 'ada@example.org',
}

export type Desk = AsyncDisposable & {
  /** A folder that contains everything. */
  folder: string
  /** The repository: a checkout, or a bare one. */
  path: string
  work: Work
  /** All news that the desk has sent to windows, oldest first. */
  news: News[]
  git: (...args: string[]) => Promise<string>
  /** Closes the work and opens it again, like a restart. */
  restart: () => Promise<Work>
  /** Opens another desk on the same repository. */
  another: () => Promise<{ work: Work; news: News[] }>
}

export type DeskOptions = {
  /** The files of the first commit; undefined: no commit. */
  files?: Record<string, string | Buffer>
  bare?: boolean
  format?: 'sha1' | 'sha256'
  env?: Record<string, string>
  /** The models that turns ask. */
  models?: Models
  /** How language servers are started. */
  languageServers?: Launcher
}

export async function makeDesk({
  files,
  bare = false,
  format = 'sha1',
  env = PERSON,
  models,
  languageServers,
}: DeskOptions = {}): Promise<Desk> {
  const { path: folder, ...rest } = await makeFolder()
  const path = join(folder, 'repository')
  const kind = bare ? ['--bare'] : []
  await gitWith('/', ['init', '-q', ...kind, '--template=', '-b', 'main', `--object-format=${format}`, path])
  const git = (...args: string[]) => gitWith(path, args, undefined, PERSON)
  if (files) await firstCommit(folder, path, files, format)
  if (files && !bare) await git('reset', '--hard', '-q')
  const news: News[] = []
  const opened: Work[] = []
  const open = async (said: News[], state: string) => {
    const repository = await openRepository(path, { env: { ...PLAIN, ...env } })
    const options = { state: join(folder, state), models, languageServers, startParser: lendParser }
    const work = await openWork(repository, { ...options, onNews: it => said.push(it) })
    opened.push(work)
    return work
  }
  const desk: Desk = {
    folder,
    path,
    work: await open(news, 'state'),
    news,
    git,
    restart: async () => {
      await desk.work[Symbol.asyncDispose]()
      desk.work = await open(news, 'state')
      return desk.work
    },
    another: async () => {
      const said: News[] = []
      return { work: await open(said, 'state-2'), news: said }
    },
    [Symbol.asyncDispose]: async () => {
      for (const work of opened) await work[Symbol.asyncDispose]().catch(() => undefined)
      await rest[Symbol.asyncDispose]()
    },
  }
  return desk
}

/** Commits files of any bytes and names with git itself, through a temporary checkout. */
async function firstCommit(folder: string, path: string, files: Record<string, string | Buffer>, format: string) {
  const place = join(folder, 'first')
  await gitWith('/', ['init', '-q', '-b', 'main', `--object-format=${format}`, place])
  for (const [name, content] of Object.entries(files)) {
    await mkdir(Buffer.from(dirname(`${place}/${name}`), 'latin1'), { recursive: true })
    await writeFile(Buffer.from(`${place}/${name}`, 'latin1'), content)
  }
  const git = (...args: string[]) => gitWith(place, args, undefined, PERSON)
  await git('-c', 'core.autocrlf=false', 'add', '-A')
  await git('commit', '-q', '-m', 'Begin')
  await gitWith(path, ['fetch', '-q', '-u', place, 'main:main'])
}

/** Commits a new folder with a file and a submodule `sub` to main. */
export async function addSubmodule({ path, git, work }: Desk, folder: string): Promise<void> {
  const tip = await git('rev-parse', 'main')
  const file = await gitWith(path, ['hash-object', '-w', '--stdin'], 'beside\n')
  const within = `100644 blob ${file}\tbeside.txt\n160000 commit ${tip}\tsub\n`
  const below = await gitWith(path, ['mktree'], within)
  const listed = await git('ls-tree', 'main')
  const tree = await gitWith(path, ['mktree'], `${listed}\n040000 tree ${below}\t${folder}\n`)
  await git('update-ref', 'refs/heads/main', await git('commit-tree', '-p', tip, '-m', 'Add a submodule', tree))
  await work.look()
}

/** Makes writing drafts fail, by a file where git needs a folder, until the returned function is called. */
export async function holdDrafts(path: string): Promise<() => Promise<void>> {
  const inTheWay = join(path, 'refs/forge/drafts')
  await mkdir(dirname(inTheWay), { recursive: true })
  await writeFile(inTheWay, '')
  return () => rm(inTheWay)
}

/** Asks the desk a question of the contract, as the page does, and gives the answer. */
export async function ask<Name extends keyof Work['handlers']>(
  work: Work,
  name: Name,
  fields: Fields<Name>,
): Promise<Answer<Name>> {
  const nothing = () => undefined
  const window = new Window({ send: nothing, end: nothing }, async () => undefined, nothing)
  type Handler = (fields: Fields<Name>, window: Window) => Answer<Name> | Promise<Answer<Name>>
  return await (work.handlers[name] as Handler)(fields, window)
}

/** Adds an empty file to a branch and saves it. Returns the commit. */
export async function addFile(work: Work, branch: string, path: Path): Promise<string> {
  await ask(work, 'new file', { branch, path })
  return await saveIn(work, branch, [path])
}

/** Saves drafts of a branch. Returns the commit. */
export async function saveIn(work: Work, branch: string, paths: Fields<'save'>['paths'] = 'all'): Promise<string> {
  const { commit } = await ask(work, 'save', { branch, paths })
  if (commit === undefined) throw new Error('There was nothing to save')
  return commit
}

/** A file in an editor with one window: text typed in it is sent to the desk. */
export class Editor {
  text: string
  version: number

  constructor(
    readonly work: Work,
    readonly branch: string,
    readonly path: Path,
    file: File,
  ) {
    if (file.kind !== 'text') throw new Error(`${path} is no text: ${JSON.stringify(file)}`)
    this.text = file.text
    this.version = file.version
  }

  /** Inserts text at an index, in place of `instead` characters. */
  async type(text: string, at = this.text.length, instead = 0): Promise<void> {
    const edits: Edit[] = [{ client: 'window', changes: replacement(this.text.length, at, instead, text) }]
    const taken = await ask(this.work, 'edit', { branch: this.branch, path: this.path, version: this.version, edits })
    if (!taken.accepted) throw new Error(taken.refused ?? 'Others were faster')
    this.text = this.text.slice(0, at) + text + this.text.slice(at + instead)
    this.version++
  }
}

/** A ChangeSet as JSON that replaces `instead` characters at `at` by some lines. */
export function replacement(length: number, at: number, instead: number, text: string): unknown[] {
  const middle = [instead, ...(text === '' ? [] : text.split('\n'))]
  return [...(at > 0 ? [at] : []), middle, ...(length - at - instead > 0 ? [length - at - instead] : [])]
}

export async function edit(work: Work, branch: string, path: Path): Promise<Editor> {
  return new Editor(work, branch, path, await openFile(work.branches, { kind: 'branch', branch }, path))
}

/** The current text of a file on a branch. */
export async function textOf(work: Work, branch: string, path: Path): Promise<string | undefined> {
  const at = { kind: 'branch', branch } as const
  const file = await openFile(work.branches, at, path)
  await closeFile(work.branches, at, path)
  return file.kind === 'text' ? file.text : undefined
}

/** A draft in conflict with its branch: the text of each side, or what is there instead of text. */
export interface DraftConflict {
  path: Path
  base: string | { what: string }
  draft: string | { what: string }
  tip: string | { what: string }
}

/** The drafts of a branch that have unresolved conflicts. */
export async function conflictsIn(work: Work, branch: string): Promise<DraftConflict[]> {
  const merging = await ask(work, 'merging', { branch })
  const open = merging?.kind === 'drafts' ? merging.files.filter(({ state }) => state === 'open') : []
  const sideIn = (side: Answer<'conflict'>['ours']) =>
    side.is === 'text' ? side.text : { what: side.is === 'nothing' ? 'nothing' : side.words }
  return await Promise.all(
    open.map(async ({ path }) => {
      const { base, ours, theirs } = await ask(work, 'conflict', { branch, path })
      return { path, base: sideIn(base), draft: sideIn(ours), tip: sideIn(theirs) }
    }),
  )
}

/** Resolves a text conflict in the editor with a new text. */
export async function settleIn(work: Work, branch: string, path: Path, text: string): Promise<void> {
  const editor = await edit(work, branch, path)
  await editor.type(text, 0, editor.text.length)
}
