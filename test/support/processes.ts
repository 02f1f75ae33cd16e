/** The processes of a test world. */
import { readdirSync, readFileSync } from 'node:fs'
import { until, type World } from './world.ts'

/** The command lines of running processes that a world's Forklift started. Processes in `others` are skipped. */
export function processes({ root }: World, others = new Set<string>()): string[] {
  const mine = `FORKLIFT_TEST_DOCKER=${root}/`
  const found: string[] = []
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || others.has(pid)) continue
    if (read(pid, 'environ').includes(mine)) found.push(read(pid, 'cmdline').replaceAll('\0', ' '))
    else others.add(pid)
  }
  // A process that has ended but was not waited for has no command line.
  return found.filter(Boolean)
}

/**
 * Waits until all processes that a world's Forklift started have ended. Known processes of others are skipped, which
 * saves time.
 */
export async function untilAllHasEnded(world: World): Promise<void> {
  const others = new Set<string>()
  const hasEnded = () => processes(world, others).length === 0 && processes(world).length === 0
  await until('container, watchdog and git have ended', hasEnded, 60)
}

/** Reads a file of /proc; empty where the process has ended. */
function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
