/** Runs `make demo`, and the desk on its result, as the README's first steps do. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROJECT } from './world.ts'

const DEMO = join(PROJECT, 'test/demo.sh')

export type Demo = AsyncDisposable & {
  /** The whole output. */
  said: string
  folder: string
  /** Opens the desk on the demo's fork, and gives its address. It ends with the demo. */
  openDesk: (page?: string) => Promise<string>
}

/** Runs the demo to its end, in a temporary folder that is removed with it. */
export async function runDemo(): Promise<Demo> {
  const place = await mkdtemp(join(tmpdir(), 'demo-'))
  const env = { ...process.env, TMPDIR: place, LC_ALL: 'C.UTF-8' }
  const undone = [() => rm(place, { recursive: true, force: true })]
  const close = async () => {
    for (const undo of undone.reverse()) await undo()
  }
  const child = Bun.spawn([DEMO], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [said, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const folder = /make desk DEMO=(\S+)/.exec(said)?.[1]
  if (code !== 0 || folder === undefined) {
    await close()
    throw new Error(`The demo ended with ${code}: ${said}${errors}`)
  }
  const openDesk = async (page?: string): Promise<string> => {
    const settings = { ...env, ...(page !== undefined && { FORGE_PAGE: page }) }
    // A process group of its own, as in a terminal: Ctrl-C reaches all processes that it has started.
    const desk = spawn(DEMO, [folder, '--no-open'], {
      env: settings,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(desk, 'exit')
    undone.push(async () => {
      if (desk.exitCode === null) process.kill(-(desk.pid as number), 'SIGINT')
      await ended
    })
    let out = ''
    for await (const bytes of desk.stdout) {
      out += bytes.toString()
      const address = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(out)?.[0]
      if (address) return address
    }
    throw new Error(`The desk ended without an address: ${out}`)
  }
  return { said, folder, openDesk, [Symbol.asyncDispose]: close }
}
