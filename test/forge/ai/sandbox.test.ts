/** Hostile tools in the sandbox: what they can do, and that they can do nothing else. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { type Ran, Sandbox, SandboxError } from '../../../forge/ai/sandbox.ts'
import { framesOf } from '../../../forge/ai/sandbox-messages.ts'
import { type Vfs, WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit } from '../../support/git.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { childrenWith, makeFolder, makePlace, type Place, until } from '../../support/repository.ts'

const SCHEMA = "export const schema = { name: 'tool', description: 'It is a tool.' }\n"
const FILES = { 'a.txt': 'hello\n', 'src/b.ts': 'b', '.forge/x': 'x' }
// Each run starts a process, and other tests use the processor, too.
setDefaultTimeout(120_000)

const never = new AbortController().signal
const CHILD = 'sandbox-child.ts'

/**
 * One sandbox for all, as each call has its own child. The long time limit lets other limits apply first, even on a
 * busy machine.
 */
const sandbox = new Sandbox({ seconds: 100 })
/** A sandbox for tools that never end. */
const impatient = new Sandbox({ seconds: 0.5 })
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]()
  await impatient[Symbol.asyncDispose]()
})

async function makeWork(place: Place): Promise<WorkInProgressVfs> {
  const vfs = new WorkInProgressVfs(place.objects, await commit(place.path, 'main', FILES))
  await vfs.writeFile('latin1.txt', Buffer.from('caf\xe9', 'latin1'))
  return vfs
}

type Wish = { args?: unknown; vfs?: WorkInProgressVfs; within?: Sandbox; signal?: AbortSignal; before?: string }

/** Runs the body of an `execute(vfs, args)`. */
async function run(
  body: string,
  { args = {}, vfs, within = sandbox, signal = never, before = '' }: Wish = {},
): Promise<Ran> {
  const source = `${SCHEMA}${before}\nexport async function execute(vfs, args) {\n${body}\n}`
  if (vfs) return await within.execute({ file: 'tools/tool.ts', source }, args, vfs, signal)
  await using place = await makePlace()
  return await within.execute({ file: 'tools/tool.ts', source }, args, await makeWork(place), signal)
}
const failureOf = async (body: string, wish: Wish = {}): Promise<SandboxError> => {
  const error = await run(body, wish).then(
    ({ text }) => new Error(`It ended well: ${text.slice(0, 200)}`),
    error => error,
  )
  expect(error).toBeInstanceOf(SandboxError)
  return error
}

