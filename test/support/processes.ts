/** What runs on this machine on behalf of a world. */
import { readdirSync, readFileSync } from 'node:fs'
import { until, type World } from './world.ts'

/** The command lines of what a world's Forklift started and still runs; those known to be others' are not looked at. */
export function processes({ root }: World, others = new Set<string>()): string[] {
  const mine = `FORKLIFT_TEST_DOCKER=${root}/`
  const found: string[] = []
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid) || others.has(pid)) continue
    if (read(pid, 'environ').includes(mine)) found.push(read(pid, 'cmdline').replaceAll('\0', ' '))
    else others.add(pid)
  }
  // One that has ended and is not waited for yet has no command line.
  return found.filter(Boolean)
}

/**
 * Waits until all that a world's Forklift started has ended. To look at every process each time would slow that down.
 */
export async function untilAllHasEnded(world: World): Promise<void> {
  const others = new Set<string>()
  const hasEnded = () => processes(world, others).length === 0 && processes(world).length === 0
  await until('container, watchdog and git have ended', hasEnded, 60)
}

/** A file of /proc; nothing where the process has ended meanwhile. */
function read(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1')
  } catch {
    return ''
  }
}
