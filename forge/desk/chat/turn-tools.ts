/**
 * The tools of a turn: the built-in ones, commands in the container if the user has allowed them, and the repository's
 * own, which need approval when new or changed. Nothing is loaded before the first turn.
 */
import { Failure } from '../../../core/failure.ts'
import type { Oid, Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { Approvals } from '../../ai/approvals.ts'
import type { whyNoCommands } from '../../ai/commands.ts'
import type { ForgeMd } from '../../ai/forge-md.ts'
import type { RepositoryTool, RepositoryTools, ToolQuestion } from '../../ai/repository-tools.ts'
import type { Sandbox } from '../../ai/sandbox.ts'
import type { Tool, ToolContext, ToolResult } from '../../ai/tool.ts'
import type { TurnMeans } from '../../ai/turn.ts'
import type { WorkInProgressVfs } from '../../vfs.ts'
import type { Approval } from '../contract/chat.ts'
import type { LazyLanguages } from '../language/lazy.ts'

/** The folder of a repository's tools. */
const FOLDER: Path = 'tools'
/** The result of a check of docker is used again for this long, in milliseconds. */
const DOCKER_CHECK_VALID_MS = 60_000
/** Time limit of a check of docker, in milliseconds. */
const DOCKER_CHECK_TIMEOUT_MS = 5000

export class TurnTools implements AsyncDisposable {
  #builtIn: readonly Tool[] | undefined
  #ofRepository: Promise<{ tools: RepositoryTools; sandbox: Sandbox }> | undefined

  #commands: { tool: Tool; checksAfterTurn: boolean } | undefined
  /** The last check of docker: its time, and why no command can run (undefined: they can). */
  #whyNot: { at: number; words: string | undefined } | undefined

  constructor(
    /** The folder of the user's settings for the forge, with the key of approvals. */
    readonly config: string,
    /** The desk's state folder for the repository. It stores whether the user lets the AI run commands. */
    readonly state: string,
    /** The language servers, which the tool `diagnostics` asks. */
    readonly languages: LazyLanguages,
  ) {}

  /** The tools that are available in any repository. */
  async builtIn(): Promise<readonly Tool[]> {
    const { builtInTools } = await import('../../ai/built-in-tools.ts')
    this.#builtIn ??= builtInTools()
    return this.#builtIn
  }

  /**
   * All tools of a turn, always in the same order, and the errors of invalid ones. `vfs`: the files with the
   * repository's tools. `branch`: the branch of the turn.
   */
  async of(
    vfs: WorkInProgressVfs,
    {
      branch,
      signal,
      questions,
      checksAfterTurn,
    }: { branch: string; signal: AbortSignal; questions: ToolQuestions; checksAfterTurn: boolean },
  ): Promise<{ tools: readonly Tool[]; broken: string[] }> {
    const own = [
      ...(await this.builtIn()),
      ...(await this.#commandTools(signal, checksAfterTurn)),
      ...(await this.#languageTools(branch)),
    ]
    if ((await vfs.listFiles(FOLDER)).length === 0) return { tools: own, broken: [] }
    this.#ofRepository ??= this.#open()
    const { tools } = await this.#ofRepository
    const taken = new Set(own.map(({ description }) => description.name))
    const found = await tools.find(vfs, { taken, signal })
    const asking = found.tools.map(tool => new AskingTool(tool, questions))
    return { tools: [...own, ...asking], broken: found.broken.map(({ words }) => words) }
  }

  /** Whether commands are allowed, and why they can't run nevertheless. */
  async commands(signal: AbortSignal): Promise<{ isAllowed: boolean; why?: string }> {
    const { areCommandsOn, whyNoCommands: whyNot } = await import('../../ai/commands.ts')
    if (!(await areCommandsOn(this.state))) return { isAllowed: false }
    if (!this.#whyNot || Date.now() - this.#whyNot.at > DOCKER_CHECK_VALID_MS)
      this.#whyNot = { at: Date.now(), words: await this.#lookForDocker(whyNot, signal) }
    const { words } = this.#whyNot
    return { isAllowed: true, ...(words !== undefined && { why: words }) }
  }

  /** Says why commands can't be run; undefined if they can. The wait for a container engine that hangs is limited. */
  async #lookForDocker(whyNot: typeof whyNoCommands, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await whyNot(this.state, AbortSignal.any([signal, AbortSignal.timeout(DOCKER_CHECK_TIMEOUT_MS)]))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Failure) return error.message
      return 'Commands need docker, and its engine does not answer: start it.'
    }
  }

  async allowCommands(isAllowed: boolean): Promise<void> {
    const { switchCommands } = await import('../../ai/commands.ts')
    this.#whyNot = undefined
    await switchCommands(this.state, isAllowed)
  }

  /** Runs the checks of FORGE.md in a turn's base on the turn's files; undefined if it lists none. */
  async checksOf(vfs: WorkInProgressVfs): Promise<TurnMeans['check']> {
    const { readForgeMd } = await import('../../ai/forge-md.ts')
    const forge = vfs.base === undefined ? undefined : await readForgeMd(vfs.objects, vfs.base)
    if (!forge || forge.checks.length === 0) return undefined
    const { runChecks } = await import('../../ai/turn-checks.ts')
    return async (signal, only) => await runChecks(this.state, forge, { vfs, signal, ...(only && { only }) })
  }

  /**
   * Gives the bytes of a file as the formatters of FORGE.md leave it, at most `limit` + 1 of them. Throws a Failure
   * where that is not possible.
   */
  async format(
    vfs: WorkInProgressVfs,
    { path, limit, signal }: { path: Path; limit: number; signal: AbortSignal },
  ): Promise<Buffer> {
    const { formatFile } = await import('../../ai/format-file.ts')
    return await formatFile(this.state, await this.listed(vfs), { vfs, path, limit, signal })
  }

  /** The commands that FORGE.md of the last commit lists, to prepare the files and to format them. */
  async listed(vfs: WorkInProgressVfs): Promise<Pick<ForgeMd, 'prepare' | 'mend'>> {
    if (vfs.base === undefined) return { prepare: [], mend: [] }
    const { readForgeMd } = await import('../../ai/forge-md.ts')
    return await readForgeMd(vfs.objects, vfs.base)
  }

  async #commandTools(signal: AbortSignal, checksAfterTurn: boolean): Promise<readonly Tool[]> {
    const { isAllowed, why } = await this.commands(signal)
    if (!isAllowed || why !== undefined) return []
    if (this.#commands?.checksAfterTurn !== checksAfterTurn)
      this.#commands = { tool: await this.#openCommands(checksAfterTurn), checksAfterTurn }
    return [this.#commands.tool]
  }

  /** The tool `diagnostics`, where language servers are on: a longer list of tools is not in a provider's cache. */
  async #languageTools(branch: string): Promise<readonly Tool[]> {
    if (!(await this.languages.canRun())) return []
    const { diagnosticsTool } = await import('../../ai/diagnostics-tool.ts')
    return [diagnosticsTool((vfs, paths, signal) => this.languages.problemsIn(branch, vfs, paths, signal))]
  }

  async #openCommands(checksAfterTurn: boolean): Promise<Tool> {
    const { commandTool, removeLeftCommands } = await import('../../ai/commands.ts')
    await removeLeftCommands(this.state)
    return commandTool(this.state, { checksAfterTurn })
  }

  async #open(): Promise<{ tools: RepositoryTools; sandbox: Sandbox }> {
    const [{ Approvals }, { RepositoryTools }, { Sandbox }] = await Promise.all([
      import('../../ai/approvals.ts'),
      import('../../ai/repository-tools.ts'),
      import('../../ai/sandbox.ts'),
    ])
    const sandbox = new Sandbox()
    const approvals: Approvals = new Approvals(this.config)
    return { tools: new RepositoryTools(sandbox, approvals), sandbox }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ofRepository) await (await this.#ofRepository).sandbox[Symbol.asyncDispose]()
  }
}

