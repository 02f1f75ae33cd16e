/**
 * Measures the bytes of each kind of request, by part, for ten wishes and ten turns of a chat in five public
 * repositories, and the share of them that the accepted change needed: `bun bench/prompts.ts REPOSITORIES [--code
 * FOLDER] [--json]`. REPOSITORIES is a folder with a clone of each at OWNER/NAME (bench/prompts-corpus.json); --code
 * measures another checkout of this project, such as an older one.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Request } from '../forge/ai/request.ts'
import type { StepKind } from '../forge/tasks/contract.ts'
import type { Plan } from '../forge/tasks/plan/schema.ts'
import { git } from '../test/support/git.ts'
import { bytesByPart, partsOf, type RequestPart } from '../test/support/request-parts.ts'

type Wish = { repository: string; change: string; wish: string }
type Measured = { wish: string; kind: string; bytes: Record<string, number>; used: number }

const WINDOW = 200_000
const PROGRAMS = 'bash git make node npm python3 pytest go bun'.split(' ')
const KINDS = ['plan', 'outline', 'implement', 'review'] as const satisfies StepKind[]

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { code: { type: 'string', default: join(import.meta.dir, '..') }, json: { type: 'boolean' } },
})
const [repositories] = positionals
if (repositories === undefined) throw new Error('usage: bun bench/prompts.ts REPOSITORIES [--code FOLDER] [--json]')
const code = resolve(values.code)
// The measured modules may be another version of the same files.
const load = async (path: string) => await import(join(code, path))
const { openObjects } = await load('core/git/objects.ts')
const { openRepository } = await load('core/git/repository.ts')
const { RunStore } = await load('forge/tasks/runs/store.ts')
const { buildRequest } = await load('forge/tasks/steps/request.ts')
const { checksInWords } = await load('forge/tasks/checks/programs.ts')
const { openSummaries } = await load('forge/ai/summaries.ts')
const { openCodeMap } = await load('forge/tasks/context/map.ts')
const { builtInTools } = await load('forge/ai/built-in-tools.ts')
const { prepareSession } = await load('forge/ai/opening.ts')
const { requestFor } = await load('forge/ai/context.ts')
const { newSession, withUser } = await load('forge/ai/session.ts')
const { wishedInWords, definedInWords } = await load('forge/tasks/context/wished.ts').catch(() => ({}))

/** A plan for a wish, by the files of the change that was accepted: a task for code with its tests, one for texts. */
function planFor({ wish }: Wish, files: readonly string[]): Plan {
  const isCode = (path: string): boolean => /\.(?:py|ts|js|go)$/.test(path)
  const parts = [files.filter(isCode), files.filter(path => !isCode(path))].filter(part => part.length > 0)
  const contract = parts.map((part, at) => ({
    id: `A${at + 1}`,
    says: `What was wished is true of ${part.join(', ')}.`,
    how: { kind: 'command' as const, seconds: 300, command: `python3 -c "${'print(1); '.repeat(60)}"` },
  }))
  return {
    title: wish.slice(0, 100),
    summary: `${wish} The code comes first with its tests, then the texts. Say so if you want them otherwise.`,
    contract,
    tasks: parts.map((part, at) => ({
      id: at === 0 ? 'code' : 'texts',
      title: at === 0 ? 'The code with its tests' : 'The texts',
      objective: { behaviour: wish, outputs: part, acceptance: ['The tests cover it.'] },
      claims: [`A${at + 1}`],
      boundaries: { write: part, never: [] },
      context: { files: [], tests: [], documents: [] },
      validation: { checks: [], reviews: ['Is there a case that its tests miss?'] },
      depends_on: at === 0 ? [] : ['code'],
      tier: 'generation',
      recursion: 0,
      size: 'medium',
    })),
  }
}

/**
 * How many bytes of a line in the list of files are about used files. Where a line names several files of a folder,
 * each name counts for itself.
 */
