/**
 * Measures the time from opening a TypeScript project of 2,000 files to its first problems: on the desk, with the
 * server in the locked container on a copy of the branch, beside the same server that is started by hand in a checkout.
 * Each round is a process of its own, as a user's desk is: in a process that has had a desk before, the next one is
 * slower.
 *
 *   bun bench/language.ts [ROUNDS]
 *   bun bench/language.ts {checkout | desk} REPOSITORY SERVERS      one round, prints its milliseconds
 *
 * Needs docker, the image (make image), and root: the checkout is at /workspace, as in the container, and is removed.
 */
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IMAGE } from '../core/container.ts'
import type { Answer } from '../forge/desk/contract/contract.ts'
import { startProcess, WORKSPACE } from '../forge/language/launch.ts'
import { LanguageServer } from '../forge/language/server.ts'
import { SERVERS } from '../forge/language/servers.ts'
import { commit, git } from '../test/support/git.ts'
import { openTestDesk } from '../test/support/served.ts'
import { median } from './measure.ts'

const FILES = 2_000
const NPM = '/opt/language-servers'
/** The file that is opened: it uses a chain of the others, and has one error. */
const OPENED = `src/file${FILES - 1}.ts`

function project(): Record<string, string> {
  const files: Record<string, string> = {
    'tsconfig.json': '{ "compilerOptions": { "strict": true, "noEmit": true }, "include": ["src"] }\n',
  }
  for (let at = 0; at < FILES; at++) {
    const uses = [at - 1, Math.floor(at / 2)].filter(other => other >= 0 && other < at)
    const imports = [...new Set(uses)].map(other => `import { make${other} } from './file${other}'\n`).join('')
    const calls = [...new Set(uses)].map(other => `make${other}(count)`).join(' + ') || 'count'
    const methods = Array.from(
      { length: 12 },
      (_, method) => `  method${method}(name: string): string {\n    return name + ${method}\n  }\n`,
    )
    files[`src/file${at}.ts`] =
      `${imports}export function make${at}(count: number): number {\n  return ${calls}\n}\n\nexport class Class${at} {\n${methods.join('\n')}}\n`
  }
  files[OPENED] += '\nexport const wrong: string = 1\n'
  return files
}

const CHECKOUT = WORKSPACE
const [, , first = '3', repository = '', servers = ''] = process.argv
if (first === 'checkout') console.log(await inCheckout(repository, servers))
else if (first === 'desk') console.log(await ofDesk(repository))
else await compare(Number(first))
process.exit(0)

async function compare(rounds: number): Promise<void> {
  const { floor } = Math
  if (existsSync(CHECKOUT)) throw new Error(`${CHECKOUT} exists: move it away, since the checkout is put there.`)
  const folder = await mkdtemp(join(tmpdir(), 'bench-language-'))
  try {
    const path = join(folder, 'repository')
    await git('/', 'init', '-q', '-b', 'main', path)
    await commit(path, 'main', project())
    await git(path, 'reset', '-q', '--hard', 'main')
    await git(path, 'gc', '-q')
    // The servers of the image, to start one by hand with the same Node and TypeScript.
    const made = Bun.spawnSync(['docker', 'create', '--entrypoint', '/bin/true', IMAGE])
    const id = made.stdout.toString().trim()
    Bun.spawnSync(['docker', 'cp', `${id}:${NPM}`, join(folder, 'servers')])
    Bun.spawnSync(['docker', 'rm', id])
    const [byHand, onDesk]: [number[], number[]] = [[], []]
    const round = async (what: 'checkout' | 'desk') => await roundOf(folder, what, path, join(folder, 'servers'))
    for (let at = 0; at < rounds; at++) {
      byHand.push(await round('checkout'))
      // Removed at the end: for minutes after many files were deleted, ext4 takes up to 20 times longer to create one.
      await rename(CHECKOUT, `${CHECKOUT}-${at}`)
      onDesk.push(await round('desk'))
    }
    const [hand, desk] = [median(byHand), median(onDesk)]
    console.log(
      `first problems, ${FILES} files, median of ${rounds}: by hand ${floor(hand)} ms, desk ${floor(desk)} ms`,
    )
    console.log(`ratio ${(desk / hand).toFixed(2)}`)
    console.log(`by hand ${byHand.map(floor).join(' ')}; desk ${onDesk.map(floor).join(' ')}`)
  } finally {
    const checkouts = Array.from({ length: rounds }, (_, at) => `${CHECKOUT}-${at}`)
    for (const made of [folder, CHECKOUT, ...checkouts]) await rm(made, { recursive: true, force: true })
  }
}

/** The milliseconds of one round, in a process of its own, whose files are below `folder` and stay there. */
async function roundOf(folder: string, ...words: string[]): Promise<number> {
  const command = [process.execPath, import.meta.path, ...words]
  const env = { ...process.env, TMPDIR: folder }
  const child = Bun.spawn(command, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const text = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${words[0]}: the round failed`)
  return Number(text.trim().split('\n').at(-1))
}

/** Milliseconds from the start of the server in a checkout to the first problems of the file. */
async function inCheckout(path: string, servers: string): Promise<number> {
  const [spec] = SERVERS
  if (!spec) throw new Error('There are no servers')
  // The checkout is where the container has the files, since that is how the client names them.
  await cp(path, CHECKOUT, { recursive: true })
  const local = (text: string) => text.replaceAll(NPM, servers)
  const own = JSON.parse(local(JSON.stringify(spec))) as typeof spec
  const text = await Bun.file(join(CHECKOUT, OPENED)).text()
  const begun = performance.now()
  const found = Promise.withResolvers<void>()
  const launcher = {
    whyNot: async () => undefined,
    own: async () => [0, 0] as const,
    start: () => startProcess(own.command, { cwd: CHECKOUT }),
    prepare: async () => undefined,
  }
  const server = new LanguageServer(own, launcher, CHECKOUT, {
    onProblems: file => {
      if (server.problemsOf(file).some(({ severity }) => severity === 'error')) found.resolve()
    },
    onEnd: why => found.reject(new Error(why)),
  })
  server.show(OPENED, text, 'typescript')
  await found.promise
  const taken = performance.now() - begun
  server.end('It is measured.')
  return taken
}

/**
 * Milliseconds from opening the file on the desk to its first problems. The desk is not closed, which would delete its
 * copy of the files: the container is removed when this process ends.
 */
async function ofDesk(path: string): Promise<number> {
  const desk = await openTestDesk(path)
  const window = await desk.window()
  await window.ask({ ask: 'switch language servers', isOn: true })
  const begun = performance.now()
  await window.ask({ ask: 'open', at: { kind: 'branch', branch: 'main' }, path: OPENED })
  const state = (await window.ask({
    ask: 'understand file',
    branch: 'main',
    path: OPENED,
  })) as Answer<'understand file'>
  if (state?.is !== 'starting') throw new Error(JSON.stringify(state))
  await window.heard('problems', ({ problems }) => problems.some(({ severity }) => severity === 'error'))
  return performance.now() - begun
}
