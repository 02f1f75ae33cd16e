/** The command: one desk per repository, wherever it is started, and however the last one ended. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commit, git, gitWith, PLAIN } from '../../support/git.ts'
import { makeFolder } from '../../support/repository.ts'
import { makePage, ours, request, send, TestWindow } from '../../support/served.ts'

const FORGE = join(import.meta.dir, '../../../forge.ts')

let folder: Awaited<ReturnType<typeof makeFolder>>
const path = (...parts: string[]) => join(folder.path, ...parts)
let count = 0

beforeAll(async () => {
  folder = await makeFolder()
  await makePage(path('page'))
  await mkdir(path('bin'))
  // Stubs that record the address to open.
  for (const name of ['xdg-open', 'open'])
    await writeFile(path('bin', name), `#!/bin/sh\necho "$1" >>${path('opened')}\n`, { mode: 0o755 })
})
afterAll(() => folder[Symbol.asyncDispose]())

type Ended = { code: number; out: string; err: string }
type Forge = {
  child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  ended: Promise<Ended>
  address: Promise<string>
  stop: () => Promise<Ended>
}

const environment = (state: string, more: Record<string, string> = {}) => ({
  ...PLAIN,
  PATH: `${path('bin')}:${process.env.PATH}`,
  HOME: path('home'),
  TMPDIR: folder.path,
  XDG_STATE_HOME: path(state),
  FORGE_PAGE: path('page'),
  ...more,
})

function start(
  cwd: string,
  args: string[],
  {
    state = 'state',
    env = {},
    command = FORGE,
  }: { state?: string; env?: Record<string, string>; command?: string } = {},
): Forge {
  const child = Bun.spawn([command, ...args], { cwd, env: environment(state, env), stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  const address = Promise.withResolvers<string>()
  address.promise.catch(() => undefined)
  const read = (async () => {
    for await (const piece of child.stdout) {
      out += Buffer.from(piece).toString()
      const [found] = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(out) ?? []
      if (found) address.resolve(found)
    }
  })()
  const ended = Promise.all([child.exited, child.stderr.text(), read]).then(([code, err]) => {
    address.reject(new Error(`forge ended with ${code}: ${err}`))
    return { code, out, err }
  })
  const stop = () => {
    child.kill('SIGINT')
    return ended
  }
  return { child, ended, address: address.promise, stop }
}

/** Runs a command that ends by itself. */
const runToTheEnd = (cwd: string, args: string[], options?: Parameters<typeof start>[2]) =>
  start(cwd, ['--no-open', ...args], options).ended

async function checkout(format = 'sha1'): Promise<string> {
  const top = path(`repository-${++count}`)
  await git('/', 'init', '--quiet', '--initial-branch=main', `--object-format=${format}`, top)
  await commit(top, 'main', { 'a.txt': 'one\n', 'folder/b.txt': 'two\n' })
  await git(top, 'reset', '--quiet', '--hard')
  return top
}

/** The desk's response to a request with its key. */
async function ask(address: string, route = '/key') {
  const { port, searchParams } = new URL(address)
  return await send(Number(port), request(route, ours({ port: Number(port), token: searchParams.get('token') ?? '' })))
}

/** The response to a browser that has only the address. */
async function askAsVisitor(address: string) {
  const { port, pathname, search } = new URL(address)
  return await send(Number(port), request(`${pathname}${search}`, { Host: `127.0.0.1:${port}` }))
}

/** Waits until the browser was asked to open an address at the desk's port that is not `before`. Gives the address. */
async function ticketOpened(address: string, before?: string): Promise<string> {
  const { origin } = new URL(address)
  for (const end = Date.now() + 10_000; Date.now() < end; await Bun.sleep(10)) {
    const lines = (await readFile(path('opened'), 'utf8').catch(() => '')).split('\n').slice(0, -1)
    const last = lines.findLast(line => line.startsWith(`${origin}/?ticket=`))
    if (last && last !== before) return last
  }
  throw new Error('No browser was opened')
}

const stateOf = async (state: string) => {
  const [name = ''] = await readdir(path(state, 'forge'))
  return path(state, 'forge', name)
}

