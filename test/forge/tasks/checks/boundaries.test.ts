/** Boundaries of a task against edits of every kind, by the diff of real commits. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { diffTrees } from '../../../../core/git/diffs.ts'
import { findViolations } from '../../../../forge/tasks/checks/boundaries.ts'
import { commit, type Files } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

let place: Place
beforeEach(async () => {
  place = await makePlace()
})
afterEach(() => place[Symbol.asyncDispose]())

const BASE: Files = {
  'src/a.ts': 'a\n',
  'src/deep/b.ts': 'b\n',
  'docs/readme.md': 'c\n',
  'run.sh': { mode: '100755', content: 'x\n' },
  link: { mode: '120000', content: 'src/a.ts' },
}

async function violations(change: Files, write: string[], never: string[] = []): Promise<string[]> {
  const base = await commit(place.path, 'main', BASE)
  const head = await commit(place.path, 'work', change, { parents: [base] })
  return findViolations(await diffTrees(place.repository, base, head), { write, never })
}

test('what is changed, added and deleted inside is fine, by globs, folders and names', async () => {
  const change = { 'src/a.ts': 'x', 'src/new.ts': 'x', 'src/deep/b.ts': null, 'docs/readme.md': 'x' }
  expect(await violations(change, ['src/**', 'docs/'])).toEqual([])
  expect(await violations(change, ['src/', './docs/readme.md'])).toEqual([])
  expect(await violations({ 'src/deep/b.ts': 'x' }, ['src/**/*.ts'])).toEqual([])
})

test('without boundaries everything may be written but what must never be touched', async () => {
  expect(await violations({ 'anything.txt': 'x' }, [])).toEqual([])
  expect(await violations({ 'src/a.ts': 'x' }, [], ['src/**'])).toEqual([
    'src/a.ts is among what the task must never touch',
  ])
})

test('a file that is changed, added, deleted or moved outside is told', async () => {
  expect(await violations({ 'docs/readme.md': 'x' }, ['src/**'])).toEqual([
    'docs/readme.md is outside of what the task may write',
  ])
  expect(await violations({ 'src/a.ts': null, 'lib/a.ts': 'a\n' }, ['src/**'])).toEqual([
    'lib/a.ts is outside of what the task may write',
  ])
  expect(await violations({ 'docs/readme.md': null }, ['src/*'])).toHaveLength(1)
  expect(await violations({ 'src/deep/b.ts': 'x' }, ['src/*.ts'])).toHaveLength(1)
})

test('what must never be touched goes before what may be written', async () => {
  expect(await violations({ 'src/deep/b.ts': 'x' }, ['src/**'], ['src/deep/'])).toEqual([
    'src/deep/b.ts is among what the task must never touch',
  ])
})

test('links, modes, and files of git, CI, agents and package managers need their own names', async () => {
  const kinds: [Files, string][] = [
    [
      { 'src/l': { mode: '120000', content: '/etc/passwd' } },
      'src/l became a link, and is not named in the boundaries',
    ],
    [{ 'src/a.ts': { mode: '120000', content: 'b' } }, 'src/a.ts became a link, and is not named in the boundaries'],
    [{ link: 'now a file' }, 'link is a link or a submodule, and is not named in the boundaries'],
    [{ 'src/a.ts': { mode: '100755', content: 'a\n' } }, 'src/a.ts changed its mode (100644 to 100755)'],
    [{ 'run.sh': 'x\n' }, 'run.sh changed its mode (100755 to 100644)'],
    [{ '.gitattributes': '* -text\n' }, '.gitattributes tells git what to do'],
    [{ 'src/.gitmodules': 'x' }, 'src/.gitmodules tells git what to do'],
    [{ '.github/workflows/x.yml': 'x' }, '.github/workflows/x.yml steers CI'],
    [{ Jenkinsfile: 'x' }, 'Jenkinsfile steers CI'],
    [{ 'AGENTS.md': 'x' }, 'AGENTS.md steers agents or editors'],
    [{ '.vscode/tasks.json': 'x' }, '.vscode/tasks.json steers agents or editors'],
    [{ '.npmrc': 'x' }, '.npmrc steers what packages are installed and run'],
    [{ 'deep/bunfig.toml': 'x' }, 'deep/bunfig.toml steers what packages are installed and run'],
    [{ '.yarnrc.yml': 'x' }, '.yarnrc.yml steers what packages are installed and run'],
    [{ '.yarn/releases/yarn.cjs': 'x' }, 'yarn.cjs steers what packages are installed and run'],
    [{ 'FORGE.md': 'x' }, 'FORGE.md lists the checks of this repository'],
    [{ 'bun.lock': 'x' }, 'bun.lock is a lock file'],
    [{ 'deep/package-lock.json': 'x' }, 'deep/package-lock.json is a lock file'],
  ]
  for (const [change, words] of kinds) {
    const [path = ''] = Object.keys(change)
    expect(await violations(change, ['**'])).toEqual([expect.stringContaining(words)])
    expect(await violations(change, [path])).toEqual([])
  }
})

test('a submodule is told', async () => {
  const base = await commit(place.path, 'main', BASE)
  const input = `100644 blob ${await place.git('rev-parse', `${base}:src/a.ts`)}\ta.ts\n160000 commit ${base}\tsub\n`
  const { gitWith } = await import('../../../support/git.ts')
  const tree = await gitWith(place.path, ['mktree'], input)
  const head = await gitWith(place.path, ['commit-tree', tree, '-p', base, '-m', 'x'], undefined, {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  })
  const found = findViolations(await diffTrees(place.repository, base, head), { write: ['**'], never: [] })
  expect(found.filter(it => it.startsWith('sub'))).toEqual([
    'sub became a submodule, and is not named in the boundaries',
  ])
})

test('names that have marks that turn their direction are told so that they can be read', async () => {
  const change = { 'a\u202eb': 'x' }
  expect(await violations(change, ['src/**'])).toEqual(['a\\u202eb is outside of what the task may write'])
})