/** The methods of a Vfs, to override some of them. */
const methodsOf = (vfs: Vfs): Vfs => ({
  objects: vfs.objects,
  entryAt: path => vfs.entryAt(path),
  writeTree: () => vfs.writeTree(),
  readFile: path => vfs.readFile(path),
  writeFile: (path, bytes, options) => vfs.writeFile(path, bytes, options),
  deleteFile: path => vfs.deleteFile(path),
  listFiles: folder => vfs.listFiles(folder),
  fileExists: path => vfs.fileExists(path),
})

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a tool', () => {
  test('reads, writes, lists and deletes the files of its branch', async () => {
    await using place = await makePlace()
    const vfs = await makeWork(place)
    const { text, touched } = await run(
      `const before = await vfs.listFiles('src')
       await vfs.writeFile('src/c.ts', (await vfs.readFile('a.txt')) + args.more)
       await vfs.writeFile('bytes', new Uint8Array([0, 255, 254]))
       await vfs.writeFile('run.sh', '#!/bin/sh', { executable: true })
       await vfs.deleteFile('a.txt')
       return { before, there: await vfs.fileExists('a.txt'), bytes: [...(await vfs.readFile('latin1.txt', 'bytes'))],
         all: await vfs.listFiles() }`,
      { vfs, args: { more: 'ü\0\u{1f600}' } },
    )
    expect(JSON.parse(text)).toEqual({
      before: ['src/b.ts'],
      there: false,
      bytes: [...Buffer.from('caf\xe9', 'latin1')],
      all: ['.forge/x', 'bytes', 'latin1.txt', 'run.sh', 'src/b.ts', 'src/c.ts'],
    })
    expect(touched).toEqual(['a.txt', 'bytes', 'run.sh', 'src/c.ts'])
    expect((await vfs.readFile('src/c.ts')).toString()).toBe('hello\nü\0\u{1f600}')
    expect([...(await vfs.readFile('bytes'))]).toEqual([0, 255, 254])
    expect((await vfs.listFiles('')).find(it => it.path === 'run.sh')?.mode).toBe('100755')
  })

  test('is TypeScript: types, unused imports and enums are taken away', async () => {
    const before = `import type { Vfs } from '../forge.ts'\nimport { Entry } from './entries'\nenum Kind { One = 1 }\n`
    const { text } = await run('const list: Entry[] = []; return Kind.One satisfies number', { before })
    expect(text).toBe('1')
  })

  test('hears of files that are not there, and of what is no text', async () => {
    const { text } = await run(
      `const words = []
       for (const path of ['nowhere', 'latin1.txt', 'src'])
         words.push(await vfs.readFile(path).catch(error => error.message))
       return words.join('\\n')`,
    )
    expect(text.split('\n')).toEqual([
      'There is no file nowhere.',
      "The file is not UTF-8: read it by readFile(path, 'bytes').",
      'There is no file src.',
    ])
  })

  test('fails in its own words', async () => {
    const thrown = await failureOf("throw new TypeError('not\\nlike this')")
    expect([thrown.by, thrown.message]).toEqual(['tool', expect.stringContaining('TypeError: not\nlike this')])
    expect((await failureOf("throw 'a string'")).message).toContain('threw a string')
    expect((await failureOf('throw null')).message).toContain('null')
    expect((await failureOf('throw { get message() { throw 1 }, toJSON() { throw 2 } }')).by).toBe('tool')
    expect((await failureOf('let x = = 1')).message).toMatch(/can't be compiled: .* \(line 4\)/)
    expect((await failureOf('return 10n')).message).toContain('BigInt')
  })

  test('that needs what is not there is told so', async () => {
    expect((await failureOf("const fs = await import('node:fs')")).message).toContain('A tool can import nothing')
    expect((await failureOf('return fs', { before: "import fs from 'node:fs'" })).message).toContain('import nothing')
    expect((await failureOf('using x = null')).message).toContain('`using` and decorators')
    expect((await failureOf('await new Promise(() => {})')).message).toContain('waits for what never comes')
  })

  test('exports a schema, which is read without files', async () => {
    const read = (source: string) => sandbox.schema({ file: 'tools/t.ts', source }, never)
    const execute = '\nexport async function execute() {}'
    expect(JSON.parse(await read(`${SCHEMA}${execute}`))).toEqual({ name: 'tool', description: 'It is a tool.' })
    expect(await refusedBy(read(SCHEMA))).toThrow('has no `export async function execute')
    expect(await refusedBy(read(`export const schema = 'text'${execute}`))).toThrow('has no `export const schema')
    expect(await refusedBy(read(`export const schema = { a: 'x'.repeat(40000) }${execute}`))).toThrow('longer than')
    expect(await refusedBy(read(`export const schema = { get a() { for (;;); } }${execute}`))).toThrow(
      'took longer than 2',
    )
  })

  test('leaves nothing for the next one', async () => {
    await run('globalThis.left = 1; Object.prototype.left = 2; JSON.parse = () => ({ evil: true })')
    expect((await run('return [typeof left, ({}).left, args]', { args: { a: 1 } })).text).toBe(
      '["undefined",null,{"a":1}]',
    )
  })
})