describe('the command line:', () => {
  test('--help and --version', async () => {
    const help = await runToTheEnd('/', ['--help'])
    expect([help.code, help.out]).toEqual([0, expect.stringContaining('--no-open')])
    expect((await runToTheEnd('/', ['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  test.each([
    [['--nosuch']],
    [['--port']],
    [['--port', '0']],
    [['--port', '65536']],
    [['--port', '80x']],
    [['--port', '-1']],
    [['one', 'two']],
    [['']],
  ])('%p is wrong usage', async args => {
    const end = await runToTheEnd('/', args)
    expect([end.code, end.out]).toEqual([64, ''])
    expect(end.err).toMatch(/^.*See forge --help\.\n$/)
  })

  test('an unknown option brings no escape sequence to the terminal', async () => {
    const end = await runToTheEnd('/', ['--\u001b]0;owned\u0007'])
    expect(end.err).not.toContain('\u001b')
  })
})

describe('what prevents the start is reported in a sentence:', () => {
  test('no repository', async () => {
    await mkdir(path('nothing'))
    const end = await runToTheEnd(path('nothing'), [])
    expect([end.code, end.out]).toEqual([1, ''])
    expect(end.err).toMatch(
      /^There is no git repository in .*nothing.*: forge FOLDER opens one elsewhere, git init makes one here\.\n$/,
    )
  })

  test('no folder, and a file', async () => {
    await writeFile(path('file'), '')
    for (const name of ['nowhere', 'file']) {
      const end = await runToTheEnd('/', [path(name)])
      expect(end.code).toBe(1)
      expect(end.err).toMatch(new RegExp(`^.*${name}.*: check .*\\n$`))
    }
  })

  test('an old git, and none', async () => {
    const top = await checkout()
    await mkdir(path('old'))
    await writeFile(path('old/git'), '#!/bin/sh\n[ "$1" = --version ] && echo git version 2.37.9 || exit 129\n', {
      mode: 0o755,
    })
    const old = await runToTheEnd(top, [], { env: { PATH: `${path('old')}:${process.env.PATH}` } })
    expect([old.code, old.err]).toEqual([1, 'Forge needs git 2.38 or newer, and this is 2.37.\n'])
    await mkdir(path('only-bun'))
    await symlink(process.execPath, path('only-bun/bun'))
    const none = await runToTheEnd(top, [FORGE, '--no-open'], {
      env: { PATH: path('only-bun') },
      command: process.execPath,
    })
    expect([none.code, none.err]).toEqual([1, 'Forge needs git 2.38 or newer: install it.\n'])
  })

  test('a port that is taken', async () => {
    using taken = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
    const end = await runToTheEnd(await checkout(), ['--port', `${taken.port}`], { state: 'taken' })
    expect([end.code, end.out]).toEqual([1, ''])
    expect(end.err).toBe(`Port ${taken.port} is taken: choose another one, or none for a free one.\n`)
  })

  test('a port in use by another desk', async () => {
    using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: () => new Response('other') })
    const end = await runToTheEnd(await checkout(), ['--port', `${taken.port}`], { state: 'taken by a desk' })
    expect([end.code, end.out]).toEqual([1, ''])
    expect(end.err).toBe(`Port ${taken.port} is taken: choose another one, or none for a free one.\n`)
  })

  test('a state folder that can’t be created', async () => {
    await writeFile(path('no-folder'), '')
    const end = await runToTheEnd(await checkout(), [], { state: 'no-folder' })
    expect([end.code, end.out]).toEqual([1, ''])
    expect(end.err).toMatch(/^.*no-folder.* can't be used \((ENOTDIR|EEXIST)\): check its owner and its disk\.\n$/)
  })

  test('a page that was not built', async () => {
    const end = await runToTheEnd(await checkout(), [], { state: 'no-page', env: { FORGE_PAGE: path('nothing') } })
    expect([end.code, end.out]).toEqual([1, ''])
    expect(end.err).toMatch(/run `make desk` once/)
  })
})

describe('one desk for a repository:', () => {
  test('it answers, and opens the browser at the printed address', async () => {
    const top = await checkout()
    const forge = start(top, [], { state: 'opens' })
    const address = await forge.address
    expect((await ask(address)).status).toBe(204)
    // A program's arguments can be read by every user of the machine, so the address does not contain the token.
    const opened = await ticketOpened(address)
    expect((await askAsVisitor(opened)).status).toBe(200)
    expect((await askAsVisitor(opened)).status).toBe(401)
    const again = await start(top, [], { state: 'opens' }).ended
    expect(again.out).toContain(`${address} (it was open already)`)
    expect((await askAsVisitor(await ticketOpened(address, opened))).status).toBe(200)
    expect(await readFile(path('opened'), 'utf8')).not.toContain(new URL(address).search)
    expect((await forge.stop()).out).toMatch(new RegExp(`^The desk of ${top.split('/').at(-1)}: http://127`))
  })

  test('a second start, from a subfolder, a linked worktree and by a link, opens the first', async () => {
    const top = await checkout()
    await git(top, 'worktree', 'add', '--quiet', '-b', 'other', path(`linked-${count}`))
    await symlink(top, path(`link-${count}`))
    await using first = closing(start(top, ['--no-open'], { state: 'second' }))
    const address = await first.address
    for (const place of [top, join(top, 'folder'), path(`linked-${count}`), path(`link-${count}`), join(top, '.git')]) {
      const end = await runToTheEnd(place, [], { state: 'second' })
      expect([end.code, end.out]).toEqual([0, expect.stringContaining(address)])
    }
    expect(await readdir(path('second/forge'))).toHaveLength(1)
  })

  test('two starts at the same moment give one desk', async () => {
    const top = await checkout()
    const starts = Array.from({ length: 4 }, () => start(top, ['--no-open'], { state: 'moment' }))
    const addresses = await Promise.all(starts.map(it => it.address))
    expect(new Set(addresses).size).toBe(1)
    // The starts that found a running desk have ended with success; that desk runs on.
    const running = starts.filter(({ child }) => child.exitCode === null)
    const ended = Promise.all(starts.map(it => it.ended))
    expect((await ask(addresses[0] ?? '')).status).toBe(204)
    for (const it of running) it.child.kill('SIGINT')
    expect((await ended).map(({ code }) => code).sort()).toEqual([0, 0, 0, 130])
  })

  test('after kill -9, the next start has the same address, and an open window goes on', async () => {
    const top = await checkout()
    const first = start(top, ['--no-open'], { state: 'killed' })
    const before = await first.address
    first.child.kill('SIGKILL')
    await first.ended
    await using second = closing(start(top, ['--no-open'], { state: 'killed' }))
    expect(await second.address).toBe(before)
    expect((await ask(before)).status).toBe(204)
  })

  test('if another program has taken the port, the desk has another port and another token', async () => {
    const top = await checkout()
    const before = await begunAndStopped(top, 'moved')
    await using stranger = Bun.serve({ hostname: '127.0.0.1', port: Number(before.port), fetch: () => new Response() })
    await using second = closing(start(top, ['--no-open'], { state: 'moved' }))
    const after = new URL(await second.address)
    expect(stranger.port).toBe(Number(before.port))
    expect(after.port).not.toBe(before.port)
    expect(after.search).not.toBe(before.search)
    expect((await ask(`${after.origin}/${before.search}`)).status).toBe(401)
  })

  test('if its state was removed, an old window is told to run forge again', async () => {
    const top = await checkout()
    const before = await begunAndStopped(top, 'removed')
    await rm(path('removed'), { recursive: true })
    await using second = closing(start(top, ['--no-open', '--port', before.port], { state: 'removed' }))
    expect((await ask(await second.address)).status).toBe(204)
    const refused = await ask(before.href, '/')
    expect(refused.status).toBe(401)
    expect(refused.body).toContain(`run \`forge\` again in the folder of ${top.split('/').at(-1)}`)
  })

  test('an outdated address at which another program answers is not trusted', async () => {
    const top = await checkout()
    await using stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({ pid: 1 }) })
    const first = start(top, ['--no-open', '--port', `${await freePort()}`], { state: 'stranger' })
    await first.address
    first.child.kill('SIGKILL')
    await first.ended
    const file = join(await stateOf('stranger'), 'desk.json')
    const address = JSON.parse(await readFile(file, 'utf8'))
    await writeFile(file, JSON.stringify({ ...address, port: stranger.port }))
    await using second = closing(start(top, ['--no-open'], { state: 'stranger' }))
    expect(new URL(await second.address).port).not.toBe(`${stranger.port}`)
  })

  test('a stored token that is too short is not used by the next desk', async () => {
    const top = await checkout()
    const { port } = await begunAndStopped(top, 'short')
    const file = join(await stateOf('short'), 'desk.json')
    await writeFile(file, JSON.stringify({ host: 'here', pid: 1, port: Number(port), token: '' }))
    await using forge = closing(start(top, ['--no-open', '--port', port], { state: 'short' }))
    expect(new URL(await forge.address).searchParams.get('token')).toMatch(/^[\w-]{43}$/)
  })

  test.each(['', '{', '{"port":"x"}', '[]', '{"host":"a","pid":1,"port":70000,"token":""}'])(
    'what it wrote can’t be read: %p',
    async text => {
      const top = await checkout()
      const state = `unreadable-${count}`
      await (await begun(top, state)).stop()
      await writeFile(join(await stateOf(state), 'desk.json'), text)
      await (await begun(top, state)).stop()
    },
  )

  test('only the user can read the token on disk', async () => {
    const top = await checkout()
    await mkdir(path('modes'), { mode: 0o755 })
    await using forge = closing(start(top, ['--no-open'], { state: 'modes' }))
    await forge.address
    const state = await stateOf('modes')
    expect((await stat(state)).mode & 0o777).toBe(0o700)
    expect((await stat(join(state, 'desk.json'))).mode & 0o777).toBe(0o600)
    expect(await readFile(`/proc/${forge.child.pid}/cmdline`, 'utf8').catch(() => '')).not.toContain('token')
    await chmod(state, 0o755)
    const again = await runToTheEnd(top, [], { state: 'modes' })
    expect([again.code, (await stat(state)).mode & 0o777]).toEqual([0, 0o700])
  })
})

describe('every kind of repository:', () => {
  test.each<[string, () => Promise<string>]>([
    [
      'bare',
      async () => {
        const top = path(`bare-${++count}.git`)
        await git('/', 'clone', '--quiet', '--bare', await checkout(), top)
        return top
      },
    ],
    [
      'linked worktree',
      async () => {
        const linked = path(`tree-${++count}`)
        await git(await checkout(), 'worktree', 'add', '--quiet', '-b', 'other', linked)
        return linked
      },
    ],
    [
      'empty',
      async () => {
        const top = path(`empty-${++count}`)
        await git('/', 'init', '--quiet', top)
        return top
      },
    ],
    ['sha256', () => checkout('sha256')],
    [
      'a folder with spaces, quotes and a line end',
      async () => {
        const top = path(`it's "a\nfolder" ${++count}`)
        await git('/', 'init', '--quiet', top)
        return top
      },
    ],
    [
      'shallow',
      async () => {
        const top = path(`shallow-${++count}`)
        await git('/', 'clone', '--quiet', '--depth=1', `file://${await checkout()}`, top)
        return top
      },
    ],
  ])('%s', async (name, make) => {
    const top = await make()
    await using forge = closing(start(top, ['--no-open'], { state: `kind-${name.slice(0, 8)}` }))
    expect((await ask(await forge.address, '/')).status).toBe(200)
  })
})

describe('its end:', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 143],
  ] as const)('%s', async (signal, code) => {
    const top = await checkout()
    const forge = start(top, ['--no-open'], { state: `end-${signal}` })
    await forge.address
    forge.child.kill(signal)
    const end = await forge.ended
    expect([end.code, end.err]).toEqual([code, 'The desk is closed. What was not saved is kept as drafts.\n'])
    expect(await gitWith(top, ['status', '--porcelain'])).toBe('')
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('text typed a moment before %s is a draft', async signal => {
    const top = await checkout()
    const forge = start(top, ['--no-open'], { state: `typed-${signal}` })
    const { port, searchParams } = new URL(await forge.address)
    const window = await TestWindow.open({ port: Number(port), token: searchParams.get('token') ?? '' })
    const at = { kind: 'branch', branch: 'main' } as const
    await window.ask({ ask: 'open', at, path: 'a.txt' })
    const edits = [{ client: 'me', changes: [[4, 'typed', '']] }]
    await window.ask({ ask: 'edit', branch: 'main', path: 'a.txt', version: 0, edits })
    forge.child.kill(signal)
    await forge.ended
    expect(await git(top, 'show', 'refs/forge/drafts/main:a.txt')).toBe('typed')
    expect(await git(top, 'show', 'main:a.txt')).toBe('one')
  })

  test('an open window does not delay the end', async () => {
    const forge = start(await checkout(), ['--no-open'], { state: 'held' })
    const { port, searchParams } = new URL(await forge.address)
    const { socket } = await TestWindow.open({ port: Number(port), token: searchParams.get('token') ?? '' })
    const closed = new Promise(resolve => socket.addEventListener('close', resolve))
    expect((await forge.stop()).code).toBe(130)
    await closed
  })
})

