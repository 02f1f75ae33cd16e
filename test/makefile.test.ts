/**
 * The Makefile's messages where something can't be installed: the reason, within reasonable time, and what to do. Uses
 * the real npm.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithout } from './support/path.ts'
import { PROJECT } from './support/world.ts'

let root = ''
let withoutBun = ''
let withoutJq = ''
let withoutTemporal = ''
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'forklift-makefile-'))
  withoutBun = await pathWithout(join(root, 'without-bun'), ['bun', 'bunx'])
  withoutJq = await pathWithout(join(root, 'without-jq'), ['jq'])
  withoutTemporal = await pathWithout(join(root, 'without-temporal'), ['temporal', 'python3', 'go'])
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** Runs make on a copy of the project's own files with a new home: nothing is installed or cached. */
async function make(
  target: string,
  path: string,
  env: Record<string, string> = {},
  tools: Record<string, string> = {},
  patience = 1,
) {
  const folder = await mkdtemp(join(root, 'a copy '))
  await mkdir(join(folder, 'forge/tasks'), { recursive: true })
  const packages = ['package.json', 'forge/package.json', 'forge/tasks/package.json']
  for (const name of ['Makefile', ...packages, 'bun.lock', 'bunfig.toml'])
    await copyFile(join(PROJECT, name), join(folder, name))
  const bin = join(folder, 'bin')
  await mkdir(bin)
  for (const [name, script] of Object.entries(tools)) {
    await writeFile(join(bin, name), `#!/usr/bin/env bash\n${script}\n`)
    await chmod(join(bin, name), 0o755)
  }
  const began = performance.now()
  const child = Bun.spawn(['make', target, `PATIENCE=${patience}`], {
    cwd: folder,
    env: { PATH: `${bin}:${path}`, HOME: join(folder, 'home'), TMPDIR: root, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return {
    code,
    folder,
    output,
    last: output.trimEnd().split('\n').at(-1),
    errors,
    seconds: (performance.now() - began) / 1000,
  }
}

const registry = (url: string | URL) => ({ npm_config_registry: String(url) })

const answering = (status: number) =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => Response.json({ error: 'Ask your administrator' }, { status }),
  })

/** A closed port, or one that accepts every connection and never answers. */
async function port({ silent }: { silent: boolean }) {
  const server = createServer(() => undefined)
  await new Promise<void>(ready => server.listen(0, '127.0.0.1', ready))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address?.port}`
  if (!silent) await new Promise(closed => server.close(closed))
  return { url, [Symbol.dispose]: () => void server.close() }
}

describe.concurrent('Bun is not there, and npm can’t fetch it:', () => {
  const REMEDY =
    /^npm could not install Bun: check the network and the proxy .* https:\/\/bun\.sh, and run this again\.$/

  test.each([
    [403, /403 Forbidden - GET http:.*Ask your administrator/],
    [500, /500 Internal Server Error/],
  ])('its registry answers %i', async (status, reason) => {
    await using server = answering(status)
    const run = await make('runtime', withoutBun, registry(server.url))
    expect(run.output).toMatch(reason)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
  })

  test('its registry refuses', async () => {
    using nobody = await port({ silent: false })
    const run = await make('runtime', withoutBun, registry(nobody.url))
    expect(run.output).toMatch(/connect ECONNREFUSED 127\.0\.0\.1/)
    expect(run.output).not.toMatch(/^npm error +at /m)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
  })

  test.each([
    ['registry', (url: string) => registry(url)],
    ['proxy', (url: string) => ({ ...registry('http://registry.invalid'), npm_config_proxy: url })],
  ])('its %s takes the question and never answers', async (_, env) => {
    using silent = await port({ silent: true })
    const run = await make('runtime', withoutBun, env(silent.url))
    expect(run.output).toMatch(/^Still installing Bun, after \d+ seconds$/m)
    expect(run.output).toMatch(/timeout/i)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
    expect(run.seconds).toBeLessThan(30)
  })

  test('npm is not there either', async () => {
    const run = await make('runtime', await pathWithout(join(root, 'without-npm'), ['bun', 'bunx', 'npm']))
    expect(run.last).toBe('Bun is missing, and so is npm to install it: see https://bun.sh')
    expect(run.code).toBe(2)
  })
})

test('a slow download is no silence: Bun is installed', async () => {
  const folder = join(root, 'package')
  await mkdir(folder)
  const description = { name: 'bun', version: '1.4.5', bin: { bun: 'bun.sh' } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(description))
  await writeFile(join(folder, 'bun.sh'), '#!/bin/sh\necho 1.4.5\n')
  await writeFile(join(folder, 'filler'), crypto.getRandomValues(new Uint8Array(60_000)))
  const archive = await Bun.spawn(['tar', '-C', root, '-cz', 'package'], { stdout: 'pipe' }).stdout.bytes()
  const pieces = 6
  const slowly = async function* () {
    for (let at = 0; at < pieces; at++) {
      yield archive.slice((archive.length * at) / pieces, (archive.length * (at + 1)) / pieces)
      await Bun.sleep(1000)
    }
  }
  await using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) =>
      url.endsWith('.tgz')
        ? new Response(slowly())
        : Response.json({ name: 'bun', versions: { '1.4.5': { ...description, dist: { tarball: `${url}.tgz` } } } }),
  })
  const run = await make('bun', withoutBun, registry(server.url), {}, 2)
  expect([run.code, run.errors]).toEqual([0, ''])
  expect(run.seconds).toBeGreaterThan(5)
}, 60_000)

describe.concurrent('Bun can’t fetch the packages:', () => {
  const REMEDY =
    /^Bun could not install the packages: if it was the network, check the network and the proxy .*, and run this again\.$/

  test.each(['runtime', 'tools'])('the registry forbids what %s needs', async target => {
    await using server = answering(403)
    const run = await make(target, process.env.PATH ?? '', registry(server.url))
    expect(run.output).toMatch(/error: GET http:\S+\/zx-\S+ - 403/)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
  })

  test('the registry refuses', async () => {
    using nobody = await port({ silent: false })
    const run = await make('runtime', process.env.PATH ?? '', registry(nobody.url))
    expect(run.output).toMatch(/ConnectionRefused/)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
  })

  test('the registry never answers', async () => {
    using silent = await port({ silent: true })
    const run = await make('runtime', process.env.PATH ?? '', registry(silent.url))
    expect(run.output).toMatch(/^Still installing packages, after \d+ seconds$/m)
    expect(run.output).toMatch(/Timeout/)
    expect(run.last).toMatch(REMEDY)
    expect(run.code).toBe(2)
    expect(run.seconds).toBeLessThan(40)
  })
})

/** The packages that a target asks a registry for. The registry has none of them. */
async function askedFor(target: string): Promise<string[]> {
  const asked = new Set<string>()
  await using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      asked.add(decodeURIComponent(new URL(url).pathname).replace(/^\/|\/-\/.*/g, ''))
      return new Response('none', { status: 404 })
    },
  })
  await make(target, process.env.PATH ?? '', registry(server.url))
  return [...asked]
}

test('Forklift alone asks for none of the desk’s and the tasks’ packages; each of them asks for its own', async () => {
  const dependenciesOf = async (path: string) => Object.keys((await Bun.file(join(PROJECT, path)).json()).dependencies)
  const [ofDesk, ofTasks] = await Promise.all(['forge/package.json', 'forge/tasks/package.json'].map(dependenciesOf))
  const [forklift, desk, tasks] = await Promise.all(['runtime', 'desk-runtime', 'tasks-runtime'].map(askedFor))
  const among = (asked: string[] = [], own: string[] = []) => asked.filter(name => own.includes(name))
  expect(forklift).toContain('zx')
  expect(among(forklift, [...(ofDesk ?? []), ...(ofTasks ?? [])])).toEqual([])
  expect(forklift?.filter(name => /codemirror|lezer|preact|playwright|axe|temporal|telemetry/.test(name))).toEqual([])
  expect(desk).toEqual(expect.arrayContaining(ofDesk ?? []))
  expect(desk?.filter(name => /playwright|axe-core|biome|temporal|telemetry|webpack/.test(name))).toEqual([])
  expect(tasks).toEqual(expect.arrayContaining([...(ofDesk ?? []), ...(ofTasks ?? [])]))
  expect(tasks?.filter(name => /playwright|axe-core|biome/.test(name))).toEqual([])
}, 30_000)

describe.concurrent('a program is not there:', () => {
  const root = { id: 'echo 0' }
  const lost =
    '[[ $* != *install* ]] || { echo "E: Unable to fetch some archives: Could not connect to archive.example:80" >&2; exit 100; }'

  test('apt-get can’t fetch it either', async () => {
    const run = await make('jq', withoutJq, {}, { ...root, 'apt-get': lost })
    expect(run.output).toContain('Installing jq\n')
    expect(run.output).toContain('Could not connect to archive.example:80')
    expect(run.last).toMatch(/^apt-get could not install jq: check the network .* and run this again\.$/)
    expect(run.code).toBe(2)
  })

  test('apt-get has it', async () => {
    const run = await make('jq', withoutJq, {}, { ...root, 'apt-get': 'exit 0' })
    expect([run.code, run.output]).toEqual([0, 'Installing jq\n'])
  })

  test('no Temporal server can be installed: a message says so, and nothing fails', async () => {
    const run = await make('temporal', withoutTemporal)
    expect(run.last).toMatch(/^No Temporal server could be installed, by pip or by go: the tests .* are skipped/)
    expect(run.code).toBe(0)
  })

  test('make demo says that it may not install it', async () => {
    const run = await make('demo', withoutJq, {}, { bun: 'mkdir -p node_modules', id: 'echo 1000' })
    expect(run.last).toMatch(/^jq is missing: install it with your package manager .*, and run this again\.$/)
    expect(run.code).toBe(2)
  })
})