describe('nothing is reached', () => {
  test('there is nothing but the language', async () => {
    const names = [
      'Bun',
      'process',
      'require',
      'fetch',
      'setTimeout',
      'setInterval',
      'WebAssembly',
      'Worker',
      'console',
      'XMLHttpRequest',
      'WebSocket',
      'navigator',
      'std',
      'os',
      'bjson',
      'host',
      'module',
      'Buffer',
      'Deno',
      'print',
    ]
    const { text } = await run(`return ${JSON.stringify(names)}.filter(name => name in globalThis)`)
    expect(text).toBe('[]')
  })

  test('functions of the outside lead nowhere', async () => {
    const { text } = await run(
      `const found = []
       const look = (name, make) => { try { const it = make(); if (it !== undefined) found.push(name + ': ' + String(it)) } catch {} }
       const code = "typeof process + typeof Bun + typeof require"
       for (const it of [vfs, vfs.readFile, vfs.readFile('a.txt'), args, new Error(), execute, (async () => {}), (function*(){})])
         look('constructor', () => { const seen = it.constructor.constructor('return ' + code)(); return seen === 'undefined'.repeat(3) ? undefined : seen })
       look('eval', () => { const seen = (0, eval)(code); return seen === 'undefined'.repeat(3) ? undefined : seen })
       look('caller', () => execute.caller)
       look('callee', () => (function () { return arguments.callee.caller })())
       look('prepare', () => { Error.prepareStackTrace = (_, sites) => sites.map(it => it.getThis?.() ?? it.getFunction?.()).find(Boolean); return typeof new Error().stack === 'string' ? undefined : new Error().stack?.constructor.constructor('return typeof process')() === 'undefined' ? undefined : 'sites' })
       await vfs.readFile('nowhere').catch(error => look('error', () => error.constructor.constructor('return this.process')()))
       await vfs.readFile({ toString() { return 'a.txt' } }).then(() => found.push('object as a path'), () => {})
       return found.join('\\n')`,
    )
    expect(text).toBe('')
  })

  test('a macro, which Bun runs while it compiles, is not run', async () => {
    await using place = await makePlace()
    const trace = join(place.folder, 'trace')
    const uses = [
      ["import { writeFileSync } from 'node:fs' with { type: 'macro' }", 'writeFileSync'],
      ["import { writeFileSync } from 'node:fs' assert { type: 'macro' }", 'writeFileSync'],
      ["import * as fs from 'node:fs' with { type: 'macro' }", 'fs.writeFileSync'],
      ["import fs from 'node:fs' with { type: 'macro' }", 'fs.writeFileSync'],
      ["import { writeFileSync } from 'macro:node:fs'", 'writeFileSync'],
      ["export { writeFileSync } from 'node:fs' with { type: 'macro' }", 'writeFileSync'],
    ]
    for (const [before = '', call = ''] of uses) {
      await failureOf(`return ${call}(${JSON.stringify(trace)}, 'ran')`, { before })
      expect(existsSync(trace)).toBe(false)
    }
  })

  test('files that are none of its business are not written', async () => {
    await using place = await makePlace()
    const vfs = await makeWork(place)
    const paths = [
      '.forge/x',
      '.FORGE/session.json',
      '.forge',
      '.forge./x',
      '.forge\\x',
      '.f\u200corge/x',
      '',
      '.git/config',
      '.GIT/hooks/x',
      'a/.git/x',
      'git~1/x',
      '../x',
      '/etc/passwd',
      'a/../../x',
      'a\0b',
      './x',
      'a//b',
    ]
    const { text, touched } = await run(
      `const through = []
       for (const path of args.paths)
         for (const act of ['writeFile', 'deleteFile'])
           await vfs[act](path, 'x').then(() => through.push(act + ' ' + path), () => {})
       return through.join('\\n')`,
      { vfs, args: { paths } },
    )
    expect([text, touched, [...vfs.changes.keys()]]).toEqual(['', [], ['latin1.txt']])
  })

  test('arguments are what they were, also with names that mean something', async () => {
    const args = JSON.parse('{"__proto__": {"evil": 1}, "constructor": {"prototype": {"evil": 2}}, "toJSON": "x"}')
    const { text } = await run(
      'return JSON.stringify(Object.keys(args)) + ({}).evil + Object.getPrototypeOf(args).evil',
      { args },
    )
    expect(text).toBe('["__proto__","constructor","toJSON"]undefinedundefined')
    expect(({} as { evil?: unknown }).evil).toBeUndefined()
  })

  test('built-ins that a tool has changed are its own trouble', async () => {
    const { text } = await run(
      `JSON.stringify = () => '{"type":"done"}'; JSON.parse = () => 1
       Promise.prototype.then = function () { return this }
       Object.defineProperty(Object.prototype, 'type', { get() { return 'failed' } })
       Object.defineProperty(Object.prototype, 'then', { get() { return undefined } })
       return { real: true }`,
    ).catch(error => ({ text: `failed: ${error.message}` }))
    expect(['{"real":true}', 'failed: It waits for what never comes: there are no timers and no events.']).toContain(
      text,
    )
  })

  test('a result that looks like something else is text', async () => {
    expect((await run('return { then(resolve) { resolve("from then") } }')).text).toBe('from then')
    expect((await run('return { toJSON() { return { type: "done" } } }')).text).toBe('{"type":"done"}')
    expect((await run('return new Proxy({}, { get: () => undefined, ownKeys: () => ["x"] })')).text).toBe('{}')
    expect((await run('return undefined')).text).toBe('')
    expect((await run('return () => 1')).text).toBe('')
    expect((await run('return Symbol.iterator')).text).toBe('')
  })
})

