/**
 * Which folder may import from which. Imports run downwards only, including imports of types, which Biome's own rule
 * does not check. docs/architecture.md explains the layers; this table enforces them.
 */
import { expect, test } from 'bun:test'
import { dirname, join, normalize } from 'node:path'

const ROOT = join(import.meta.dir, '..')

/** Folders that all folders of the desk's server may import. */
const GROUND = [
  'core',
  'core/git',
  'core/formats',
  'forge',
  'forge/code',
  'forge/ai',
  'forge/formats',
  'forge/taken-over',
  'forge/language',
]
/** The folders of the desk's server, from the lowest layer up: each may import those before it. */
const DESK_ROOMS = [
  ...[
    'contract',
    'refs.ts',
    'not-fetched.ts',
    'server',
    'reading',
    'code',
    'branches',
    'language',
    'graph',
    'conflicts',
    'steps',
  ],
  ...['merging', 'chat', 'forklift', 'tasks'],
].map(name => `forge/desk/${name}`)

/**
 * The folders of the page, from the lowest layer up, each with other features that it may import: general components,
 * the text of a file, the state of a window, the features, and `app`, which puts them together.
 */
const PAGE_GROUND = ['forge/desk/contract', 'forge/desk/web/ui']
const FEATURES = [...PAGE_GROUND, 'forge/desk/web/editor', 'forge/desk/web/page']
const PAGE_ROOMS: Record<string, readonly string[]> = {
  ui: ['forge/desk/contract', 'forge/desk/server'],
  editor: PAGE_GROUND,
  page: [...PAGE_GROUND, 'forge/desk/web/editor'],
  merging: FEATURES,
  steps: [...FEATURES, 'forge/desk/web/merging'],
  review: [...FEATURES, 'forge/desk/web/merging', 'forge/desk/web/steps'],
  chat: [...FEATURES, 'forge/desk/web/review'],
  preview: [...FEATURES, 'forge/desk/web/chat'],
  files: [...FEATURES, ...['merging', 'review', 'chat', 'preview'].map(room => `forge/desk/web/${room}`)],
  forklift: [...FEATURES, 'forge/desk/web/chat'],
  graph: [...FEATURES, ...['merging', 'steps', 'review', 'forklift'].map(room => `forge/desk/web/${room}`)],
  tasks: [...FEATURES, ...['steps', 'review', 'graph'].map(room => `forge/desk/web/${room}`)],
}
const pageRooms = Object.entries(PAGE_ROOMS).map(([room, floors]) => [`forge/desk/web/${room}`, floors] as const)
const deskRooms = DESK_ROOMS.map((room, at) => [room, [...GROUND, ...DESK_ROOMS.slice(0, at)]] as const)

/**
 * A folder or file, and what its files may import besides their own folder. The row with the longest matching path
 * applies to a file; a folder with a row of its own is not part of its parent's row.
 */
const FLOORS: Record<string, readonly string[]> = {
  'core/git': ['core'],
  core: ['core/git'],
  'core/formats': ['core', 'core/git'],
  'harness/agents': ['core'],
  forklift: ['harness/agents', 'core', 'core/git', 'core/formats'],
  'forklift.ts': ['forklift', 'harness/agents', 'core', 'core/git', 'core/formats'],
  'forge/code': ['forge', 'core', 'core/git'],
  'forge/ai': ['forge', 'forge/code', 'core', 'core/git'],
  'forge/language': ['forge', 'forge/ai', 'core', 'core/git'],
  'forge/formats': ['core/formats'],
  // What the agent of a run of Forklift left behind, taken over by the desk and by the tasks.
  'forge/taken-over': ['forge', 'core', 'core/git', 'core/formats'],
  ...Object.fromEntries(deskRooms),
  // The page knows of the server only the contract, and how a window proves its access.
  ...Object.fromEntries(pageRooms),
  'forge/desk/web/app': [...FEATURES, ...pageRooms.map(([room]) => room)],
  // Every file of the page is in one of the folders above, so nothing lies beside them.
  'forge/desk/web': [],
  // desk.ts and work.ts put the folders of the server together.
  'forge/desk': [...GROUND, ...DESK_ROOMS],
  'forge/tasks': [
    'forge/tasks/flows',
    'forge/tasks/run',
    'forge/tasks/contract.ts',
    'forge',
    'forge/code',
    'forge/ai',
    'forge/formats',
    'forge/taken-over',
    'core',
    'core/git',
    'core/formats',
  ],
  'forge/tasks/flows': ['forge/tasks/run', 'forge/tasks/contract.ts'],
  'forge/tasks/run': ['forge/tasks/contract.ts'],
  'forge/tasks/contract.ts': ['forge/formats'],
  forge: ['core', 'core/git'],
  'forge.ts': ['forge', 'forge/code', 'forge/desk', ...DESK_ROOMS, 'forge/tasks', 'forge/ai', 'core', 'core/git'],
}

/** Packages that a folder must not use: core/git runs git itself, without zx. */
const WITHOUT: Record<string, string[]> = { 'core/git': ['zx'] }

/** Folders that may only use these packages: a workflow is replayed, so each of its effects must be an activity. */
const NOTHING_BUT: Record<string, string[]> = {
  'forge/tasks/flows': ['@temporalio/workflow'],
  'forge/tasks/run': [],
}

/**
 * An import or export as the formatter writes it, or a dynamic import. Bun's transpiler would leave out imports of
 * types.
 */
const IMPORT = /^(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm

/** An import of a file: a file of ours (its path from the root) or a package (its name). */
interface Import {
  from: string
  to: string
}

const files = (await Bun.$`git ls-files ${'*.ts'} ${'*.tsx'}`.cwd(ROOT).text()).trim().split('\n')
const imports: Import[] = []
for (const from of files) {
  const source = await Bun.file(join(ROOT, from)).text()
  for (const [, written, dynamic] of source.matchAll(IMPORT)) {
    const specifier = written ?? dynamic ?? ''
    const to = specifier.startsWith('.') ? normalize(join(dirname(from), specifier)) : packageOf(specifier)
    imports.push({ from, to })
  }
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

/** Whether a file is at a path or below it. */
function isIn(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`)
}

/** The row of the table for a file: the longest path that contains it. */
function floorOf(file: string): string | undefined {
  return Object.keys(FLOORS)
    .filter(path => isIn(file, path))
    .sort((a, b) => b.length - a.length)[0]
}

test('imports run downwards only, including imports of types', () => {
  const wrong = imports.filter(({ from, to }) => {
    const floor = floorOf(from)
    const room = floorOf(to)
    if (!floor || !room || room === floor) return false
    return !FLOORS[floor]?.some(allowed => to === allowed || room === allowed)
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('there are no circles of imports, including imports of types', () => {
  expect(circlesIn(imports)).toEqual([])
})

test('a room uses only the packages that it may use', () => {
  const packages = imports.filter(({ to }) => !/\.(ts|tsx|json)$/.test(to))
  const wrong = packages.filter(({ from, to }) => {
    const floor = floorOf(from) ?? ''
    const allowed = NOTHING_BUT[floor]
    return WITHOUT[floor]?.includes(to) || (allowed && !allowed.includes(to))
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

/** Circles of imports, each once, in the order of the imports. */
function circlesIn(all: readonly Import[]): string[] {
  const next = Map.groupBy(all, ({ from }) => from)
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at >= 0) circles.push([...path.slice(at), file].join(' > '))
    if (at >= 0 || done.has(file)) return
    for (const { to } of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return circles
}
