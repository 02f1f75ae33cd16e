/**
 * Sends a signal to Forklift right before the nth git or docker command that it starts, and checks what the run leaves
 * behind. Commands started by git or the agent are not counted.
 */
import { expect } from 'bun:test'
import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { contains, git, tryGit } from './git.ts'
import { untilAllHasEnded } from './processes.ts'
import { DOCKER, type Ended, exists, expectExit, FORKLIFT, snapshot, type World } from './world.ts'

export type Signal = 'SIGKILL' | 'SIGINT' | 'SIGTERM'
export type Fault = {
  signals: Signal[]
  /** Whether the git or docker command at which the signal is sent runs itself afterwards, or not. */
  command: 'goes on' | 'stops'
}
/** The final result of a run: one open pull request, a branch where there is no GitHub, or nothing. */
export type End = 'pull request' | 'branch' | 'nothing'

const CODES = { SIGKILL: 137, SIGINT: 130, SIGTERM: 143 }
const TOOLS = { git: Bun.which('git'), docker: DOCKER }

/** A wrapper that numbers each command; at the chosen number it sends the signal to Forklift. */
const counted = (tool: string, program: string | null) => `
seen=\${FORKLIFT_TEST_COMMANDS-} at=\${FORKLIFT_TEST_AT-} signals=\${FORKLIFT_TEST_SIGNALS-} stops=\${FORKLIFT_TEST_STOPS-}
unset FORKLIFT_TEST_COMMANDS FORKLIFT_TEST_AT FORKLIFT_TEST_SIGNALS FORKLIFT_TEST_STOPS
if [ -n "$seen" ]; then
  shopt -s nullglob
  set -o noclobber
  taken=("$seen"/*.command)
  number=$((\${#taken[@]} + 1))
  until { printf '%s\\n' "${tool} $*" >"$seen/$number.command"; } 2>/dev/null; do
    [ -d "$seen" ] || exit 1
    number=$((number + 1))
  done
  if [ "$number" = "$at" ]; then
    : >"$seen/sent"
    read -r first second <<<"$signals"
    kill -s "$first" "$(<"$seen/pid")"
    if [ -n "$second" ]; then
      # The first one has arrived when it ends this command; two at the same moment would be one.
      trap 'kill -s "$second" "$(<"$seen/pid")"; exit 1' TERM
      /bin/sleep 2 & wait
      trap - TERM
    fi
    [ -z "$stops" ] || exit 1
  fi
fi
exec '${program}' "$@"`

/** Runs Forklift with its commands counted, and a fault before one of them. */
export async function runCounted(
  world: World,
  args: string[] = [],
  at = 0,
  { signals, command }: Fault = { signals: [], command: 'goes on' },
) {
  const seen = world.path('commands')
  await rm(seen, { recursive: true, force: true })
  await mkdir(seen)
  const usual = await readlink(world.path('bin/docker'))
  await Promise.all(Object.entries(TOOLS).map(([tool, program]) => world.tool(tool, counted(tool, program))))
  const env = {
    FORKLIFT_TEST_COMMANDS: seen,
    FORKLIFT_TEST_AT: String(at),
    FORKLIFT_TEST_SIGNALS: signals.map(signal => signal.slice(3)).join(' '),
    FORKLIFT_TEST_STOPS: command === 'stops' ? 'yes' : '',
  }
  // Executing a file that was just written may fail as busy, so bash starts Forklift.
  const withPid = ['-c', 'echo $$ >"$FORKLIFT_TEST_COMMANDS/pid"; exec "$@"', 'bash', FORKLIFT, ...args]
  const ended = await world.run(withPid, { as: 'bash', env })
  // From now on, commands are neither counted nor slowed down.
  await rm(world.path('bin/git'))
  await symlink(usual, world.path('bin/usual'))
  await rename(world.path('bin/usual'), world.path('bin/docker'))
  const names = (await readdir(seen)).filter(name => name.endsWith('.command'))
  const numbers = names.map(name => Number.parseInt(name, 10)).sort((a, b) => a - b)
  const commands = await Promise.all(numbers.map(number => readFile(join(seen, `${number}.command`), 'utf8')))
  return { ended, commands, isSent: await exists(join(seen, 'sent')) }
}

/** Makes the watchdog's seconds pass ten times as fast. */
export const hurry = (world: World) => world.tool('sleep', '[ "$1" = 1 ] && set -- 0.1; exec /bin/sleep "$@"')

// --- Leftovers -------------------------------------------------------------------------------------------------------

const TRACKED = /^\/\.git\/(objects|refs\/remotes|logs\/refs\/remotes)(\/|$)/

/**
 * A snapshot of what Forklift must not change in the checkout: files, index, HEAD, config, branches, stashes, hooks.
 */
export const belongings = (world: World): Promise<string> => snapshot(world.checkout, TRACKED)