describe('what is too much ends it', () => {
  const endless = {
    'a loop': 'for (;;);',
    'a loop in a built-in function': "'a'.repeat(2 ** 24).lastIndexOf('a'.repeat(2 ** 23) + 'b')",
    'a regular expression': "/^(a+)+$/.test('a'.repeat(40) + 'b')",
    'jobs that make jobs': 'const more = () => { Promise.resolve().then(more) }; more(); await new Promise(() => {})',
    'calls that are never awaited': "for (;;) { try { vfs.readFile('a.txt').catch(() => {}) } catch {} }",
    'calls one after another': "for (;;) await vfs.fileExists('a.txt').catch(() => {})",
  }
  for (const [name, body] of Object.entries(endless)) {
    test(`${name}: its time is over`, async () => {
      const begun = performance.now()
      const error = await failureOf(body, { within: impatient })
      // Memory may run out before the time does.
      expect(error.message).toMatch(/took longer than 0.5 seconds|64 MB|out of memory/)
      expect(performance.now() - begun).toBeLessThan(8000)
    })
  }

  test('memory', async () => {
    const bodies = [
      "const all = []; for (;;) all.push('x'.repeat(1e6) + all.length)",
      'const all = []; for (;;) all.push(new Uint8Array(1e6))',
      'new Uint8Array(2 ** 31)',
      "let text = 'x'; for (;;) text = [text, text].join(text.length)",
      'const all = new Map(); for (let at = 0; ; at++) all.set(at, new Map([[at, {}]]))',
      'let bombs = []; for (;;) bombs.push(new Promise(() => {}).then(() => bombs))',
    ]
    for (const body of bodies) expect((await failureOf(body)).message).toMatch(/memory|64 MB|RangeError|broke/)
  })

  test('depth', async () => {
    const bodies = [
      'const down = () => down() + 1; return down()',
      "eval('('.repeat(1e5))",
      "return new RegExp('('.repeat(1e5))",
      "return JSON.parse('['.repeat(1e6))",
      'let list = []; for (let at = 0; at < 1e6; at++) list = [list]; return list',
    ]
    for (const body of bodies) await failureOf(body)
  })

  test('a source that is nested too deeply, or no text at all', async () => {
    const schemaOf = (source: string) => sandbox.schema({ file: 'tools/t.ts', source }, never)
    for (const source of ['('.repeat(1e5), `export const schema = ${'['.repeat(1e5)}`, '\0', '`${'.repeat(1e5), ''])
      expect(await refusalOf(schemaOf(source))).toBeInstanceOf(Failure)
  })

  test('a result of megabytes is cut in the middle, and says so', async () => {
    const { text } = await run("return 'begin' + 'x'.repeat(2e7) + 'end'")
    expect(text.length).toBeLessThan(66_000)
    expect(text).toMatch(/^beginx+\n… 19,?\d+ characters are left out here …\nx+end$/)
    expect((await failureOf("throw new Error('x'.repeat(1e7))")).message.length).toBeLessThanOrEqual(2000)
  })

  test('calls, and bytes', async () => {
    const together = (count: number) =>
      `await Promise.all(Array.from({ length: ${count} }, () => vfs.fileExists('a.txt')))`
    expect((await failureOf(`for (;;) ${together(4000)}`)).message).toContain('20000 times')
    expect((await failureOf(together(5000))).message).toContain('await some of them first')
    const writes = "const text = 'x'.repeat(8 << 20); for (let at = 0; ; at++) await vfs.writeFile('big', text)"
    expect((await failureOf(writes)).message).toContain('64 MB in all')
    expect((await failureOf("await vfs.writeFile('big', 'x'.repeat(17 << 20))")).message).toContain('at most 16 MB')
    expect((await failureOf("await vfs.readFile('x'.repeat(5000))")).message).toContain('longer than any file system')
  })
})

