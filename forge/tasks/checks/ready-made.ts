/**
 * Ready-made checks, which a plan asks for by name. Their commands depend on the repository's files. A complaint of a
 * check counts only if the check does not make it on the base commit already.
 */
import { type Objects, readStart } from '../../../core/git/objects.ts'
import { asBytes, type Oid, type Path } from '../../../core/git/repository.ts'
import { listFiles, readTree } from '../../../core/git/trees.ts'
import { READY_MADE } from '../plan/schema.ts'

/** The ready-made checks that run commands; the checks of texts are in texts.ts. */
export type ReadyMade = 'typescript' | 'python' | 'tests'

/** `mend`: commands that may change files before the checks run. */
type ReadyMadeCommands = { checks: string[]; mend: string[] }

const MAX_MANIFEST_BYTES = 1 << 20

/** The commands of a ready-made check for the repository's files at a commit; none where the check does not fit. */
export async function readyMade(objects: Objects, commit: Oid, name: ReadyMade): Promise<ReadyMadeCommands> {
  const top = await readTop(objects, commit)
  switch (name) {
    case 'typescript':
      return typescript(top)
    case 'python':
      return python(top)
    case 'tests':
      return { checks: [...tests(top)], mend: [] }
  }
}

/**
 * Files that make a check fit a repository, even where a task is about to create them: by name, or by the end of the
 * name.
 */
const MARKERS: Record<ReadyMade, { names: readonly string[]; ends: readonly string[] }> = {
  typescript: {
    names: ['package.json', 'tsconfig.json', 'biome.json', 'biome.jsonc'],
    ends: ['.ts', '.tsx', '.mts', '.cts'],
  },
  python: { names: ['pyproject.toml', 'setup.py', 'setup.cfg', 'pytest.ini', 'tox.ini', 'mypy.ini'], ends: ['.py'] },
  tests: {
    names: ['package.json', 'bun.lock', 'bunfig.toml', 'pyproject.toml', 'setup.py', 'Cargo.toml', 'go.mod'],
    ends: [],
  },
}

/** At most this many files are listed; in a repository with more, each ready-made check counts as fitting. */
const MAX_FILES = 200_000

/**
 * The ready-made checks that fit a repository at a commit. `made`: paths that tasks are going to create. Checks of
 * texts always fit.
 */
export async function readyMadeIn(
  objects: Objects,
  commit: Oid,
  made: readonly string[],
): Promise<Set<(typeof READY_MADE)[number]>> {
  const { files, cut } = await listFiles(objects, commit, { limit: MAX_FILES })
  const paths = new Set([...files.map(({ path }) => path), ...made.map(asBytes)])
  const fitting = new Set<(typeof READY_MADE)[number]>()
  for (const name of READY_MADE) {
    if (cut || !isOfCommands(name)) {
      fitting.add(name)
      continue
    }
    const { names, ends } = MARKERS[name]
    const isMade = made.some(path => names.includes(path))
    const isThere =
      name === 'tests' ||
      names.some(it => paths.has(it)) ||
      [...paths].some(path => ends.some(end => path.endsWith(end)))
    // A ready-made check for which this repository has no commands could not fail, so it does not fit.
    if (isMade || (isThere && (await readyMade(objects, commit, name)).checks.length > 0)) fitting.add(name)
  }
  return fitting
}

const isOfCommands = (name: string): name is ReadyMade => name in MARKERS

/** The files in the root folder, and the scripts and packages of package.json. */
type Top = { names: ReadonlySet<Path>; scripts: Record<string, unknown>; packages: ReadonlySet<string> }

async function readTop(objects: Objects, commit: Oid): Promise<Top> {
  const entries = await readTree(objects, commit)
  const names = new Set(entries.map(({ name }) => name))
  const manifest = entries.find(({ name, mode }) => name === 'package.json' && mode.startsWith('100'))
  const text = manifest ? (await readStart(objects.repository, manifest.oid, MAX_MANIFEST_BYTES)).toString() : '{}'
  const { scripts, dependencies, devDependencies } = parseManifest(text)
  return { names, scripts, packages: new Set([...Object.keys(dependencies), ...Object.keys(devDependencies)]) }
}

function parseManifest(text: string): Record<'scripts' | 'dependencies' | 'devDependencies', Record<string, unknown>> {
  const none = { scripts: {}, dependencies: {}, devDependencies: {} }
  try {
    const manifest = JSON.parse(text)
    const part = (name: keyof typeof none) => (typeof manifest?.[name] === 'object' && manifest[name]) || {}
    return { scripts: part('scripts'), dependencies: part('dependencies'), devDependencies: part('devDependencies') }
  } catch {
    // An invalid manifest is ignored here; the repository's own tools report it.
    return none
  }
}

/** A command with a program of the repository's packages, or of the image. */
const local = (name: string, args: string): string =>
  `if [ -x node_modules/.bin/${name} ]; then node_modules/.bin/${name} ${args}; else ${name} ${args}; fi`

function typescript(top: Top): ReadyMadeCommands {
  const { names, packages } = top
  const hasBiome = names.has('biome.json') || names.has('biome.jsonc')
  const hasEslint = packages.has('eslint')
  const checks = [
    ...(names.has('tsconfig.json') ? [local('tsc', '--noEmit -p . --pretty false')] : []),
    ...(hasBiome ? [local('biome', 'ci --colors=off .')] : []),
    ...(hasEslint ? [local('eslint', '--no-color --format unix .')] : []),
    ...tests(top).filter(command => !/pytest/.test(command)),
  ]
  const mend = [
    ...(hasBiome ? [local('biome', 'check --write --colors=off .')] : []),
    ...(packages.has('prettier') ? [local('prettier', '--write --log-level=warn .')] : []),
    ...(hasEslint ? [local('eslint', '--fix --no-color .')] : []),
  ]
  return { checks, mend }
}

const python = ({ names }: Top): ReadyMadeCommands => ({
  checks: [
    'python3 -m compileall -q .',
    'if command -v ruff >/dev/null; then ruff check --output-format concise .; fi',
    ...(names.has('mypy.ini') ? ['if command -v mypy >/dev/null; then mypy --no-color-output .; fi'] : []),
    ...(isPythonProject(names) ? [PYTEST] : []),
  ],
  mend: ['if command -v ruff >/dev/null; then ruff check --fix --quiet . ; ruff format --quiet .; fi'],
})

const isPythonProject = (names: ReadonlySet<Path>): boolean =>
  ['pyproject.toml', 'setup.py', 'setup.cfg', 'pytest.ini', 'tox.ini', 'tests'].some(name => names.has(name))

const PYTEST = 'if python3 -c "import pytest" 2>/dev/null; then python3 -m pytest -q; else python3 -m unittest -q; fi'

function tests({ names, scripts }: Top): string[] {
  const hasScript = typeof scripts.test === 'string' && !/no test specified/.test(scripts.test)
  const isBuns = names.has('bun.lock') || names.has('bun.lockb') || names.has('bunfig.toml')
  return [
    ...(hasScript ? [isBuns ? 'bun run test' : 'npm test --silent'] : isBuns ? ['bun test'] : []),
    ...(isPythonProject(names) && !names.has('package.json') ? [PYTEST] : []),
    ...(names.has('Cargo.toml') ? ['cargo test --quiet'] : []),
    ...(names.has('go.mod') ? ['go test ./...'] : []),
  ]
}
