/** What the types of the contract reject: checked by the compiler. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeFolder } from '../../support/repository.ts'

const ROOT = join(import.meta.dir, '../../..')
const CONTRACT = join(ROOT, 'forge/desk/contract')

const HEAD = `
import type { Answer, Fields, QuestionName } from '${CONTRACT}/contract.ts'
import type { Handlers } from '${CONTRACT}/question.ts'
import type { branchQuestions } from '${CONTRACT}/branches.ts'
import type { mergingQuestions } from '${CONTRACT}/merging.ts'
declare function ask<Name extends QuestionName>(name: Name, fields: Fields<Name>): Promise<Answer<Name>>
declare const done: { words: string }
declare const conflict: Answer<'conflict'>
const handlers: Handlers<typeof mergingQuestions, undefined> = {
  merging: () => null,
  conflict: async () => conflict,
  'take side': async () => ({ words: 'Resolved a.png in main by theirs.' }),
  'take conflicts': async () => done,
  'keep merging message': async ({ message }) => ({ message }),
  'finish merging': async () => done,
  'update merging': () => done,
  'changes by hand': () => [],
  'abort merging': () => done,
}
`

const RIGHT = {
  'a field that may be null': "await ask('set upstream', { branch: 'main', upstream: null })\nexport {}",
  handlers: 'export const all = handlers',
  ask: "export const commit: string | undefined = (await ask('save', { branch: 'main', paths: 'all' })).commit",
}

/** Lines of code that the compiler must reject, each by itself. */
const WRONG = {
  'a reply of another type': "export const all: typeof handlers = { ...handlers, 'abort merging': () => 7 }",
  'a reply that lacks a field':
    "export const all: typeof handlers = { ...handlers, 'abort merging': async () => ({}) }",
  'a reply where nothing is to be said':
    "export const one: Pick<Handlers<typeof branchQuestions, undefined>, 'follow again'> = { 'follow again': async () => 7 }",
  'a handler of no question': 'export const all: typeof handlers = { ...handlers, nosuch: () => undefined }',
  'a question without a handler':
    'const { merging, ...rest } = handlers\nexport const all: typeof handlers = rest\nexport { merging }',
  'a field that a question does not have':
    "export const all: typeof handlers = { ...handlers, 'abort merging': ({ nosuch }) => ({ words: nosuch }) }",
  'no such question': "await ask('nosuch', {})",
  'a question without its fields': "await ask('save', { branch: 'main' })",
  'a field of another type': "await ask('save', { branch: 7, paths: 'all' })",
  'a field that is left out': "await ask('set upstream', { branch: 'main' })",
  'what a reply does not have': "export const { nosuch } = await ask('save', { branch: 'main', paths: 'all' })",
}

test('a wrong handler, reply or question does not compile', async () => {
  await using folder = await makeFolder()
  const cases = Object.entries({ ...RIGHT, ...WRONG })
  const nameOf = (what: string) => `${what.replaceAll(' ', '-')}.ts`
  for (const [what, source] of cases) await Bun.write(join(folder.path, nameOf(what)), `${HEAD}${source}\n`)
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { types: [], noUnusedLocals: false },
    files: cases.map(([what]) => nameOf(what)),
    include: [],
    exclude: [],
  }
  await Bun.write(join(folder.path, 'tsconfig.json'), JSON.stringify(config))
  const tsc = Bun.spawn([join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '-p', folder.path], { cwd: folder.path })
  const said = await new Response(tsc.stdout).text()
  const refused = [...said.matchAll(/^(?:.*\/)?([^/\n]+\.ts)\(\d+,\d+\): error/gm)].map(([, file]) => file)
  expect([...new Set(refused)].sort()).toEqual(Object.keys(WRONG).map(nameOf).sort())
}, 60_000)
