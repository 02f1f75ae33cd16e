/** `make demo`, and the desk on what it made: what the story of the README begins with. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROJECT } from './world.ts'

const DEMO = join(PROJECT, 'test/demo.sh')

export type Demo = AsyncDisposable & {
  /** All that it printed. */
  said: string
  folder: string
  /** Opens the desk on its fork, and gives its address. It ends with the demo. */
  openDesk: (page?: string) => Promise<string>
}

/** Runs the demo to its end, in a folder of its own that goes with it. */
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
    // A group of its own: Ctrl-C reaches all that it has started.
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
