/**
 * A minimal conversation with a scripted model as the turn loop conducts it: packed, sent on the wire, answered, with
 * tools run and changes committed. It has its own clock, and can restart.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Path } from '../../../core/git/repository.ts'
import { requestFor } from '../../../forge/ai/context.ts'
import { prepareSession, type State, withToolsDone } from '../../../forge/ai/opening.ts'
import { openModel } from '../../../forge/ai/providers.ts'
import type { Model, ModelAnswer, Request, ToolDescription, Usage } from '../../../forge/ai/request.ts'
import {
  addUsage,
  NO_USAGE,
  newSession,
  type Session,
  withAnswer,
  withEnd,
  withResult,
  withUser,
} from '../../../forge/ai/session.ts'
import { readSession, storeSession, writeSession } from '../../../forge/ai/session-file.ts'
import { readSettings } from '../../../forge/ai/settings.ts'
import { openSummaries, type Summaries } from '../../../forge/ai/summaries.ts'
import { WorkInProgressVfs } from '../../../forge/vfs.ts'
import { ModelServer, type Provider, type Turn } from '../../doubles/model-server.ts'
import { type Files, commit as writeCommit } from '../../support/git.ts'
import { makePlace, type Place } from '../../support/repository.ts'

const PERSON = { name: 'Una', email: 'una@forge.example' }

const text = { type: 'string' }
const tool = (name: string, ...parameters: string[]): ToolDescription => ({
  name,
  description: `${name}: what a built-in tool of this name does.`,
  parameters: {
    type: 'object',
    properties: Object.fromEntries(parameters.map(it => [it, text])),
    required: parameters,
  },
})
export const TOOLS = [
  tool('write_file', 'path', 'content'),
  tool('search_replace', 'path', 'old', 'new'),
  tool('delete_file', 'path'),
  tool('get_lines', 'path'),
  tool('update_context', 'activate', 'deactivate'),
]

export const clean = (it: string): string => it

export class Talk implements AsyncDisposable {
  session: Session = newSession()
  now = Date.UTC(2026, 10, 22)
  branch = 'main'
  readonly requests: Request[] = []
  #answers: Turn[] = []
  #turns = 0

  private constructor(
    readonly place: Place,
    readonly folder: string,
    readonly server: ModelServer,
    readonly model: Model,
    public summaries: Summaries,
    public vfs: WorkInProgressVfs,
  ) {
    server.play(() => this.#answers.shift() ?? { text: 'Nothing more.' })
  }

  static async open(files: Files, provider: Provider = 'anthropic'): Promise<Talk> {
    const place = await makePlace()
    const folder = await mkdtemp(join(tmpdir(), 'forge-talk-'))
    const server = await ModelServer.start()
    const environment = server.environment(provider)
    const settings = await readSettings({ XDG_CONFIG_HOME: folder, ...environment })
    const model = await openModel(environment.FORGE_MODEL ?? '', settings)
    const vfs = new WorkInProgressVfs(place.objects, await writeCommit(place.path, 'main', files))
    return new Talk(place, folder, server, model, openSummaries(place.objects, { folder }), vfs)
  }

  async state(): Promise<State> {
    const { model, summaries, branch } = this
    return { objects: this.place.objects, summaries, model, tools: TOOLS, branch, tree: await this.vfs.writeTree() }
  }

  /** The user says something, and the model gives these answers in turn, and a commit message last. */
  async turn(said: string, answers: Turn[]): Promise<void> {
    const turn = `turn-${++this.#turns}`
    this.session = await prepareSession(this.session, await this.state(), this.now)
    this.session = withUser(this.session, { turn, at: this.now, text: said }, clean)
    this.#answers = [...answers]
    let usage: Usage = NO_USAGE
    for (;;) {
      const answer = await this.#ask(await requestFor(this.session, await this.state()))
      usage = addUsage(usage, answer.usage)
      this.session = withAnswer(this.session, { turn, model: this.model.name, answer }, clean)
      if (answer.end !== 'calls') break
      await this.#run(turn, answer)
      await this.pass(10)
    }
    this.#answers = [{ text: `Do what was asked for the ${this.#turns}. time` }]
    const answer = await this.#ask(await requestFor(this.session, await this.state(), { asks: 'commit message' }))
    const message = answer.blocks.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('')
    const end = { turn, at: this.now, how: 'done' as const, message, model: this.model.name, seconds: 1 }
    this.session = withEnd(this.session, { ...end, usage: addUsage(usage, answer.usage) }, clean)
    await this.commit()
  }

  /** Another program changes files between two turns. */
  async change(files: Record<Path, string | undefined>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      if (content === undefined) await this.vfs.deleteFile(path)
      else await this.vfs.writeFile(path, Buffer.from(content))
    }
    await this.commit()
  }

  async commit(): Promise<void> {
    await storeSession(this.vfs, this.session)
    const at = { ...PERSON, when: this.now / 1000 }
    const oid = await this.vfs.commit({ message: 'x\n', author: at, committer: at })
    this.vfs = new WorkInProgressVfs(this.place.objects, oid)
  }

  /** Drops everything in memory; the session is read back from its file. */
  restart(): void {
    this.session = readSession(writeSession(this.session)).session
    this.summaries[Symbol.dispose]()
    this.summaries = openSummaries(this.place.objects, { folder: this.folder })
  }

  pass(seconds: number): void {
    this.now += seconds * 1000
    this.server.pass(seconds)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.summaries[Symbol.dispose]()
    await this.server.stop()
    await this.place[Symbol.asyncDispose]()
    await rm(this.folder, { recursive: true, force: true })
  }

  async #ask(request: Request): Promise<ModelAnswer> {
    this.requests.push(request)
    return await this.model.ask(request, { signal: new AbortController().signal, onProgress: () => undefined })
  }

  async #run(turn: string, { blocks }: ModelAnswer): Promise<void> {
    const touched: Path[] = []
    const [activated, deactivated]: [Path[], Path[]] = [[], []]
    for (const block of blocks) {
      if (block.type !== 'call') continue
      const sent = block.arguments as Record<string, string>
      if (sent.activate) activated.push(sent.activate)
      if (sent.deactivate) deactivated.push(sent.deactivate)
      if (sent.path && block.name !== 'get_lines') touched.push(sent.path)
      const result = { turn, id: block.id, name: block.name, words: block.name, seconds: 0, isError: false }
      this.session = withResult(this.session, { ...result, text: await this.#tool(block.name, sent) }, clean)
    }
    this.session = await withToolsDone(this.session, await this.state(), { touched, activated, deactivated })
  }

  async #tool(name: string, sent: Record<string, string>): Promise<string> {
    const { path = '', content = '', old = '', new: next = '' } = sent
    switch (name) {
      case 'write_file':
        await this.vfs.writeFile(path, Buffer.from(content))
        return `Wrote ${path}.`
      case 'search_replace': {
        const before = (await this.vfs.readFile(path)).toString()
        await this.vfs.writeFile(path, Buffer.from(before.replace(old, () => next)))
        return `Changed 1 place in ${path}.`
      }
      case 'delete_file':
        await this.vfs.deleteFile(path)
        return `Deleted ${path}.`
      case 'get_lines':
        return (await this.vfs.readFile(path)).toString().slice(0, 1500)
      default:
        return 'Done: what is newly active follows.'
    }
  }
}