/** Waits until all processes have ended, and checks that they left nothing behind. */
export async function nothingIsLeft(world: World, before: string): Promise<void> {
  await untilAllHasEnded(world)
  expect(await world.containers()).toEqual([])
  expect(await belongings(world)).toBe(before)
  expect(await readdir(world.path('tmp'))).toEqual([])
  for (const repository of [world.checkout, world.origin]) {
    const { code, stdout, stderr } = await tryGit(repository, ['fsck', '--full', '--no-dangling', '--no-progress'])
    expect([code, stdout + stderr]).toEqual([0, ''])
    const refs = (await git(repository, 'for-each-ref', '--format=%(refname)')).split('\n')
    const ours = refs.filter(ref => /forklift|publish|result|scratch/.test(ref.replace(/\/forklift\/\w+-\d{8}_/, '')))
    expect(ours).toEqual([])
  }
  const names = await readdir(join(world.checkout, '.git'), { recursive: true })
  expect(names.filter(name => /\.lock$|\btmp_|incoming-/.test(name))).toEqual([])
}

/** Checks that no incomplete branch is visible, and that the default branch has not changed. */
async function nothingIsHalfPublished(world: World, main: string | undefined): Promise<void> {
  expect(await world.tip('origin')).toBe(main)
  const branches = await world.branches()
  expect(branches.length).toBeLessThanOrEqual(1)
  for (const branch of branches) {
    const tip = (await world.tip('origin', branch)) ?? ''
    expect((await tryGit(world.origin, ['rev-list', '--objects', '--quiet', tip])).code).toBe(0)
    expect(await git(world.origin, 'grep', '-c', '^<<<<<<<', tip).catch(() => 'no markers')).toBe('no markers')
  }
}

/** Checks that the state folder has no scratch repository. */
async function noScratchIsLeft(world: World): Promise<void> {
  const names = await readdir(dirname(world.runsFolder)).catch(() => [])
  expect(names.filter(name => name.startsWith('scratch-'))).toEqual([])
}

const TRACE = /^\s+at |\.ts:\d+|\b(Type|Reference|Abort)?Error\b|unexpected|not expected|undefined|\bzx\b/m

/**
 * Checks that an interruption is reported by one sentence on the last line, and that a killed process prints nothing.
 */
export async function theEndIsSaid(world: World, ended: Ended, signals: Signal[], runs: number): Promise<void> {
  const [signal = 'SIGKILL'] = signals
  expectExit(ended, CODES[signal])
  expect(ended.stdout + ended.stderr).not.toMatch(TRACE)
  if (signal === 'SIGKILL') return expect(ended.stderr).toBe('')
  expect(ended.stderr).toMatch(/^\S+ fork(?:lift)?: Interrupted[^.:]*: [^.]*, run forklift again\.\n$/)
  expect(ended.stdout).not.toContain('FAILED')
  if (signals.length > 1) return
  expect(await world.containers()).toEqual([])
  await noScratchIsLeft(world)
  const [newest, ...others] = (await world.runs()).reverse()
  if (newest && others.length >= runs) expect(newest.outcome).toMatchObject({ exitCode: CODES[signal] })
}

// --- The next run ----------------------------------------------------------------------------------------------------

/** Whether an agent's result for upstream's newest commit exists. */
async function isPaidFor(world: World): Promise<boolean> {
  const upstream = await world.tip('upstream')
  const read = (...path: string[]): Promise<{ upstreamCommit?: string; exitCode?: number }> =>
    Bun.file(join(world.runsFolder, ...path))
      .json()
      .catch(() => ({}))
  for (const run of await readdir(world.runsFolder).catch(() => [])) {
    const [metadata, agent] = [await read(run, 'metadata.json'), await read(run, 'agent.json')]
    if (metadata.upstreamCommit === upstream && agent.exitCode === 0) return true
  }
  return false
}

/**
 * Checks that the next run finishes the work, that the one after it prints nothing, and that no agent is paid twice.
 */
export async function theNextRunWorks(world: World, before: string, end: End, mayPay: boolean): Promise<void> {
  const paid = await world.agentRuns()
  const isPaid = !mayPay || (await isPaidFor(world))
  const next = await world.run()
  expectExit(next, 0)
  expect(next.stdout + next.stderr).not.toMatch(TRACE)
  expect((await world.agentRuns()) - paid).toBeLessThanOrEqual(isPaid ? 0 : 1)
  await nothingIsLeft(world, before)
  await noScratchIsLeft(world)
  await world.github.settle()
  const open = world.github.pulls.filter(pull => pull.state === 'open')
  const branches = await world.branches()
  expect(branches).toHaveLength(end === 'nothing' ? 0 : 1)
  expect(open.map(pull => pull.head)).toEqual(end === 'pull request' ? branches : [])
  expect(world.github.pulls).toHaveLength(open.length)
  for (const branch of branches) {
    const tip = (await world.tip('origin', branch)) ?? ''
    for (const side of ['origin', 'upstream'] as const)
      expect(await contains(world.origin, (await world.tip(side)) ?? '', tip)).toBe(true)
  }
  const quiet = await world.run()
  expect([quiet.code, quiet.stdout + quiet.stderr]).toEqual([0, ''])
  await nothingIsLeft(world, before)
}

/** Makes all checks that are due after a run was interrupted by a signal. */
export async function allIsWell(world: World, before: string, main: string | undefined, end: End, mayPay: boolean) {
  await nothingIsLeft(world, before)
  await nothingIsHalfPublished(world, main)
  await theNextRunWorks(world, before, end, mayPay)
  await nothingIsHalfPublished(world, main)
}