function usedOfLine(line: string, isUsed: (path: string) => boolean): number {
  const [path = '', said = ''] = line.split(': ')
  if (!path.endsWith('/')) return isUsed(path) ? Buffer.byteLength(line) + 1 : 0
  const folder = path === './' ? '' : path
  const names = said.split(', ').filter(name => isUsed(folder + name.replace(/ [(].*/, '')))
  return names.reduce((sum, name) => sum + Buffer.byteLength(name) + 2, 0)
}

/** Of the bytes about files in a request, the share about files that the accepted change touches or names. */
function usedShare(
  parts: readonly RequestPart[],
  { files, patch }: { files: readonly string[]; patch: string },
): number {
  const isUsed = (path: string): boolean => {
    const stem = (path.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '')
    return files.includes(path) || (stem.length > 3 && new RegExp(`\\b${stem.replace(/\W/g, '.')}\\b`).test(patch))
  }
  let [used, all] = [0, 0]
  for (const { part, path, text, bytes } of parts) {
    if (['tools', 'system'].includes(part)) continue
    all += bytes
    if (part === 'list of files') {
      for (const line of text.split('\n')) used += usedOfLine(line, isUsed)
    } else if (path === undefined || isUsed(path)) used += bytes
  }
  return used / all
}

async function measure(wish: Wish, folder: string): Promise<Measured[]> {
  const place = join(repositories ?? '', wish.repository)
  const repository = await openRepository(place)
  await using objects = openObjects(repository)
  using summaries = openSummaries(objects, { folder })
  using map = openCodeMap(objects, { folder })
  const head = (await git(place, 'rev-parse', wish.change)).trim()
  const base = (await git(place, 'rev-parse', `${head}^`)).trim()
  const tree = (await git(place, 'rev-parse', `${base}^{tree}`)).trim()
  const files = (await git(place, 'diff', '--name-only', base, head)).trim().split('\n')
  const accepted = { files, patch: await git(place, 'diff', base, head) }
  const measured = (kind: string, request: Request): Measured => {
    const parts = partsOf(request)
    return { wish: wish.change, kind, bytes: bytesByPart(parts), used: usedShare(parts, accepted) }
  }
  const run = `20261123-bench-${wish.change.slice(0, 4)}`
  const store = new RunStore(objects, run)
  const facts = [
    await store.put('wish', wish.wish),
    await store.put(
      'checks',
      await checksInWords(objects, base, { hasNetwork: false, programs: new Map(PROGRAMS.map(it => [it, '1.2'])) }),
    ),
    ...(definedInWords ? [await store.put('defined', await definedInWords(map.code, base, wish.wish))] : []),
    ...(wishedInWords ? [await store.put('wished', await wishedInWords(objects, base, wish.wish))] : []),
  ]
  const plan = await store.putJson('plan', planFor(wish, files))
  const found: Measured[] = []
  for (const kind of KINDS) {
    const isPlan = kind === 'plan'
    const about = isPlan ? facts : [plan]
    const place = { run, attempt: 1, step: kind, kind, tier: 'generation', choice: 0, depth: 0, about }
    const input = { ...place, base: kind === 'review' ? head : base, ...(!isPlan && { task: 'code' }) }
    const sources = {
      objects,
      store,
      model: { name: 'anthropic/x', window: WINDOW, thinking: 'low' as const },
      secrets: [],
      summaries,
      map,
    }
    const { bytes } = await buildRequest(input, { ...sources, ...(kind === 'review' && { from: base }) })
    found.push(measured(kind, JSON.parse(bytes).request))
  }
  const tools = builtInTools().map((it: { description: unknown }) => it.description)
  const model = { name: 'anthropic/x', window: WINDOW }
  const state = { objects, summaries, model, tools, branch: 'main', tree, base }
  const prepared = await prepareSession(
    newSession(),
    { ...state, text: wish.wish, signal: AbortSignal.timeout(60_000) },
    0,
  )
  const session = withUser(prepared, { turn: 'turn-1', at: 0, text: wish.wish }, (text: string) => text)
  found.push(measured('chat', await requestFor(session, state)))
  return found
}

const corpus: Wish[] = JSON.parse(await readFile(join(import.meta.dir, 'prompts-corpus.json'), 'utf8'))
const folder = await mkdtemp(join(tmpdir(), 'forge-bench-prompts-'))
try {
  const all: Measured[] = []
  for (const wish of corpus) all.push(...(await measure(wish, folder)))
  if (values.json) console.log(JSON.stringify(all))
  for (const [kind, of] of values.json ? [] : Map.groupBy(all, it => it.kind)) {
    const mean = (value: (it: Measured) => number): number => of.reduce((sum, it) => sum + value(it), 0) / of.length
    const names = [...new Set(of.flatMap(({ bytes }) => Object.keys(bytes)))]
    const parts = names.map(name => `${name} ${Math.round(mean(({ bytes }) => bytes[name] ?? 0)).toLocaleString('en')}`)
    console.log(`${kind.padEnd(10)} ${parts.join(', ')}; of use ${Math.round(100 * mean(({ used }) => used))} %`)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
