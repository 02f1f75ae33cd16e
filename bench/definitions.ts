/**
 * Compares the definitions and references that forge/code finds by syntax and name with those of ctags and of a
 * language server, on checkouts of real repositories. Prints a row for each, as in docs/architecture.md.
 * `bun bench/definitions.ts LANGUAGE FOLDER [SERVER…]`: LANGUAGE is ctags' name of it (TypeScript, Python, Go, Rust,
 * C); SERVER is the command of a language server that speaks over its standard input and output.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openObjects } from '../core/git/objects.ts'
import { asBytes, openRepository } from '../core/git/repository.ts'
import type { CodeFacts, Definition } from '../forge/code/facts.ts'
import { grammarOf } from '../forge/code/languages.ts'
import { CodeReader } from '../forge/code/reader.ts'
import { git } from '../test/support/git.ts'

const ENDINGS: Record<string, string> = {
  TypeScript: '.ts .tsx .mts .cts',
  Python: '.py',
  Go: '.go',
  Rust: '.rs',
  C: '.c .h',
}
/** The names of the language in the protocol of language servers, by extension. */
const IDS: Record<string, string> = { '.py': 'python', '.go': 'go', '.rs': 'rust', '.c': 'c', '.h': 'c' }
const MAX_ASKED = 300
const MAX_ASKED_REFERENCES = 60
/** ctags' kinds that are no definitions of the file's code: imports, and names of packages. */
const NO_DEFINITIONS =
  /^(?:import|package|packageName|unknown|namespace|module|anonMember|receiver|parameter|local|header)$/
const SERVER_TIMEOUT_MS = 60_000

interface Place {
  path: string
  line: number
}
/** A line of ctags' output. */
interface Tag extends Place {
  name: string
  kind: string
  scopeKind?: string
  /** `def` for a definition, else what kind of reference it is. */
  roles?: string
}
interface Source {
  path: string
  text: string
  facts: CodeFacts
}

const [language = '', folder = '', ...server] = process.argv.slice(2)
const endings = (ENDINGS[language] ?? '').split(' ')
async function read(cache: string): Promise<Source[]> {
  const repository = await openRepository(folder)
  await using objects = openObjects(repository)
  using code = new CodeReader(objects, cache)
  const paths = (await git(folder, 'ls-files', '-z')).split('\0').filter(path => endings.includes(extname(path)))
  const sources: Source[] = []
  for (const path of paths) {
    if (grammarOf(asBytes(path)) === undefined) continue
    const text = await readFile(join(folder, path), 'utf8')
    const facts = await code.factsOfText(asBytes(path), text)
    sources.push({ path, text, facts })
  }
  return sources
}

/** By file, name and line; a definition that ctags gives another line of the same declaration counts as found. */
async function besideCtags(sources: readonly Source[]): Promise<void> {
  const byPath = new Map(sources.map(source => [source.path, source]))
  const all = await tagsOf(sources)
  const tags = all
    .filter(({ roles = 'def' }) => roles === 'def')
    .filter(({ kind, name }) => !NO_DEFINITIONS.test(kind) && !name.startsWith('__anon'))
    .filter(tag => !isLocalTag(tag, byPath.get(tag.path)?.text ?? ''))
  const isFound = (tag: (typeof tags)[number]) =>
    byPath
      .get(tag.path)
      ?.facts.definitions.some(it => it.name === tag.name && tag.line >= it.start && tag.line <= it.end)
  const missed = tags.filter(tag => !isFound(tag))
  const known = new Set(tags.map(({ path, name }) => `${path} ${name}`))
  const ours = sources.flatMap(({ path, facts }) =>
    facts.definitions.filter(it => it.kind !== 'impl').map(it => ({ path, ...it })),
  )
  const more = ours.filter(({ path, name }) => !known.has(`${path} ${name}`))
  const wrong = more.filter(it => !isNameAt(byPath.get(it.path)?.text ?? '', it))
  console.log(
    `${language}, ctags: ${sources.length} files, ${tags.length} definitions, ${tags.length - missed.length} found, \
${missed.length} missed; ${more.length} more, of which ${wrong.length} are not at their place`,
  )
  if (process.env.VERBOSE) {
    const kinds = Map.groupBy(missed, ({ kind }) => kind)
    for (const [kind, all] of kinds)
      console.log(
        `  missed ${kind}: ${all.length}`,
        all.slice(0, 12).map(it => `${it.path}:${it.line} ${it.name}`),
      )
    const ownKinds = Map.groupBy(more, ({ kind }) => kind)
    for (const [kind, all] of ownKinds)
      console.log(
        `  more ${kind}: ${all.length}`,
        all.slice(0, 6).map(it => `${it.path}:${it.line} ${it.name}`),
      )
  }
  referencesBesideCtags(
    byPath,
    all.filter(({ roles = 'def' }) => roles !== 'def'),
  )
}