describe('its end', () => {
  test('comes at once when the signal does, and leaves no process behind', async () => {
    const own = new Sandbox()
    const stop = new AbortController()
    await using place = await makePlace()
    const vfs = await makeWork(place)
    const before = new Set(await childrenWith(CHILD))
    // The tool calls the vfs once and then never ends; the call shows that it is running.
    const running = Promise.withResolvers<void>()
    const told = {
      ...methodsOf(vfs),
      fileExists: async () => {
        running.resolve()
        return true
      },
    }
    const source = `${SCHEMA}export async function execute(vfs) { await vfs.fileExists('x'); for (;;); }`
    const ended = own.execute({ file: 't.ts', source }, {}, told, stop.signal)
    await running.promise
    const begun = performance.now()
    stop.abort(new Error('stopped by the user'))
    expect(await refusedBy(ended)).toThrow('stopped by the user')
    expect(performance.now() - begun).toBeLessThan(2000)
    await own[Symbol.asyncDispose]()
    expect((await childrenWith(CHILD)).filter(pid => !before.has(pid))).toEqual([])
    expect(await refusedBy(own.execute({ file: 't.ts', source }, {}, vfs, stop.signal))).toThrow('stopped by the user')
  })

  test('comes also where the process that it belongs to is killed', async () => {
    const source = `${SCHEMA}export async function execute(vfs) { await vfs.fileExists('x'); for (;;); }`
    const script = `
      import { readdirSync, readFileSync } from 'node:fs'
      import { Sandbox } from ${JSON.stringify(join(import.meta.dir, '../../../forge/ai/sandbox.ts'))}
      const children = () => readdirSync('/proc').filter(it => /^\\d+$/.test(it)).filter(pid => {
        try { return readFileSync('/proc/' + pid + '/stat', 'utf8').replace(/.*\\) /, '').split(' ')[1] === String(process.pid) } catch {}
      })
      const vfs = { fileExists: async () => { console.log(children().join()); return true } }
      const sandbox = new Sandbox({ seconds: 0.5, schemaSeconds: 0.5 })
      // The tool blocks the child's own timer for good.
      const stuck = { fileExists: async path => { await vfs.fileExists(path); setTimeout(() => { for (;;); }); return true } }
      await sandbox.execute({ file: 't.ts', source: ${JSON.stringify(source)} }, {}, stuck, new AbortController().signal)`
    await using folder = await makeFolder()
    await Bun.write(join(folder.path, 'parent.ts'), script)
    const parent = Bun.spawn([process.execPath, join(folder.path, 'parent.ts')], {
      // Files that the process leaves are removed with the folder.
      env: { ...process.env, TMPDIR: folder.path },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const { value } = await parent.stdout.getReader().read()
    const pids = new TextDecoder().decode(value).trim().split(',').map(Number)
    expect(pids).toHaveLength(1)
    parent.kill('SIGKILL')
    await parent.exited
    // The child is ended by its limit of processor time, which takes longer on a busy machine.
    const end = Date.now() + 60_000
    while (pids.some(isRunning) && Date.now() < end) await Bun.sleep(50)
    expect(pids.filter(isRunning)).toEqual([])
  }, 70_000)

  test('comes to the waiting child when it was idle for a while', async () => {
    await using own = new Sandbox({ idleSeconds: 0.3 })
    const before = new Set(await childrenWith(CHILD))
    own.warm()
    const ours = async () => (await childrenWith(CHILD)).filter(pid => !before.has(pid)).length
    await until(async () => (await ours()) === 1)
    await until(async () => (await ours()) === 0)
  })
})

/** How the parent handles a sandbox process that a tool has taken over, and that may send any message. */
describe('a child that has been taken over', () => {
  /** The code with which the child sends messages. */
  const SPEECH = `
    import { frameOf } from ${JSON.stringify(join(import.meta.dir, '../../../forge/ai/sandbox-messages.ts'))}
    const say = (message, bytes) => process.stdout.write(frameOf(message, bytes))
    const call = (method, path, more = {}) => say({ type: 'call', call: 1, method, path, executable: false, ...more })
    say({ type: 'ready' })
    const forever = () => setInterval(() => {}, 1000)
  `
  async function follow(speech: string, vfs?: Vfs): Promise<{ error: Error | undefined; text: string | undefined }> {
    await using place = await makePlace()
    const program = join(place.folder, 'child.ts')
    await Bun.write(program, speech.includes('READY') ? speech : SPEECH + speech)
    await using own = new Sandbox({ seconds: 1.5, program })
    const files = vfs ?? (await makeWork(place))
    const ended = own.execute({ file: 't.ts', source: '' }, {}, files, never)
    return await ended.then(
      ({ text }) => ({ error: undefined, text }),
      error => ({ error, text: undefined }),
    )
  }
  const broken = { error: expect.objectContaining({ by: 'sandbox' }), text: undefined }

  test('can say that it is done, and that is all', async () => {
    expect(
      (await follow("say({ type: 'done', text: 'I say so', __proto__: { evil: 1 }, touched: ['x'] }); forever()")).text,
    ).toBe('I say so')
  })

  test('is ended where it sends an unknown message', async () => {
    const speeches = [
      "say({ type: 'ready' })",
      "say({ type: 'reply', call: 1, ok: true, value: null })",
      "say({ type: 'done', text: 'x'.repeat(200000) })",
      "say({ type: 'done', text: { toString: 1 } })",
      "say({ type: 'failed', by: 'desk', words: 'x' })",
      "call('constructor', 'x')",
      "call('readFile', ['a.txt'])",
      "call('readFile', 'a.txt', { call: -1 })",
      "call('readFile', 'a.txt', { call: 1e9 })",
      "call('writeFile', 'x'.repeat(5000))",
      'say(null)',
      'process.stdout.write(Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0x7b]))',
      'process.stdout.write(Buffer.from([0, 0, 0, 255, 0, 0, 0, 255]))',
      "const deep = Buffer.from('['.repeat(1000000)); const head = Buffer.alloc(8); head.writeUInt32LE(deep.length); process.stdout.write(head); process.stdout.write(deep)",
      'process.exit(0)',
      "process.kill(process.pid, 'SIGSEGV')",
    ]
    for (const speech of speeches)
      expect({ speech, ...(await follow(`${speech}; forever()`)) }).toEqual({ speech, ...broken })
  })

  test('that is never ready is no child', async () => {
    expect(
      await follow(
        "/* READY */ process.stdout.write('hello, I am ready to serve'); setTimeout(() => process.exit(), 300)",
      ),
    ).toEqual(broken)
  })

  test('can not flood, neither by calls nor by not listening', async () => {
    const calls =
      'const more = () => { for (let at = 0; at < 500; at++) call("fileExists", "a.txt"); setTimeout(more) }; more()'
    expect((await follow(calls)).error?.message).toMatch(/broke|took longer/)
    const content = Buffer.alloc(8 << 20)
    let asked = 0
    const readFile = async () => {
      asked++
      return content
    }
    const vfs = { ...methodsOf({} as Vfs), readFile }
    const deaf = 'process.stdin.pause(); for (let at = 0; at < 5000; at++) call("readFile", "a.txt"); forever()'
    const before = process.memoryUsage().rss
    expect((await follow(deaf, vfs)).error?.message).toContain('took longer than 1.5 seconds')
    // Replies that the child does not read are not buffered.
    expect([asked <= 3, process.memoryUsage().rss - before < 200 << 20]).toEqual([true, true])
  })

  test('reaches nothing over the network, where the system can take it away', async () => {
    using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('reached') })
    const calling = `
      const came = await fetch(${JSON.stringify(server.url)}).then(answer => answer.text(), () => 'nothing')
      say({ type: 'done', text: came })
      forever()`
    const canBeTaken = Bun.spawnSync(['sh', '-c', 'unshare --user --net true']).exitCode === 0
    expect((await follow(calling)).text).toBe(canBeTaken ? 'nothing' : 'reached')
  })

  test('can not write files, nor read this environment', async () => {
    process.env.FORGE_TEST_SECRET = 'sk-ant-secret'
    try {
      const spying = `
        import { writeFileSync, readdirSync } from 'node:fs'
        let wrote = 'nothing'
        try { writeFileSync(process.cwd() + '/x', 'x'); wrote = 'a file' } catch {}
        const secret = Object.entries(process.env).filter(([, value]) => value.includes('secret')).length
        say({ type: 'done', text: [wrote, secret, readdirSync('.').length, Object.keys(process.env).sort()].join() })
        forever()`
      expect((await follow(spying)).text).toMatch(/^nothing,0,[01],BUN_RUNTIME_TRANSPILER_CACHE_PATH,PWD/)
    } finally {
      delete process.env.FORGE_TEST_SECRET
    }
  })
})

