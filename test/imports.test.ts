/**
 * The floors of the house: which folder may import from which. Imports run downwards only, imports of types included,
 * which Biome's own rule does not see. docs/architecture.md explains the floors; this table is what holds them.
 */
import { expect, test } from 'bun:test'
import { dirname, join, normalize } from 'node:path'

const ROOT = join(import.meta.dir, '..')

/** What all of the desk's server stands on. */
const GROUND = ['core', 'core/git', 'core/formats', 'forge', 'forge/ai', 'forge/formats']
/** The rooms of the desk's server, from the ground up: each may import those before it. */
const DESK_ROOMS = [
  ...['contract', 'refs.ts', 'not-fetched.ts', 'server', 'reading', 'branches', 'graph', 'conflicts', 'steps'],
  ...['merging', 'chat', 'forklift', 'tasks'],
].map(name => `forge/desk/${name}`)

/**
 * The rooms of the page, from the ground up, each with the features that it may import besides: what has no subject,
 * the text of a file, what a window knows, the features, and `app`, which puts them together.
 */
const PAGE_GROUND = ['forge/desk/contract', 'forge/desk/web/ui']
const FEATURES = [...PAGE_GROUND, 'forge/desk/web/editor', 'forge/desk/web/page']
const PAGE_ROOMS: Record<string, readonly string[]> = {
  ui: ['forge/desk/contract', 'forge/desk/server'],
  editor: PAGE_GROUND,
  page: [...PAGE_GROUND, 'forge/desk/web/editor'],
  merging: FEATURES,
  review: [...FEATURES, 'forge/desk/web/merging'],
  chat: [...FEATURES, 'forge/desk/web/review'],
  files: [...FEATURES, 'forge/desk/web/merging', 'forge/desk/web/review', 'forge/desk/web/chat'],
  forklift: [...FEATURES, 'forge/desk/web/chat'],
  graph: [...FEATURES, 'forge/desk/web/merging', 'forge/desk/web/review', 'forge/desk/web/forklift'],
  tasks: [...FEATURES, 'forge/desk/web/review', 'forge/desk/web/graph'],
}
const pageRooms = Object.entries(PAGE_ROOMS).map(([room, floors]) => [`forge/desk/web/${room}`, floors] as const)
const deskRooms = DESK_ROOMS.map((room, at) => [room, [...GROUND, ...DESK_ROOMS.slice(0, at)]] as const)

/**
 * A folder (or a file) and what its files may import besides their own folder. The longest path that fits a file is
 * its row; a row below it is not part of it.
 */
const FLOORS: Record<string, readonly string[]> = {
  'core/git': ['core'],
  core: ['core/git'],
  'core/formats': ['core', 'core/git'],
  'harness/agents': ['core'],
  forklift: ['harness/agents', 'core', 'core/git', 'core/formats'],
  'forklift.ts': ['forklift', 'harness/agents', 'core', 'core/git', 'core/formats'],
  'forge/ai': ['forge', 'core', 'core/git'],
  'forge/formats': ['core/formats'],
  ...Object.fromEntries(deskRooms),
  // The page knows nothing of the server but the contract, and how a window shows that it may come in.
  ...Object.fromEntries(pageRooms),
  'forge/desk/web/app': [...FEATURES, ...pageRooms.map(([room]) => room)],
  // Each file of the page is in a room.
  'forge/desk/web': [],
  // desk.ts and work.ts put the rooms together.
  'forge/desk': [...GROUND, ...DESK_ROOMS],
  'forge/tasks': [
    'forge/tasks/flows',
    'forge/tasks/run',
    'forge/tasks/contract.ts',
    'forge',
    'forge/ai',
    'forge/formats',
    'core',
    'core/git',
    'core/formats',
  ],
  'forge/tasks/flows': ['forge/tasks/run', 'forge/tasks/contract.ts'],
  'forge/tasks/run': ['forge/tasks/contract.ts'],
  'forge/tasks/contract.ts': ['forge/formats'],
  forge: ['core', 'core/git'],
  'forge.ts': ['forge', 'forge/desk', ...DESK_ROOMS, 'forge/tasks', 'forge/ai', 'core', 'core/git'],
}

/** Packages that a room must not use: core/git runs git itself, without a shell. */
const WITHOUT: Record<string, string[]> = { 'core/git': ['zx'] }

/** A room that may use these packages alone: a workflow is replayed, so each effect of it is an activity. */
const NOTHING_BUT: Record<string, string[]> = {
  'forge/tasks/flows': ['@temporalio/workflow'],
  'forge/tasks/run': [],
}

/** An import or export as the formatter writes it, or a dynamic import. A transpiler's list lacks those of types. */
const IMPORT = /^(?:import|export)\s(?:[^'"]*?\sfrom\s)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm

/** From a file, what it imports: a file of ours, by its path from the root, or a package by its name. */
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

/** Whether a file is a path or lies in it. */
function isIn(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`)
}

/** The row of a file: the longest path of the table that it lies in. */
function floorOf(file: string): string | undefined {
  return Object.keys(FLOORS)
    .filter(path => isIn(file, path))
    .sort((a, b) => b.length - a.length)[0]
}

test('imports run downwards only, those of types too', () => {
  const wrong = imports.filter(({ from, to }) => {
    const floor = floorOf(from)
    const room = floorOf(to)
    if (!floor || !room || room === floor) return false
    return !FLOORS[floor]?.some(allowed => to === allowed || room === allowed)
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

test('no file imports itself by way of others, imports of types included', () => {
  expect(circlesIn(imports)).toEqual([])
})

test('a room uses the packages that it may', () => {
  const packages = imports.filter(({ to }) => !/\.(ts|tsx|json)$/.test(to))
  const wrong = packages.filter(({ from, to }) => {
    const floor = floorOf(from) ?? ''
    const allowed = NOTHING_BUT[floor]
    return WITHOUT[floor]?.includes(to) || (allowed && !allowed.includes(to))
  })
  expect(wrong.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
})

/** Files that lead to each other by their imports: each circle once, in the order of its imports. */
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