async function tagsOf(sources: readonly Source[]): Promise<Tag[]> {
  const options = ['--output-format=json', '--fields=+nKSr', '--extras=+r', '--sort=no', '-L', '-', '-f', '-']
  const child = Bun.spawn(['ctags', ...options], {
    cwd: folder,
    stdin: Buffer.from(sources.map(({ path }) => path).join('\n')),
    stderr: 'ignore',
  })
  return (await child.stdout.text())
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Tag)
}

/**
 * ctags knows few references: what is imported and included, and macros that are undefined. By file and name; headers
 * of the system, which are outside of the repository, are left out.
 */
function referencesBesideCtags(byPath: ReadonlyMap<string, Source>, tags: readonly Tag[]): void {
  const told = tags.filter(({ roles }) => roles !== 'system')
  const missed = told.filter(({ path, name }) => {
    const { references = [], imports = [] } = byPath.get(path)?.facts ?? {}
    const words = name.split(/[^\w$]+/).filter(Boolean)
    const isImported = imports.some(
      it => it.replace(/^(?:\.\/)+/, '') === name || it.endsWith(name.replace(/^\.+/, '')),
    )
    return !isImported && !words.every(word => references.includes(word))
  })
  console.log(
    `${language}, ctags: ${told.length} references, ${told.length - missed.length} found, ${missed.length} missed`,
  )
  if (process.env.VERBOSE)
    for (const it of missed.slice(0, 20)) console.log(`  missed ${it.path}:${it.line} ${it.name}`)
}

/**
 * Whether a tag is a variable, a constant or a property in a function, which no other file can name. Of a function
 * without a name, ctags tells no scope: its variables are indented.
 */
function isLocalTag({ kind, line, scopeKind = '' }: Tag, text: string): boolean {
  if (!/^(?:variable|constant|property|alias)$/.test(kind)) return false
  const isIndented = kind !== 'property' && language === 'TypeScript' && /^\s/.test(text.split('\n')[line - 1] ?? '')
  return (
    isIndented || /function|method|getter|setter/i.test(scopeKind) || (kind === 'alias' && language === 'TypeScript')
  )
}

const isNameAt = (text: string, { name, line, column }: Definition): boolean =>
  text.split('\n')[line - 1]?.slice(column, column + name.length) === name

// --- Beside a language server

async function besideServer(
  sources: readonly Source[],
  definitions: ReadonlyMap<string, readonly (Definition & { path: string })[]>,
): Promise<void> {
  const client = await Client.start(server, folder)
  const texts = new Map(sources.map(({ path, text }) => [path, text]))
  const open = (path: string) => {
    const text = texts.get(path)
    texts.delete(path)
    if (text !== undefined) client.open(path, text)
  }
  open(sources[0]?.path ?? '')
  await client.ready(sources[0]?.path ?? '')
  const uses = spread(sources.flatMap(usesIn), MAX_ASKED)
  const counts = { asked: 0, one: 0, several: 0, missed: 0, wrong: 0, local: 0 }
  const odd: string[] = []
  for (const use of uses) {
    open(use.path)
    const answers = await client.places('textDocument/definition', use.path, use.line, use.column)
    const inside = answers.filter(({ path }) => sources.some(source => source.path === path))
    const isItself = inside.some(it => it.path === use.path && it.line === use.line)
    if (inside.length === 0 || isItself) continue
    if (inside.every(place => isLocal(sources, place, use.name))) {
      counts.local++
      continue
    }
    counts.asked++
    const ours = (definitions.get(use.name) ?? []).filter(({ kind }) => kind !== 'impl')
    const isThere = ours.some(it => inside.some(place => place.path === it.path && isAt(it, place.line)))
    if (isThere && ours.length === 1) counts.one++
    else if (isThere) counts.several++
    else if (ours.length === 0) counts.missed++
    else counts.wrong++
    if (!isThere)
      odd.push(`${use.path}:${use.line} ${use.name} → ${inside[0]?.path}:${inside[0]?.line}, ours ${ours.length}`)
  }
  console.log(`${language}, ${server[0]?.split('/').at(-1)}, definitions: ${JSON.stringify(counts)}`)
  if (process.env.VERBOSE) for (const line of odd.slice(0, 60)) console.log(`  ${line}`)
  await referencesBeside(client, { sources, definitions, open })
  client.end()
}

