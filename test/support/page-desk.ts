/** The real desk on a repository of its own, behind a proxy, for tests of its page in a browser. */
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Layout } from '../../forge/desk/contract/desk.ts'
import { urlOf } from '../../forge/desk/server/address.ts'
import { DeskProxy } from './desk-proxy.ts'
import { type CommitOptions, commit, type Files, gitWith } from './git.ts'
import { makeFolder, until } from './repository.ts'
import { type Ask, openTestDesk, type TestDesk, type TestDeskOptions, type TestWindow } from './served.ts'

export type PageDeskOptions = Omit<TestDeskOptions, 'state' | 'last'> & {
  /** The repository to copy. */
  template: string
  /** The name of the copy, which the page shows. */
  name?: string
  /** The state folder of another desk, which is copied: this desk knows what that one knew. */
  known?: string
  /** The layout that the windows showed last. By default, the branch main is open. */
  layout?: Layout | 'none'
  /** Called with the path of the copied repository before the desk opens. */
  prepare?: (path: string) => Promise<unknown>
}

export const tabOf = (branch: string, files: string[] = [], folders: string[] = []): Layout['tabs'][number] => ({
  at: { kind: 'branch', branch },
  files: files.map(path => ({ path, cursor: 0 })),
  folders,
})

export class PageDesk implements AsyncDisposable {
  #window: TestWindow | undefined

  private constructor(
    readonly folder: AsyncDisposable & { path: string },
    /** The repository. */
    readonly path: string,
    readonly options: PageDeskOptions,
    public desk: TestDesk,
    /** The proxy that the page is connected to. */
    readonly proxy: DeskProxy,
  ) {}

  static async open(options: PageDeskOptions): Promise<PageDesk> {
    const folder = await makeFolder()
    const path = join(folder.path, options.name ?? 'tern')
    await cp(options.template, path, { recursive: true })
    await options.prepare?.(path)
    const state = join(folder.path, 'state')
    if (options.known !== undefined) await cp(options.known, state, { recursive: true })
    const desk = await openTestDesk(path, { ...options, state })
    const page = new PageDesk(folder, path, options, desk, new DeskProxy(urlOf(desk.key)))
    const { layout = { tabs: [tabOf('main')], active: 0 } } = options
    if (layout !== 'none') await page.ask({ ask: 'keep layout', layout })
    return page
  }

  /** The address of the page. */
  get url(): string {
    return this.proxy.url
  }

  /** Asks the desk directly, like another window; the proxy does not see it. */
  async ask<Reply = unknown>(question: Ask): Promise<Reply> {
    this.#window ??= await this.desk.window()
    return (await this.#window.ask(question)) as Reply
  }

  /** The text of a file on a branch, with drafts; undefined where it is not text. */
  async textOf(branch: string, path: string): Promise<string | undefined> {
    const at = { kind: 'branch', branch } as const
    await using window = await this.desk.window()
    const file = (await window.ask({ ask: 'open', at, path })) as { kind: string; text?: string }
    return file.text
  }

  /** Waits until the desk has this text for a file. */
  async isText(branch: string, path: string, text: string | ((text: string) => boolean)): Promise<void> {
    await until(async () => {
      const found = await this.textOf(branch, path)
      return typeof text === 'string' ? found === text : found !== undefined && text(found)
    })
  }

  async git(...args: string[]): Promise<string> {
    return await gitWith(this.path, args)
  }

  async tip(branch: string): Promise<string> {
    return await this.git('rev-parse', `refs/heads/${branch}`)
  }

  /** Whether a branch exists. */
  async has(branch: string): Promise<boolean> {
    return (await this.git('for-each-ref', `refs/heads/${branch}`)) !== ''
  }

  /** The message of the newest commit of a branch. */
  async messageOf(branch: string): Promise<string> {
    return await this.git('log', '-1', '--format=%B', `refs/heads/${branch}`)
  }

  /** Waits until the newest commit of a branch has this message. */
  async isMessage(branch: string, message: string): Promise<void> {
    await until(async () => (await this.messageOf(branch)) === message)
  }

  /** Makes a commit from outside, as in a terminal. */
  async commit(branch: string, files: Files, options: CommitOptions = {}): Promise<string> {
    return await commit(this.path, branch, files, options)
  }

  /** The layout of the windows, as the desk stores it. */
  async layout(): Promise<Layout | undefined> {
    return (await this.ask<{ layout?: Layout }>({ ask: 'desk' })).layout
  }

  /** Restarts the desk with the same key; `meanwhile` runs while it is down. */
  async restart(meanwhile: () => unknown = () => undefined): Promise<void> {
    const { key, state } = this.desk
    this.#window = undefined
    await this.desk[Symbol.asyncDispose]()
    await meanwhile()
    this.desk = await openTestDesk(this.path, { ...this.options, state, last: key })
    this.proxy.address = urlOf(this.desk.key)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
    await this.desk[Symbol.asyncDispose]()
    await this.folder[Symbol.asyncDispose]()
  }
}
