/** The programs that checks can use, as given to linter and planner, with a stand-in for docker. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { checksInWords, programsOf } from '../../../../forge/tasks/checks/programs.ts'
import { readyMadeIn } from '../../../../forge/tasks/checks/ready-made.ts'
import { commit } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const { PATH, FORKLIFT_TEST_DOCKER, FORKLIFT_TEST_FAULT } = process.env
let place: Place
let state: string

const ask = () => programsOf(state, new AbortController().signal)
const runs = async () => {
  const calls = join(place.folder, 'engine/calls')
  const names = await readdir(calls).catch(() => [])
  const texts = await Promise.all(names.map(name => Bun.file(join(calls, name)).text()))
  return texts.filter(text => /^run\b/.test(text)).length
}

beforeEach(async () => {
  place = await makePlace()
  state = join(place.folder, 'state')
  await mkdir(state)
  process.env.PATH = `${join(import.meta.dir, '../../../stand-ins')}:${PATH}`
  process.env.FORKLIFT_TEST_DOCKER = join(place.folder, 'engine')
  delete process.env.FORKLIFT_TEST_FAULT
})
afterEach(async () => {
  await place[Symbol.asyncDispose]()
  const before = { PATH, FORKLIFT_TEST_DOCKER, FORKLIFT_TEST_FAULT }
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
})

test('the programs of the image are asked for once, and known from then on', async () => {
  const programs = await ask()
  expect(['git', 'cat', '['].filter(name => !programs?.has(name))).toEqual([])
  expect(programs?.has('no-such-program')).toBe(false)
  expect(programs?.get('git')).toMatch(/^\d+\.\d+/)
  expect(programs?.get('cat')).toBe('')
  expect(await runs()).toBe(1)
  expect(await ask()).toEqual(programs)
  expect(await runs()).toBe(1)
  // Only the list of programs is left in the state folder.
  expect(await readdir(state)).toEqual(['programs.json'])
})

test('another image is asked again', async () => {
  await ask()
  const path = join(state, 'programs.json')
  await Bun.write(path, JSON.stringify({ ...(await Bun.file(path).json()), image: 'sha256:other' }))
  expect((await ask())?.has('git')).toBe(true)
  expect(await runs()).toBe(2)
})

test.each(['down', 'no-image', 'rootless', 'refuses'])('nothing is known where the engine is %s', async fault => {
  process.env.FORKLIFT_TEST_FAULT = fault
  expect(await ask()).toBeUndefined()
})

test('a ready-made check fits where the repository has something for it, or a task makes it', async () => {
  const texts = ['citations', 'complete', 'format']
  const base = await commit(place.path, 'main', { 'go.mod': 'module x\n', 'README.md': 'x\n' })
  const fitting = async (...made: string[]) => [...(await readyMadeIn(place.objects, base, made))].map(String).sort()
  expect(await fitting()).toEqual([...texts, 'tests'].sort())
  expect(await fitting('tools/count.py')).toEqual([...texts, 'python', 'tests'].sort())
  expect(await fitting('src/main.ts')).toEqual([...texts, 'tests', 'typescript'].sort())
  expect(await fitting('tsconfig.json', 'src/main.ts')).toEqual([...texts, 'tests', 'typescript'].sort())
})

test('one that would run nothing fits nowhere', async () => {
  const base = await commit(place.path, 'main', { 'main.ts': '' })
  expect((await readyMadeIn(place.objects, base, [])).has('typescript')).toBe(false)
  expect((await readyMadeIn(place.objects, base, ['tsconfig.json'])).has('typescript')).toBe(true)
})

test('the planner hears in short what there is, and the same words each time', async () => {
  const forge = '# Checks\n- `make lint`\n'
  const base = await commit(place.path, 'main', { 'FORGE.md': forge, 'Cargo.toml': '' })
  const names = ['make', 'gawk', ...Array.from({ length: 2000 }, (_, at) => `p${at}`)]
  const programs = new Map([...names.map(name => [name, ''] as const), ['bun', '1.4.5'], ['python3', '3.12.1']])
  const words = await checksInWords(place.objects, base, { programs, hasNetwork: false })
  expect(words).toBe(`Commands run by bash, in the top folder of the repository, in a container without any network.
Programs of it by which to decide; of these kinds it has no others:
- Languages: bun 1.4.5, python3 3.12.1
- Package managers: none
- Test runners: none
- Compilers, linters and formatters: none
- Other tools: make
FORGE.md lists these, which are run for every task and need not be asked for:
- make lint
Ready-made checks, to be named in a task:
- citations: links of Markdown lead to files that are there, and notes are both said and cited
- complete: nothing is empty or left to be filled in, and no heading stands above nothing
- format: JSON, YAML and TOML can be read, fences of Markdown are closed, levels of headings are not skipped`)
  const bare = await commit(place.path, 'bare', { 'Cargo.toml': '' })
  expect(await checksInWords(place.objects, bare, { programs, hasNetwork: false })).toContain(
    '- tests: cargo test --quiet',
  )
  const unknown = await checksInWords(place.objects, base, { hasNetwork: true })
  expect(unknown).toContain('in a container with a network')
  expect(unknown).toContain('Which programs it has is not known.')
})