interface Compared {
  sources: readonly Source[]
  definitions: ReadonlyMap<string, readonly (Definition & { path: string })[]>
  /** Opens a file in the language server, unless it is open. */
  open: (path: string) => void
}

/** The lines that mention a name beside those where the server finds the definition to be used. */
async function referencesBeside(client: Client, { sources, definitions, open }: Compared): Promise<void> {
  const asked = spread(
    [...definitions.values()].flat().filter(({ kind }) => kind !== 'impl'),
    MAX_ASKED_REFERENCES,
  )
  const counts = { asked: 0, theirs: 0, found: 0, others: 0 }
  for (const { path, line, column, name } of asked) {
    open(path)
    const theirs = (await client.places('textDocument/references', path, line, column + 1)).map(
      it => `${it.path}:${it.line}`,
    )
    if (theirs.length === 0) continue
    const word = new RegExp(`(?<![\\w$])${name.replace(/[^\w]/g, '\\$&')}(?![\\w$])`)
    const ours = new Set(
      sources
        .filter(({ facts }) => facts.references.includes(name) || facts.definitions.some(it => it.name === name))
        .flatMap(source =>
          source.text.split('\n').flatMap((text, at) => (word.test(text) ? [`${source.path}:${at + 1}`] : [])),
        ),
    )
    const known = new Set(theirs.filter(place => sources.some(source => place.startsWith(`${source.path}:`))))
    counts.asked++
    counts.theirs += known.size
    counts.found += [...known].filter(place => ours.has(place)).length
    counts.others += [...ours].filter(place => !known.has(place)).length
  }
  console.log(`${language}, references of ${counts.asked} definitions: ${JSON.stringify(counts)}`)
}

/** Whether a definition has the line: its name's, or one of its first lines (decorators, a return type). */
const isAt = ({ start, line }: Definition, at: number): boolean => at >= start && at <= line

/**
 * Whether a place is an import, or a variable, a parameter or a type parameter inside a function: no other file can
 * name it. Of functions without a name, nothing is known: a place in them is told by its line.
 */
function isLocal(sources: readonly Source[], { path, line }: Place, name: string): boolean {
  const { facts, text = '' } = sources.find(source => source.path === path) ?? {}
  const around = facts?.definitions.filter(it => line >= it.start && line <= it.end) ?? []
  if (around.some(it => it.name === name)) return false
  if (around.some(({ kind }) => /^(?:function|method|declaration)$/.test(kind))) return true
  const written = text.split('\n')[line - 1] ?? ''
  const isTyped = new RegExp(`<[^>]*\\b${name}\\b`).test(written)
  return isTyped || /^\s*(?:import|from|use)\b|^\s+(?:\w+ )?"[^"]+"$|^\s+(?:const|let|var|for)\b/.test(written)
}

