/** Measures time and memory of processes. */
import { readdir, readFile } from 'node:fs/promises'

export const median = (values: number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle) - 1] ?? NaN)) / 2
}

export type Command = { cwd: string; env: Record<string, string | undefined>; codes?: number[] }
export type Cost = { wall: number; cpu: number }

/** Runs a command to its end. Gives milliseconds; the CPU time includes the child processes that it waited for. */
export async function time(words: string[], { cwd, env, codes = [0] }: Command): Promise<Cost> {
  const begun = performance.now()
  const child = Bun.spawn(words, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
  const [code, errors] = await Promise.all([child.exited, child.stderr.text()])
  const wall = performance.now() - begun
  if (!codes.includes(code)) throw new Error(`${words.join(' ')}: exit ${code}\n${errors}`)
  return { wall, cpu: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000 }
}

/**
 * Runs several functions in turns, so that a busy moment of the machine affects all of them. Starts at most `rounds`
 * rounds, and none after `seconds`. Gives the medians.
 */
export async function inTurns<Name extends string>(
  { rounds, seconds }: { rounds: number; seconds: number },
  things: Record<Name, () => Promise<Cost>>,
): Promise<Record<Name, Cost>> {
  const names = Object.keys(things) as Name[]
  const costs = new Map<Name, Cost[]>(names.map(name => [name, []]))
  const end = performance.now() + seconds * 1000
  for (let round = 0; round < rounds && (round === 0 || performance.now() < end); round++)
    for (const name of names) costs.get(name)?.push(await things[name]())
  const entries = names.map(name => {
    const all = costs.get(name) ?? []
    return [name, { wall: median(all.map(({ wall }) => wall)), cpu: median(all.map(({ cpu }) => cpu)) }]
  })
  return Object.fromEntries(entries) as Record<Name, Cost>
}

export type Memory = { alone: number; tree: number }

/**
 * Measures the peak memory of a process in MiB, alone (VmHWM, recorded by the kernel) and with its descendants (their
 * resident memory, shared pages counted once, sampled repeatedly). Processes for which `isElse` is true do not count.
 */
export async function watchMemory(
  child: { pid: number; exited: Promise<number> },
  isElse: (commandLine: string) => boolean,
): Promise<Memory> {
  const peak: Memory = { alone: 0, tree: 0 }
  let runs = true
  void child.exited.then(() => {
    runs = false
  })
  while (runs) {
    peak.alone = Math.max(peak.alone, await kilobytes(child.pid, 'status', 'VmHWM'))
    const sizes = await Promise.all(
      (await descendants(child.pid, isElse)).map(pid => kilobytes(pid, 'smaps_rollup', 'Pss')),
    )
    peak.tree = Math.max(
      peak.tree,
      sizes.reduce((sum, size) => sum + size, 0),
    )
    await Bun.sleep(5)
  }
  return { alone: peak.alone / 1024, tree: peak.tree / 1024 }
}

async function kilobytes(pid: number, file: string, field: string): Promise<number> {
  const text = await readFile(`/proc/${pid}/${file}`, 'latin1').catch(() => '')
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
}

async function descendants(root: number, isElse: (commandLine: string) => boolean): Promise<number[]> {
  const children = new Map<number, number[]>()
  const numbers = (await readdir('/proc')).map(Number).filter(pid => pid > 0)
  const parents = await Promise.all(numbers.map(pid => readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')))
  for (const [at, stat] of parents.entries()) {
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    children.set(parent, [...(children.get(parent) ?? []), numbers[at] ?? 0])
  }
  const found: number[] = []
  const walk = async (pid: number): Promise<void> => {
    if (isElse(await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''))) return
    found.push(pid)
    for (const child of children.get(pid) ?? []) await walk(child)
  }
  await walk(root)
  return found
}

/** The current memory of a process in MiB, alone and with its children, and their CPU time in milliseconds. */
export async function memoryOf(pid: number): Promise<{ own: number; all: number; cpu: number }> {
  const pids = await descendants(pid, () => false)
  const sizes = await Promise.all(pids.map(it => kilobytes(it, 'smaps_rollup', 'Pss')))
  const ticks = await Promise.all(pids.map(processorTicks))
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0)
  // A tick is a hundredth of a second on every Linux.
  return { own: (await kilobytes(pid, 'smaps_rollup', 'Rss')) / 1024, all: sum(sizes) / 1024, cpu: sum(ticks) * 10 }
}

async function processorTicks(pid: number): Promise<number> {
  const line = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')
  const [user = 0, system = 0] = line
    .slice(line.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return user + system
}
