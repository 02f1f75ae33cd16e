/** The desk started by its command on a repository of its own, for tests in a real browser. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PERSON } from './desk.ts'
import { commit, git, PLAIN, tryGit } from './git.ts'
import { makeFolder } from './repository.ts'
import { PROJECT } from './world.ts'

export type RealDesk = AsyncDisposable & {
  /** The repository. */
  path: string
  /** The desk's address, with the key. */
  address: string
  /** Makes a commit on a branch from outside, as in a terminal. */
  commit: (branch: string, files: Record<string, string>) => Promise<string>
  /** The content of a file at a ref; empty where there is none. */
  show: (ref: string, path: string) => Promise<string>
  /** Kills the desk with SIGKILL. */
  kill: () => Promise<void>
  /** Starts the desk again; open windows reconnect. */
  start: () => Promise<void>
}

export interface RealDeskOptions {
  /** The folder of the built page. */
  built: string
  /** The files of each branch. */
  branches: Record<string, Record<string, string>>
  format?: 'sha1' | 'sha256'
}

export async function openRealDesk({ built, branches, format = 'sha1' }: RealDeskOptions): Promise<RealDesk> {
  const folder = await makeFolder()
  const path = join(folder.path, 'tern')
  await git('/', 'init', '--quiet', '--bare', '--initial-branch=main', `--object-format=${format}`, path)
  for (const [branch, files] of Object.entries(branches)) await commit(path, branch, files)
  const home = join(folder.path, 'home')
  await mkdir(home)
  const env = {
    ...PLAIN,
    ...PERSON,
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: folder.path,
    XDG_STATE_HOME: join(folder.path, 'state'),
    FORGE_PAGE: built,
  }
  let child: Bun.Subprocess<'ignore', 'pipe', 'inherit'> | undefined
  const end = async (signal: NodeJS.Signals) => {
    child?.kill(signal)
    await child?.exited
    child = undefined
  }
  const desk: RealDesk = {
    path,
    address: '',
    commit: (branch, files) => commit(path, branch, files),
    show: async (ref, file) => (await tryGit(path, ['show', `${ref}:${file}`])).stdout,
    kill: () => end('SIGKILL'),
    start: async () => {
      const command = [join(PROJECT, 'forge.ts'), '--no-open']
      child = Bun.spawn(command, { cwd: path, env, stdio: ['ignore', 'pipe', 'inherit'] })
      desk.address = await addressIn(child.stdout)
    },
    [Symbol.asyncDispose]: async () => {
      await end('SIGINT')
      await folder[Symbol.asyncDispose]()
    },
  }
  await desk.start()
  return desk
}

async function addressIn(stdout: ReadableStream<Uint8Array>): Promise<string> {
  const found = Promise.withResolvers<string>()
  const read = async () => {
    let out = ''
    for await (const piece of stdout) {
      out += Buffer.from(piece).toString()
      const [address] = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(out) ?? []
      if (address) found.resolve(address)
    }
    found.reject(new Error(`The desk ended without an address: ${out}`))
  }
  read()
  return await found.promise
}
