/**
 * The bytes of each kind of request on a small fixed repository, by part. Where one has grown, the test names the part:
 * either that was an accident, or the number here is updated.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { builtInTools } from '../../../forge/ai/built-in-tools.ts'
import { requestFor } from '../../../forge/ai/context.ts'
import { prepareSession } from '../../../forge/ai/opening.ts'
import type { Request } from '../../../forge/ai/request.ts'
import { newSession, withUser } from '../../../forge/ai/session.ts'
import { openSummaries, type Summaries } from '../../../forge/ai/summaries.ts'
import { type CodeMap, openCodeMap } from '../../../forge/tasks/context/map.ts'
import type { StepInput } from '../../../forge/tasks/contract.ts'
import type { Plan } from '../../../forge/tasks/plan/schema.ts'
import { RunStore } from '../../../forge/tasks/runs/store.ts'
import { buildRequest } from '../../../forge/tasks/steps/request.ts'
import { commit, type Files } from '../../support/git.ts'
import { makePlace, type Place } from '../../support/repository.ts'
import { bytesByPart, partsOf } from '../../support/request-parts.ts'

/** The most bytes that each part of a request may have, by kind of step. */
const MOST: Record<string, Record<string, number>> = {
  plan: { all: 18038, instructions: 236, 'list of files': 4260, orders: 238, system: 5236, tools: 8068 },
  outline: { all: 9672, files: 2857, instructions: 139, related: 301, run: 402, system: 2178, task: 1220, tools: 2575 },
  implement: {
    all: 12509,
    files: 2857,
    instructions: 139,
    related: 301,
    run: 402,
    system: 3202,
    task: 1221,
    tools: 4387,
  },
  'implement, of a long text': {
    all: 10930,
    files: 1673,
    instructions: 139,
    run: 402,
    system: 3202,
    task: 1127,
    tools: 4387,
  },
  review: { all: 7127, change: 1171, instructions: 139, related: 428, run: 402, system: 2116, task: 1179, tools: 1692 },
  'first message of a chat': {
    all: 11292,
    files: 220,
    'list of files': 4416,
    'names and subjects': 259,
    system: 2826,
    tools: 3571,
  },
}
/** A part may be larger than the number in MOST by this many bytes. */
const TOLERANCE = 40

const unit = (name: string, at: number): string =>
  `/** Reads the ${name} of a place, from what was measured there at ${at} o'clock. */\nexport function ${name}At${at}(place: string): number {\n  const found = measured(place, '${name}', ${at})\n  if (found === undefined) throw new Error('Nothing was measured there.')\n  return found\n}\n\n`
const module = (name: string): string =>
  `import { measured } from './measured.ts'\n\n${Array.from({ length: 120 }, (_, at) => unit(name, at)).join('')}`
const FILES: Files = {
  'README.md': `# Tides\n\n[![Build](https://ci.example/b.svg)](https://ci.example)\n\nTides says when the water is high.\n\n${'## Usage\n\nRead the code.\n\n'.repeat(60)}`,
  'FORGE.md': 'Small functions.\n\n# Checks\n\n- `bun test`\n',
  'package.json': '{ "scripts": { "test": "bun test" } }\n',
  'CHANGELOG.md': `# Changelog\n\n${Array.from({ length: 400 }, (_, at) => `- Version ${at}: one thing more.\n`).join('')}`,
  'src/measured.ts': 'export const measured = (place: string, what: string, at: number): number | undefined => at\n',
  'src/tide.ts': module('tide'),
  'src/wind.ts': module('wind'),
  'src/page.ts': "import { tideAt7 } from './tide.ts'\n\nexport const showPage = (): number => tideAt7('Hamburg')\n",
  'test/tide.test.ts':
    "import { expect, test } from 'bun:test'\nimport { tideAt7 } from '../src/tide.ts'\n\ntest('tide', () => expect(tideAt7('x')).toBe(7))\n",
}
/** Adds further files to the repository: a request mentions most of them by name alone. */
for (const place of Array.from({ length: 30 }, (_, at) => `place${at}`)) {
  FILES[`src/places/${place}.ts`] =
    `/** What is measured at ${place}, and who sees to it that it goes on being measured. */\nexport function name(): string {\n  return '${place}'\n}\nexport function depthOf${place}(at: number): number {\n  return at\n}\n`
  FILES[`test/places/${place}.test.ts`] = `import { test } from 'bun:test'\n\ntest('${place}', () => undefined)\n`
  FILES[`data/${place}.json`] = '{ "depths": [1, 2, 3] }\n'
}
const WISH =
  'tideAt7 should give 0 where nothing was measured, instead of an error, with a test and a line in the changelog.'
