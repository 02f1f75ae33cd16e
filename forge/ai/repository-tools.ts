/**
 * The repository's own tools: `tools/NAME.ts` in the branch's tree. They are read and run only in the sandbox, and run
 * only where the user has approved this very content.
 *
 *   export const schema = { name: 'NAME', description: '…', properties: { … }, required: [ … ] }
 *   export async function execute(vfs, args) { … return 'what the model reads' }
 *
 * `schema` is the JSON Schema of `args` with a name and a description; or the JSON Schema is in its field `parameters`.
 * `vfs` has `readFile(path)` and `readFile(path, 'bytes')`, `writeFile(path, textOrBytes, { executable })`,
 * `deleteFile(path)`, `listFiles(folder)` and `fileExists(path)`, all of which return promises. A tool imports nothing
 * but types. Its result is given to the model as text, or as JSON.
 */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { oidOf } from '../../core/git/objects.ts'
import type { Oid, Path } from '../../core/git/repository.ts'
import type { FileEntry } from '../../core/git/trees.ts'
import { short, visible, visibleLines, visiblePath } from '../../core/text.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import type { ApprovalState, Approvals, Subject } from './approvals.ts'
import type { ToolDescription } from './request.ts'
import { type Sandbox, SandboxError, type ToolSource } from './sandbox.ts'
import type { Tool, ToolContext, ToolResult } from './tool.ts'
import { takeTrial, trialOf } from './trial.ts'

/** The folder of the tools. */
const FOLDER = 'tools'
/** A tool's path. Its name has the form that all providers accept. */
const NAME = /^tools\/([A-Za-z][A-Za-z0-9_-]{0,63})\.ts$/

/**
 * Limits, since every request contains all tools: their number, and characters of a description, of parameters and of a
 * source.
 */
const TOOL_BOUNDS = { tools: 64, description: 1024, parameters: 16 << 10, depth: 24, source: 256 << 10 }

/** At most this many schemas are read at the same time. */
const MAX_CONCURRENT_READS = 3

/** A tool's description, or a sentence that says why it has none. */
type Described = ToolDescription | { words: string }

/** A tool's file that can't be used, and a sentence that says why. */
type BrokenTool = { path: Path; words: string }

/** What the user is shown before a tool's first use: its source, and the previously approved one. */
export type ToolQuestion = { path: Path; oid: Oid; source: string; before: string | undefined }

export class RepositoryTools {
  readonly #sandbox: Sandbox
  readonly #approvals: Approvals
  readonly #patience: number
  /** Descriptions by path and blob: a schema depends on nothing else. */
  readonly #descriptions = new Map<string, Described>()

  /**
   * @param patience Milliseconds after which one call of `find` reads no further schemas: a hostile repository may have
   * many endless ones.
   */
  constructor(sandbox: Sandbox, approvals: Approvals, patience = 8000) {
    this.#sandbox = sandbox
    this.#approvals = approvals
    this.#patience = patience
  }