function usesIn({ path, text, facts }: Source): { path: string; line: number; column: number; name: string }[] {
  const names = new Set(facts.references)
  return text.split('\n').flatMap((line, at) => {
    if (/^\s*(?:\/\/|#|\*|\/\*)/.test(line)) return []
    return [...line.matchAll(/[A-Za-z_$][\w$]*/g)]
      .filter(([name]) => names.has(name))
      .map(match => ({ path, line: at + 1, column: match.index + 1, name: match[0] }))
  })
}

/** At most `most` elements, spread evenly. */
function spread<T>(all: readonly T[], most: number): T[] {
  const step = Math.max(1, all.length / most)
  return Array.from({ length: Math.min(most, all.length) }, (_, at) => all[Math.floor(at * step)] as T)
}

/** A language server, by its protocol: messages of JSON, each with its length in front. */
class Client {
  readonly #answers = new Map<number, (result: unknown) => void>()
  readonly #read = Promise.withResolvers<void>()
  #id = 0

  private constructor(
    readonly child: Bun.Subprocess<'pipe', 'pipe', 'ignore'>,
    readonly root: string,
  ) {}

  static async start(words: string[], root: string): Promise<Client> {
    const child = Bun.spawn(words, { cwd: root, stdin: 'pipe', stdout: 'pipe', stderr: 'ignore' })
    const client = new Client(child, root)
    void client.#listen()
    const rootUri = pathToFileURL(root).href
    await client.#ask('initialize', {
      processId: process.pid,
      rootUri,
      workspaceFolders: [{ uri: rootUri, name: 'root' }],
      capabilities: {
        textDocument: { definition: { linkSupport: false } },
        workspace: { configuration: true },
        experimental: { serverStatusNotification: true },
      },
    })
    client.#send({ method: 'initialized', params: {} })
    return client
  }

  open(path: string, text: string): void {
    const languageId = IDS[extname(path)] ?? (path.endsWith('x') ? 'typescriptreact' : 'typescript')
    const textDocument = { uri: this.#uri(path), languageId, version: 1, text }
    this.#send({ method: 'textDocument/didOpen', params: { textDocument } })
  }

  /** Waits until the server has read its project, which its first answer shows; rust-analyzer says so itself. */
  async ready(path: string): Promise<void> {
    if (server[0]?.endsWith('rust-analyzer')) await this.#read.promise
    await this.#ask('textDocument/documentSymbol', { textDocument: { uri: this.#uri(path) } })
  }

  async places(method: string, path: string, line: number, column: number): Promise<Place[]> {
    const result = await this.#ask(method, {
      textDocument: { uri: this.#uri(path) },
      position: { line: line - 1, character: column },
      context: { includeDeclaration: true },
    })
    const list = (Array.isArray(result) ? result : result ? [result] : []) as {
      uri?: string
      targetUri?: string
      range?: { start: { line: number } }
      targetSelectionRange?: { start: { line: number } }
    }[]
    return list.map(it => ({
      path: decodeURIComponent(it.uri ?? it.targetUri ?? '').slice(`file://${this.root}/`.length),
      line: ((it.range ?? it.targetSelectionRange)?.start.line ?? 0) + 1,
    }))
  }

  end(): void {
    this.child.kill()
  }

  #uri(path: string): string {
    return pathToFileURL(join(this.root, path)).href
  }

  async #ask(method: string, params: unknown): Promise<unknown> {
    const id = ++this.#id
    const { promise, resolve } = Promise.withResolvers<unknown>()
    this.#answers.set(id, resolve)
    this.#send({ id, method, params })
    const timer = setTimeout(() => resolve(undefined), SERVER_TIMEOUT_MS)
    const result = await promise
    clearTimeout(timer)
    return result
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    this.child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    this.child.stdin.flush()
  }

  async #listen(): Promise<void> {
    let waiting = Buffer.alloc(0)
    for await (const bytes of this.child.stdout) {
      waiting = Buffer.concat([waiting, bytes])
      for (;;) {
        const end = waiting.indexOf('\r\n\r\n')
        const length = Number(/content-length: (\d+)/i.exec(waiting.subarray(0, Math.max(0, end)).toString())?.[1])
        if (end < 0 || waiting.length < end + 4 + length) break
        this.#take(JSON.parse(waiting.subarray(end + 4, end + 4 + length).toString()))
        waiting = waiting.subarray(end + 4 + length)
      }
    }
  }

  #take(message: {
    id?: number
    method?: string
    result?: unknown
    params?: { items?: unknown[]; quiescent?: boolean }
  }): void {
    if (message.method === 'experimental/serverStatus' && message.params?.quiescent) this.#read.resolve()
    if (message.method !== undefined && message.id !== undefined) {
      // The server asks for its settings: none are set.
      const result = message.method === 'workspace/configuration' ? (message.params?.items ?? []).map(() => null) : null
      this.#send({ id: message.id, result })
    } else if (message.id !== undefined) {
      this.#answers.get(message.id)?.(message.result)
      this.#answers.delete(message.id)
    }
  }
}

const scratch = await mkdtemp(join(tmpdir(), 'forge-bench-'))
try {
  const sources = await read(scratch)
  const definitions = Map.groupBy(
    sources.flatMap(({ path, facts }) => facts.definitions.map(it => ({ path, ...it }))),
    ({ name }) => name,
  )
  await besideCtags(sources)
  if (server.length > 0) await besideServer(sources, definitions)
} finally {
  await rm(scratch, { recursive: true, force: true })
}