describe('frames', () => {
  const header = (message: number, bytes: number) => {
    const made = Buffer.alloc(8)
    made.writeUInt32LE(message, 0)
    made.writeUInt32LE(bytes, 4)
    return made
  }
  const read = async (...pieces: Buffer[]) => {
    async function* source() {
      yield* pieces
    }
    const frames: unknown[] = []
    for await (const frame of framesOf(source(), { message: 100, bytes: 10 })) frames.push(frame.message)
    return frames
  }

  test('that say they are larger than any may be are not waited for', async () => {
    expect(await refusedBy(read(header(101, 0)))).toThrow('larger')
    expect(await refusedBy(read(header(4, 2 ** 32 - 1)))).toThrow('larger')
  })

  test('that are cut anywhere come whole or not at all', async () => {
    const whole = Buffer.concat([header(1, 2), Buffer.from('1ab'), header(1, 0), Buffer.from('2')])
    for (let at = 0; at <= whole.length; at++)
      expect(await read(whole.subarray(0, at), whole.subarray(at))).toEqual([1, 2])
    expect(await read(...[...whole].map(byte => Buffer.from([byte])))).toEqual([1, 2])
    for (let at = 0; at < whole.length; at++) expect((await read(whole.subarray(0, at))).length).toBe(at < 11 ? 0 : 1)
  })

  test('that are no JSON are an error', async () => {
    expect(await refusedBy(read(header(1, 0), Buffer.from('x')))).toThrow()
  })
})
