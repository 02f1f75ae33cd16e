/** Language servers for tests: a double that runs as a program of this machine, in place of the locked container. */
import { join } from 'node:path'
import { type Launcher, startProcess } from '../../forge/language/launch.ts'

const DOUBLE = join(import.meta.dir, '../doubles/language-server.ts')

export type Behaviour =
  | 'good'
  | 'repeating'
  | 'indexing'
  | 'html'
  | 'lying'
  | 'dying'
  | 'hanging'
  | 'silent'
  | 'flooding'
  | 'huge'
  | 'no protocol'

export type TestLauncher = Launcher & {
  /** Each server that was started: its program and its folder. */
  started: { program: string; folder: string }[]
  /** The servers that have not ended. */
  running: number
  /** The commands that have prepared a folder. */
  prepared: string[]
  /** Why no server can run. */
  missing: string | undefined
  /** How the next servers behave. */
  behaviour: Behaviour
  /** Kills all servers. */
  kill: () => void
}

/** A launcher of doubles. */
export function doubleLauncher(behaviour: Behaviour = 'good'): TestLauncher {
  const kills: (() => void)[] = []
  const launcher: TestLauncher = {
    started: [],
    running: 0,
    prepared: [],
    missing: undefined,
    behaviour,
    kill: () => {
      for (const kill of kills.splice(0)) kill()
    },
    whyNot: async () => launcher.missing,
    own: async () => [process.getuid?.() ?? 0, process.getgid?.() ?? 0],
    start: (spec, folder) => {
      launcher.started.push({ program: spec.program, folder })
      launcher.running++
      const running = startProcess([process.execPath, DOUBLE, launcher.behaviour, folder], { cwd: folder })
      running.ended.then(() => {
        launcher.running--
      })
      kills.push(running.kill)
      return running
    },
    prepare: async (folder, command) => {
      launcher.prepared.push(command)
      const run = Bun.spawn(['bash', '-c', command], { cwd: folder, stdout: 'ignore', stderr: 'ignore' })
      return (await run.exited) === 0 ? undefined : `${command} ended with ${run.exitCode}.`
    },
  }
  return launcher
}
