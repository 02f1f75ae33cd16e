/** Language servers in the real container: what they find in a branch, and what they can't reach. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { Answer } from '../../forge/desk/contract/contract.ts'
import type { Problem, TextPosition } from '../../forge/desk/contract/language.ts'
import { hasBrowser, openBrowser } from '../support/browser.ts'
import { builtPage } from '../support/built-page.ts'
import { bare, commit } from '../support/git.ts'
import { PageDesk, tabOf } from '../support/page-desk.ts'
import { makeFolder, until } from '../support/repository.ts'
import { openTestDesk, type TestDesk, type TestWindow } from '../support/served.ts'
import { docker, IMAGE } from './box.ts'

setDefaultTimeout(240_000)

const FILES = {
  'tsconfig.json': '{ "compilerOptions": { "strict": true, "noEmit": true } }\n',
  'src/lease.ts': 'export function lease(seconds: number): string {\n  return String(seconds)\n}\n',
  'src/use.ts': "import { lease } from './lease'\n\nexport const label: number = lease(3)\n",
  // A name that is not imported, and one that is not exported.
  'src/unimported.ts': 'export const term = lease(3)\n',
  'src/closed.ts': 'const closed = 1\nexport const open = closed\n',
  'src/unexported.ts': "import { closed } from './closed'\nexport const one = closed\n",
  'one.py': 'def double(number: int) -> int:\n    return number * 2\n\n\ndouble("a")\n',
  'run.sh': '#!/bin/bash\nif [ $1 = a ]; then echo a; fi\n',
  'main.cpp': 'int main() {\n  int count = "a";\n  return count;\n}\n',
  // A function and its use in another file, for each of the other servers.
  'term.py': 'def term(seconds: int) -> str:\n    return str(seconds)\n',
  'use_term.py': 'from term import term\n\nterm(3)\n',
  'term.sh': '#!/bin/bash\nterm() {\n  echo "$1"\n}\n',
  'use-term.sh': '#!/bin/bash\n# shellcheck source=term.sh\nsource ./term.sh\nterm    3\n',
  'term.h': 'int term(int seconds);\n',
  'term.cpp': '#include "term.h"\nint term(int seconds) { return seconds; }\n',
  'use-term.cpp': '#include "term.h"\nint use() { return term(3)   ; }\n',
  'compile_commands.json': JSON.stringify(
    ['term.cpp', 'use-term.cpp'].map(file => ({ directory: '/workspace', command: `c++ -c ${file}`, file })),
  ),
}

const GO_AND_RUST = {
  'go.mod': 'module lease\n\ngo 1.24\n',
  'lease/lease.go': 'package lease\n\nvar Count int = "a"\n',
  'Cargo.toml': '[package]\nname = "lease"\nversion = "0.1.0"\nedition = "2021"\n',
  'Cargo.lock': 'version = 4\n\n[[package]]\nname = "lease"\nversion = "0.1.0"\n',
  'src/main.rs': 'fn main() {\n    let count: u32 = "a";\n    println!("{count}");\n}\n',
}
/** The whole image has them (make image); its stage `sandbox`, which run.sh builds, does not: then there is no test. */
const hasGoAndRust =
  (await docker('run', '--rm', '--entrypoint', 'ls', IMAGE, '/opt/go/bin/gopls', '/opt/cargo/bin/rust-analyzer'))
    .code === 0

let folder: Awaited<ReturnType<typeof makeFolder>>
let desk: TestDesk
let window: TestWindow
let path: string