const call = (name: string, sent: Record<string, string>) => ({ name, arguments: sent })
const source = (name: string, lines: number) =>
  `/** What ${name} is about. */\n${Array.from({ length: lines }, (_, at) => `export const ${name}${at} = '${name} number ${at}'\n`).join('')}`

/** The files for {@link playLongSession}. */
export const FILES: Files = {
  'AGENTS.md': '# For agents\n\nKeep lines short.\n',
  'README.md': '# The harbour\n\nShips come and go.\n',
  'src/AGENTS.md': 'No classes in here.\n',
  ...Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`src/part${at}.ts`, source(`part${at}`, 30)])),
  'logo.png': '\x89PNG\r\n\x1a\n\0\0\0',
}

/**
 * Twelve turns with eight requests each: reasoning, parallel calls, edits by tools, files made active and inactive,
 * files changed, added and deleted by others, and a restart; the pauses are shorter than a cache's lifetime.
 */
export async function playLongSession(talk: Talk): Promise<void> {
  for (let turn = 0; turn < 12; turn++) {
    const edit = (at: number, from: string, to: string) =>
      call('search_replace', { path: `src/part${at}.ts`, old: from, new: to })
    await talk.turn(`Change the parts around ${turn}, please: they say too little. ${'Mind the harbour. '.repeat(8)}`, [
      {
        reasoning: `I look at part ${turn} first.`,
        text: 'I read it.',
        calls: [
          call('update_context', {
            activate: `src/part${turn}.ts`,
            deactivate: turn > 3 ? `src/part${turn - 3}.ts` : '',
          }),
        ],
      },
      {
        reasoning: 'Several at once.',
        calls: Array.from({ length: turn === 5 ? 24 : 3 }, (_, at) =>
          call('get_lines', { path: `src/part${turn + at}.ts` }),
        ),
      },
      { calls: [edit(turn, `number 1'`, `the first of ${turn}'`), edit(turn + 1, `number 2'`, `the second'`)] },
      {
        text: 'And a new one.',
        calls: [call('write_file', { path: `docs/note${turn}.md`, content: `# Note ${turn}\n\nSaid.\n` })],
      },
      { calls: [edit(turn, `number 3'`, `the third'`)] },
      {
        calls:
          turn % 3 === 2
            ? [call('delete_file', { path: `docs/note${turn - 1}.md` })]
            : [call('get_lines', { path: 'README.md' })],
      },
      { reasoning: 'That is all.', text: `The parts around ${turn} say more now.` },
    ])
    talk.pass(100)
    if (turn % 2 === 0) await talk.change({ [`src/part${turn}.ts`]: source(`part${turn}by_hand`, 31) })
    if (turn === 3) await talk.change({ 'src/new.ts': source('fresh', 5), 'src/part2.ts': undefined })
    if (turn === 6) talk.restart()
    talk.pass(100)
  }
}
export const REQUESTS = 12 * 8