  /**
   * Finds the tools in a branch's files, approved or not, sorted by name, and the files that can't be used. `taken`:
   * names of other tools, which are refused. Throws the signal's reason.
   */
  async find(
    vfs: WorkInProgressVfs,
    { taken, signal }: { taken: ReadonlySet<string>; signal: AbortSignal },
  ): Promise<{ tools: RepositoryTool[]; broken: BrokenTool[] }> {
    const names = new Set([...taken].map(name => name.toLowerCase()))
    const tools: RepositoryTool[] = []
    const broken: BrokenTool[] = []
    const candidates = (await vfs.listFiles(FOLDER)).filter(({ path }) => NAME.test(path))
    const described = await this.#describeAll(vfs, candidates.slice(0, TOOL_BOUNDS.tools), signal)
    for (const [at, { path }] of candidates.entries()) {
      const description = described[at] ?? { words: `a repository may bring ${TOOL_BOUNDS.tools} tools.` }
      const refusal = 'words' in description ? description.words : whyTaken(description, names)
      if ('words' in description || refusal) {
        broken.push({ path, words: `${visiblePath(path)} is no tool: ${refusal}` })
        continue
      }
      names.add(description.name.toLowerCase())
      tools.push(new RepositoryTool(path, description, this.#sandbox, this.#approvals))
    }
    return { tools, broken }
  }

  /** Describes all files, in the same order; a few at a time, as each needs a process. */
  async #describeAll(vfs: WorkInProgressVfs, files: FileEntry[], signal: AbortSignal): Promise<Described[]> {
    const described: Described[] = []
    const end = performance.now() + this.#patience
    for (let at = 0; at < files.length; at += MAX_CONCURRENT_READS) {
      const isLate = performance.now() > end
      const some = files.slice(at, at + MAX_CONCURRENT_READS).map(file => this.#describe(vfs, file, isLate, signal))
      described.push(...(await Promise.all(some)))
    }
    return described
  }

  async #describe(
    vfs: WorkInProgressVfs,
    { path, mode, oid }: FileEntry,
    isLate: boolean,
    signal: AbortSignal,
  ): Promise<Described> {
    if (!mode.startsWith('100')) return { words: 'it is no file.' }
    const known = this.#descriptions.get(`${path} ${oid}`)
    if (known) return known
    if (isLate) return { words: 'others took so long to say what they are that it is asked the next time.' }
    const bytes = await vfs.readFile(path)
    try {
      const name = NAME.exec(path)?.[1] ?? ''
      const described = descriptionOf(await this.#sandbox.schema(sourceOf(path, bytes), signal), name)
      this.#descriptions.set(`${path} ${oid}`, described)
      return described
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const described = { words: error.message }
      // A failure of the sandbox itself may be temporary, so it is not cached.
      if (!(error instanceof SandboxError && error.by === 'sandbox'))
        this.#descriptions.set(`${path} ${oid}`, described)
      return described
    }
  }
}

const whyTaken = ({ name }: ToolDescription, names: ReadonlySet<string>): string | undefined =>
  names.has(name.toLowerCase()) ? `there is a tool ${name} already.` : undefined

/**
 * A tool of a repository. Each call runs the tool's source as it is then in the work in progress, if that source is
 * approved.
 */
export class RepositoryTool implements Tool {
  readonly path: Path
  readonly description: ToolDescription
  readonly #sandbox: Sandbox
  readonly #approvals: Approvals

  constructor(path: Path, description: ToolDescription, sandbox: Sandbox, approvals: Approvals) {
    this.path = path
    this.description = description
    this.#sandbox = sandbox
    this.#approvals = approvals
  }

  title(_sent: unknown): string {
    return this.description.name
  }

  /** Whether the tool's current source is approved. */
  async approval(vfs: WorkInProgressVfs): Promise<ApprovalState> {
    return await this.#approvals.look(vfs, subjectOf(this.path, await vfs.readFile(this.path)))
  }

  /** What to show the user for approval; undefined where the tool is approved already. */
  async question(vfs: WorkInProgressVfs): Promise<ToolQuestion | undefined> {
    const approval = await this.approval(vfs)
    if (approval.state === 'approved') return undefined
    const bytes = await vfs.readFile(this.path)
    const earlier =
      approval.state === 'changed' ? await vfs.objects.read(approval.before, { limit: TOOL_BOUNDS.source }) : undefined
    const { source } = sourceOf(this.path, bytes)
    return { path: this.path, oid: blobOf(vfs, bytes), source, before: earlier?.bytes?.toString() }
  }

  /**
   * Approves the source that the user has seen, and writes the approval into the work in progress. Throws a {@link
   * Failure} where the source has changed meanwhile.
   */
  async approve(vfs: WorkInProgressVfs, seen: ToolQuestion): Promise<void> {
    const bytes = await vfs.readFile(this.path)
    if (seen.path !== this.path || seen.oid !== blobOf(vfs, bytes))
      throw new Failure(`${visiblePath(this.path)} has changed meanwhile: look at it again.`)
    await this.#approvals.approve(vfs, subjectOf(this.path, bytes))
  }

  /** Runs the tool. Its changes are taken over only where it succeeds. */
  async run(sent: unknown, { vfs, signal }: ToolContext): Promise<ToolResult> {
    const { name, parameters } = this.description
    const wrong = whatIsWrong(sent, parameters)
    if (wrong) return failed(`${name} was not run: ${wrong}`)
    try {
      const bytes = await vfs.readFile(this.path)
      const { state } = await this.#approvals.look(vfs, subjectOf(this.path, bytes))
      if (state !== 'approved') return failed(`${name} was not run: the user has not approved it as it is now.`)
      const trial = trialOf(vfs)
      const { text, touched } = await this.#sandbox.execute(sourceOf(this.path, bytes), sent, trial, signal)
      await takeTrial(vfs, trial)
      return { text: text || 'Done.', isError: false, words: wordsOf(name, touched), touched }
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const words = error instanceof SandboxError && error.by === 'tool' ? `It threw ${error.message}` : error.message
      return failed(`${name} failed, and changed nothing. ${words}`)
    }
  }
}

const failed = (text: string): ToolResult => ({ text, isError: true, words: visible(short(text, 120)) })

const wordsOf = (name: string, touched: readonly Path[]): string => {
  const [first] = touched
  if (first === undefined) return name
  return `${name}: ${visiblePath(first)}${touched.length > 1 ? ` and ${touched.length - 1} more` : ''}`
}

const subjectOf = (path: Path, content: Uint8Array): Subject => ({ kind: 'tool', scope: '', name: path, content })

const blobOf = (vfs: WorkInProgressVfs, bytes: Uint8Array): Oid =>
  oidOf(vfs.objects.repository.format, { type: 'blob', bytes })

/**
 * Decodes a source. Throws a {@link Failure} where it is too long or has invisible characters: such a source can't be
 * approved.
 */
function sourceOf(path: Path, bytes: Buffer): ToolSource {
  if (bytes.length > TOOL_BOUNDS.source) throw new Failure(`a tool's source may have ${TOOL_BOUNDS.source >> 10} KiB.`)
  const source = textOf(bytes)
  if (source === undefined) throw new Failure('its source is not UTF-8.')
  if (visibleLines(source) !== source.replaceAll('\r\n', '\n'))
    throw new Failure('its source has invisible characters: write them as \\u{…}.')
  return { file: visiblePath(path), source }
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const Schema = v.looseObject({
  name: v.string(),
  description: v.pipe(v.string(), v.trim(), v.nonEmpty()),
  /** The JSON Schema of the arguments; alternatively its fields stand beside name and description. */
  parameters: v.optional(v.record(v.string(), v.unknown())),
})

const Parameters = v.looseObject({
  type: v.literal('object'),
  properties: v.optional(v.record(v.string(), v.unknown())),
  required: v.optional(v.array(v.string())),
})

/** Checks a tool's schema. Throws a {@link Failure} where it can't be given to a model. */
function descriptionOf(json: string, name: string): ToolDescription {
  const said = v.safeParse(Schema, parsed(json))
  if (!said.success) throw new Failure('its schema needs a `name` and a `description`.')
  const { name: named, description, parameters: apart, ...beside } = said.output
  if (named !== name) throw new Failure(`its schema is named ${visible(short(named, 80))}, and its file ${name}.`)
  const parameters = v.safeParse(Parameters, { type: 'object', ...(apart ?? beside) })
  if (!parameters.success) throw new Failure('its schema is not that of an object: `type`, `properties`, `required`.')
  if (depthOf(parameters.output) > TOOL_BOUNDS.depth) throw new Failure('its schema is nested too deeply.')
  if (JSON.stringify(parameters.output).length > TOOL_BOUNDS.parameters)
    throw new Failure(`its schema is longer than ${TOOL_BOUNDS.parameters >> 10} KiB.`)
  return { name, description: short(description, TOOL_BOUNDS.description), parameters: parameters.output }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** How deeply a value is nested; it stops counting above the limit. */
function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null || depth > TOOL_BOUNDS.depth) return depth
  return Object.values(value).reduce((deepest: number, it) => Math.max(deepest, depthOf(it, depth + 1)), depth)
}

/** How to recognise the types of JSON Schema. */
const TYPES: Record<string, (value: unknown) => boolean> = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  integer: value => Number.isInteger(value),
  boolean: value => typeof value === 'boolean',
  array: value => Array.isArray(value),
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
  null: value => value === null,
}

/**
 * Tells a model what is wrong with its arguments; undefined where the tool can run. Only the outermost level is
 * checked: the schema is untrusted, and its patterns and references must not be evaluated here. The tool checks the
 * rest.
 */
function whatIsWrong(sent: unknown, parameters: Record<string, unknown>): string | undefined {
  if (!TYPES.object?.(sent)) return 'send its arguments as a JSON object.'
  const given = new Map(Object.entries(sent as object))
  const { required = [], properties = {}, additionalProperties } = parameters as v.InferOutput<typeof Parameters>
  const missing = required.find(name => !given.has(name))
  if (missing !== undefined) return `the argument ${missing} is missing.`
  const known = new Map(Object.entries(properties))
  const unknown = [...given.keys()].find(name => additionalProperties === false && !known.has(name))
  if (unknown !== undefined) return `it has no argument ${short(unknown, 80)}.`
  for (const [name, value] of given) {
    const type = (known.get(name) as { type?: unknown } | null | undefined)?.type
    const types = [type].flat().filter(it => typeof it === 'string' && Object.hasOwn(TYPES, it)) as string[]
    if (types.length > 0 && !types.some(it => TYPES[it]?.(value)))
      return `the argument ${name} must be of type ${types.join(' or ')}.`
  }
  return undefined
}