beforeAll(async () => {
  folder = await makeFolder()
  path = await bare(join(folder.path, 'repository'))
  const main = await commit(path, 'main', { ...FILES, ...GO_AND_RUST })
  await commit(
    path,
    'other',
    { 'src/lease.ts': 'export const lease = (seconds: number) => seconds\n' },
    { parents: [main] },
  )
  desk = await openTestDesk(path)
  window = await desk.window()
  await window.ask({ ask: 'switch language servers', isOn: true })
})
afterAll(async () => {
  await window[Symbol.asyncDispose]()
  await desk[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const containers = async () =>
  (await docker('ps', '--all', '--quiet', '--filter', 'name=forge-language-')).stdout
    .split('\n')
    .filter(id => id !== '')

/** Opens a file, and waits until its server is ready. */
async function open(branch: string, file: string): Promise<void> {
  await window.ask({ ask: 'open', at: { kind: 'branch', branch }, path: file })
  await until(async () => {
    const state = (await window.ask({ ask: 'understand file', branch, path: file })) as Answer<'understand file'>
    if (state?.is === 'ended' || state?.is === 'missing') throw new Error(state.words)
    return state?.is === 'ready'
  })
}

const problemsIn = async (branch: string, file: string): Promise<Problem[]> =>
  ((await window.ask({ ask: 'problems', branch, path: file })) as Answer<'problems'>).problems

/** The text of a file of main, with its draft. */
const read = async (file: string): Promise<string> => {
  const shown = await window.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: file })
  return (shown as { text: string }).text
}

const messages = async (branch: string, file: string) => (await problemsIn(branch, file)).map(({ message }) => message)

test('the TypeScript server finds a wrong type across files, and follows typing and another branch', async () => {
  await open('main', 'src/use.ts')
  const wrong = "Type 'string' is not assignable to type 'number'."
  await until(async () => (await messages('main', 'src/use.ts')).includes(wrong))
  await open('other', 'src/use.ts')
  await open('other', 'src/lease.ts')
  // A server of its own, on the files of its branch.
  expect(await containers()).toHaveLength(2)
  expect(await messages('other', 'src/use.ts')).toEqual([])
  const { text } = (await window.ask({
    ask: 'open',
    at: { kind: 'branch', branch: 'other' },
    path: 'src/lease.ts',
  })) as { text: string }
  const edits = [{ client: 'a', changes: [[0, 'export const wrong: string = 1', ''], text.length] }]
  await window.ask({ ask: 'edit', branch: 'other', path: 'src/lease.ts', version: 0, edits })
  await until(async () =>
    (await messages('other', 'src/lease.ts')).includes("Type 'number' is not assignable to type 'string'."),
  )
})

test('it completes, tells of names, and renames across files as one operation', async () => {
  const at = { branch: 'main', path: 'src/use.ts' }
  const position = { line: 2, character: 30 }
  const hover = (await window.ask({ ask: 'hover', ...at, position })) as Answer<'hover'>
  expect(hover?.markdown).toContain('lease(seconds: number): string')
  const places = (await window.ask({
    ask: 'symbol places',
    ...at,
    position,
    of: 'definitions',
  })) as Answer<'symbol places'>
  expect(places.places.map(({ path, line }) => [path, line])).toEqual([['src/lease.ts', 1]])
  const completed = (await window.ask({ ask: 'complete', ...at, position, prefix: 'le' })) as Answer<'complete'>
  expect(completed.items.map(({ label }) => label)).toContain('lease')
  const signature = (await window.ask({
    ask: 'signatures',
    ...at,
    position: { line: 2, character: 35 },
  })) as Answer<'signatures'>
  expect(signature[0]?.label).toBe('lease(seconds: number): string')
  const renamed = (await window.ask({ ask: 'rename symbol', ...at, position, name: 'term' })) as Answer<'rename symbol'>
  expect(renamed).toMatchObject({ files: 2, skipped: [] })
  expect(await read('src/lease.ts')).toContain('function term(seconds')
  expect(await read('src/use.ts')).toBe("import { term } from './lease'\n\nexport const label: number = term(3)\n")
  await window.ask({ ask: 'undo', branch: 'main' })
  expect(await read('src/lease.ts')).toBe(FILES['src/lease.ts'])
  expect(await read('src/use.ts')).toBe(FILES['src/use.ts'])
})

test('a quick fix of the TypeScript server changes its file by the editor, and other files as drafts', async () => {
  const fixAt = async (file: string, position: TextPosition, title: string) => {
    const at = { branch: 'main', path: file }
    await open('main', file)
    await until(async () => (await messages('main', file)).length > 0)
    const asked = { ask: 'quick fixes', ...at, range: { start: position, end: position } } as const
    const { list, fixes } = (await window.ask(asked)) as Answer<'quick fixes'>
    const fix = fixes.find(it => it.title === title)?.fix
    if (fix === undefined) throw new Error(`No such fix: ${JSON.stringify(fixes)}`)
    return (await window.ask({ ask: 'make quick fix', ...at, list, fix })) as Answer<'make quick fix'>
  }
  const start = { line: 0, character: 0 }
  const imported = await fixAt('src/unimported.ts', { line: 0, character: 22 }, 'Add import from "./lease"')
  const text = expect.stringContaining('import { lease } from')
  expect(imported.changes).toEqual([{ range: { start, end: start }, text }])
  expect(await read('src/unimported.ts')).toBe(FILES['src/unimported.ts'])
  const exported = await fixAt(
    'src/unexported.ts',
    { line: 0, character: 10 },
    `Export 'closed' from module './closed'`,
  )
  expect(exported).toMatchObject({ files: 1, skipped: [] })
  expect(await read('src/closed.ts')).toBe('export const closed = 1\nexport const open = closed\n')
  await until(async () => (await messages('main', 'src/unexported.ts')).length === 0)
  await window.ask({ ask: 'undo', branch: 'main' })
  expect(await read('src/closed.ts')).toBe(FILES['src/closed.ts'])
})

test.skipIf(!hasBrowser)('the page shows what the TypeScript server finds, while one types', async () => {
  const layout = { tabs: [tabOf('main', ['src/use.ts'])], active: 0 }
  await using real = await PageDesk.open({ template: path, built: await builtPage(), layout })
  await using browser = await openBrowser()
  const page = await browser.context.newPage()
  await page.goto(real.url)
  await page.getByRole('tab', { name: 'use.ts' }).click()
  await page.getByRole('button', { name: 'Turn on language servers' }).click()
  await page.getByRole('button', { name: '1 error' }).waitFor({ timeout: 120_000 })
  await page.getByRole('textbox', { name: 'Editor' }).click()
  await page.keyboard.press('Control+End')
  await page.keyboard.type('export const none: string = 1')
  await page.getByRole('button', { name: '2 errors' }).waitFor({ timeout: 60_000 })
})

test('the servers for Python, shell and C++ find what is wrong', async () => {
  for (const [file, words] of [
    ['one.py', /cannot be assigned to parameter "number"/],
    ['run.sh', /Double quote/],
    ['main.cpp', /Cannot initialize a variable of type 'int'/],
  ] as const) {
    await open('main', file)
    await until(async () => (await messages('main', file)).some(message => words.test(message)))
  }
})

if (hasGoAndRust)
  test('the servers for Go and Rust find what is wrong', async () => {
    for (const [file, words] of [
      ['lease/lease.go', /cannot use "a"/],
      ['src/main.rs', /expected u32/],
    ] as const) {
      await open('main', file)
      await until(async () => (await messages('main', file)).some(message => words.test(message)), 60_000)
    }
  })

test('they know a name in other files, rename it in all of them as one operation, and format', async () => {
  for (const { file, line, character, files, formatted } of [
    { file: 'use_term.py', line: 2, character: 2, files: ['term.py', 'use_term.py'], formatted: undefined },
    { file: 'use-term.sh', line: 3, character: 2, files: ['term.sh', 'use-term.sh'], formatted: true },
    { file: 'use-term.cpp', line: 1, character: 20, files: ['term.cpp', 'term.h', 'use-term.cpp'], formatted: true },
  ]) {
    await open('main', file)
    const at = { branch: 'main', path: file }
    const asked = { ...at, position: { line, character } }
    const places = async (of: 'definitions' | 'references') => {
      const found = (await window.ask({ ask: 'symbol places', ...asked, of })) as Answer<'symbol places'>
      return [...new Set(found.places.map(({ path }) => path))].sort()
    }
    await until(async () => String(await places('references')) === String(files))
    expect(files).toContain((await places('definitions'))[0] ?? '')
    expect(((await window.ask({ ask: 'hover', ...asked })) as Answer<'hover'>)?.markdown).toContain('term')
    const completed = (await window.ask({ ask: 'complete', ...asked, prefix: 'te' })) as Answer<'complete'>
    expect(completed.items.some(({ text }) => text.startsWith('term'))).toBe(true)
    const renamed = (await window.ask({ ask: 'rename symbol', ...asked, name: 'lease' })) as Answer<'rename symbol'>
    expect(renamed).toMatchObject({ files: files.length, skipped: [] })
    await window.ask({ ask: 'undo', branch: 'main' })
    const format = window.ask({ ask: 'format by server', ...at, tabSize: 2, usesSpaces: true })
    if (formatted) expect(((await format) as Answer<'format by server'>).edits).toBeGreaterThan(0)
    else expect(await format.catch(String)).toContain('pyright does not format')
  }
})

test('a server has no network and no capabilities, can’t write to the files, and sees nothing of this machine', async () => {
  const [id = ''] = await containers()
  const { stdout } = await docker('inspect', '--format', '{{json .HostConfig}} {{json .Config}} {{json .Mounts}}', id)
  expect(stdout).toContain('"NetworkMode":"none"')
  expect(stdout).toContain('"ReadonlyRootfs":true')
  expect(stdout).toMatch(/"CapDrop":\["ALL"\]/)
  expect(stdout).not.toMatch(/API_KEY|DOCKER_HOST|"User":"0|"User":""/)
  const script =
    'ls /sys/class/net; touch /workspace/x 2>&1; touch /tmp/x && echo tmp; cat /proc/self/status | grep CapEff'
  const ran = await docker('exec', id, 'bash', '-c', script)
  expect(ran.stdout).toMatch(/^lo\n/)
  expect(ran.stdout).toContain('Read-only file system')
  expect(ran.stdout).toContain('tmp\n')
  expect(ran.stdout).toMatch(/CapEff:\s+0+$/)
  expect(stdout.match(/"Destination":"[^"]+"/g)).toEqual(['"Destination":"/workspace"'])
})

test('a server whose container is killed starts again, and finds what it found before', async () => {
  const before = await problemsIn('main', 'src/use.ts')
  expect(before).toHaveLength(1)
  // Those of this desk only.
  const ofTypeScript = async () => {
    const format = '{{.Id}} {{json .Config.Cmd}} {{json .Mounts}}'
    const { stdout } = await docker('inspect', '--format', format, ...(await containers()))
    const lines = stdout
      .split('\n')
      .filter(line => line.includes('typescript-language-server') && line.includes(desk.state))
    return lines.map(line => line.split(' ')[0] ?? '')
  }
  const killed = await ofTypeScript()
  expect(killed.length).toBeGreaterThan(0)
  await docker('kill', ...killed)
  await until(async () => (await ofTypeScript()).some(id => !killed.includes(id)))
  await open('main', 'src/use.ts')
  await until(async () => (await problemsIn('main', 'src/use.ts')).length === 1)
  expect(await problemsIn('main', 'src/use.ts')).toEqual(before)
})

test('switched off, all of them end, and nothing is left', async () => {
  await window.ask({ ask: 'switch language servers', isOn: false })
  expect(await window.ask({ ask: 'understand file', branch: 'main', path: 'src/use.ts' })).toEqual({
    is: 'off',
    program: 'typescript-language-server',
  })
  await until(async () => (await containers()).length === 0)
  expect(
    await Array.fromAsync(new Bun.Glob('*').scan({ cwd: join(desk.state, 'materialized'), onlyFiles: false })),
  ).toEqual([])
})