test('the .env, bunfig.toml and node_modules of the folder are not loaded', async () => {
  const top = await checkout()
  const evil = `require('fs').writeFileSync(${JSON.stringify(path('preloaded'))}, 'loaded')\n`
  await writeFile(join(top, 'evil.js'), evil)
  await writeFile(join(top, 'bunfig.toml'), 'preload = ["./evil.js"]\n')
  await writeFile(join(top, '.env'), 'FORGE_PAGE=/nowhere\nBUN_OPTIONS=--preload=./evil.js\n')
  await mkdir(join(top, 'node_modules/valibot'), { recursive: true })
  await writeFile(join(top, 'node_modules/valibot/index.js'), evil)
  await (await begun(top, 'hostile')).stop()
  expect(await readdir(folder.path)).not.toContain('preloaded')
})

/** A desk that is stopped after the test. */
const closing = (forge: Forge): Forge & AsyncDisposable => ({
  ...forge,
  [Symbol.asyncDispose]: async () => {
    await forge.stop()
  },
})

async function begun(top: string, state: string): Promise<Forge> {
  const forge = start(top, ['--no-open'], { state })
  expect((await ask(await forge.address)).status).toBe(204)
  return forge
}

/** Starts a desk and stops it again. Gives the address that it had. */
async function begunAndStopped(top: string, state: string): Promise<URL> {
  const forge = await begun(top, state)
  await forge.stop()
  return new URL(await forge.address)
}

async function freePort(): Promise<number> {
  using server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  return server.port
}