const TASKS = [
  { id: 'tide', outputs: ['src/tide.ts', 'test/tide.test.ts'], reviews: ['Is an error of another kind swallowed?'] },
  { id: 'changelog', outputs: ['CHANGELOG.md'], reviews: [] },
]
const PLAN: Plan = {
  title: 'No error where nothing was measured',
  summary: 'The function first, then the changelog. Say so if you want it otherwise.',
  contract: TASKS.map(({ id }, at) => ({
    id: `A${at + 1}`,
    says: `What was wished is true of the ${id}.`,
    how: {
      kind: 'command',
      command: `bun test test/${id}.test.ts && grep -q "${'x'.repeat(600)}" README.md`,
      seconds: 300,
    },
  })),
  tasks: TASKS.map(({ id, outputs, reviews }, at) => ({
    id,
    title: `The ${id}`,
    objective: { behaviour: WISH, outputs, acceptance: ['A test covers it.'] },
    claims: [`A${at + 1}`],
    boundaries: { write: outputs, never: [] },
    context: { files: [], tests: [], documents: [] },
    validation: { checks: [], reviews },
    depends_on: [],
    tier: 'generation',
    recursion: 0,
    size: 'medium',
  })),
}

let place: Place
let base = ''
let head = ''
let summaries: Summaries
let map: CodeMap
beforeAll(async () => {
  place = await makePlace()
  base = await commit(place.path, 'main', FILES)
  const changed = `${FILES['src/tide.ts']}`.replace("throw new Error('Nothing was measured there.')", 'return 0')
  head = await commit(place.path, 'main', { ...FILES, 'src/tide.ts': changed })
  summaries = openSummaries(place.objects, { folder: place.folder })
  map = openCodeMap(place.objects, { folder: place.folder })
})
afterAll(async () => {
  summaries[Symbol.dispose]()
  map[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

async function stepRequest(kind: StepInput['kind'], task = 'tide'): Promise<Request> {
  const { objects } = place
  const store = new RunStore(objects, '20261123-bytes-abcd')
  const wish = await store.put('wish', WISH)
  const plan = await store.putJson('plan', PLAN)
  const input: StepInput = {
    ...{ run: store.run, attempt: 1, step: kind, kind, tier: 'generation', choice: 0, depth: 0 },
    base: kind === 'review' ? head : base,
    about: kind === 'plan' ? [wish] : [plan],
    ...(kind !== 'plan' && { task }),
  }
  const sources = {
    objects,
    store,
    model: { name: 'openai/x', window: 200_000, thinking: 'low' as const },
    secrets: [],
    summaries,
    map,
  }
  const { bytes } = await buildRequest(input, { ...sources, ...(kind === 'review' && { from: base }) })
  return JSON.parse(bytes).request
}

async function chatRequest(): Promise<Request> {
  const { objects } = place
  const tools = builtInTools().map(({ description }) => description)
  const tree = (await objects.info(`${base}^{tree}`))?.oid ?? ''
  const state = { objects, summaries, model: { name: 'openai/x', window: 200_000 }, tools, branch: 'main', tree, base }
  const signal = new AbortController().signal
  const session = await prepareSession(newSession(), { ...state, text: WISH, signal }, 0)
  return await requestFor(
    withUser(session, { turn: 'turn-1', at: 0, text: WISH }, text => text),
    state,
  )
}

const REQUESTS: Record<string, () => Promise<Request>> = {
  plan: () => stepRequest('plan'),
  outline: () => stepRequest('outline'),
  implement: () => stepRequest('implement'),
  'implement, of a long text': () => stepRequest('implement', 'changelog'),
  review: () => stepRequest('review'),
  'first message of a chat': chatRequest,
}

test.each(Object.keys(REQUESTS))('a request takes no more bytes than before: %s', async kind => {
  const most = MOST[kind] ?? {}
  const now = bytesByPart(partsOf((await REQUESTS[kind]?.()) as Request))
  const grown = Object.entries(now).flatMap(([part, bytes]) =>
    bytes > (most[part] ?? 0) + TOLERANCE ? [`${part}: from ${most[part] ?? 0} to ${bytes} bytes`] : [],
  )
  expect({ grown, now: grown.length > 0 ? now : {} }).toEqual({ grown: [], now: {} })
})