/** The requests for approval that a turn's tools make: one at a time, since tools run one after the other. */
export class ToolQuestions {
  #open: { question: ToolQuestion; call: string; decide: (isApproved: boolean) => void } | undefined

  constructor(
    /** The id of the running tool call. */
    readonly call: () => string | undefined,
    /** Called when a tool call begins to wait for the user, and when it ends waiting. */
    readonly onWait: (call: string, waits: boolean) => void,
  ) {}

  /** The question to the user whether a tool may run, as the page shows it; empty while none is open. */
  get list(): Approval[] {
    if (!this.#open) return []
    const { question, call } = this.#open
    const { path, oid, source, before } = question
    return [{ path, oid, source, call, ...(before !== undefined && { before }) }]
  }

  /** Waits for the user's decision. Throws the signal's reason if the turn is stopped. */
  async ask(question: ToolQuestion, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const call = this.call() ?? ''
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    this.#open = { question, call, decide: resolve }
    try {
      this.onWait(call, true)
      signal.throwIfAborted()
      return await promise
    } finally {
      signal.removeEventListener('abort', stop)
      this.#open = undefined
      this.onWait(call, false)
    }
  }

  /**
   * Answers the request for approval of a tool with this content. Throws a {@link Failure} if it is not open any more.
   */
  decide(path: Path, oid: Oid, isApproved: boolean): void {
    const open = this.#open
    if (open?.question.path !== path || open.question.oid !== oid)
      throw new Failure(`${visiblePath(path)} waits for no approval, or has changed meanwhile: look at it again.`)
    open.decide(isApproved)
  }
}

/** A tool of the repository that asks for approval before its first run in this version. */
class AskingTool implements Tool {
  constructor(
    readonly tool: RepositoryTool,
    readonly questions: ToolQuestions,
  ) {}

  get description() {
    return this.tool.description
  }

  title(sent: unknown): string {
    return this.tool.title(sent)
  }

  async run(sent: unknown, room: ToolContext): Promise<ToolResult> {
    const question = await this.tool.question(room.vfs)
    // Without approval the tool does not run: `run` then returns as its result that it was not approved.
    const ask = (it: ToolQuestion) => room.forPerson(() => this.questions.ask(it, room.signal))
    if (question && (await ask(question))) await this.tool.approve(room.vfs, question)
    return await this.tool.run(sent, room)
  }
}
