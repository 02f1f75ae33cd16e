// The time limits inside of the container, each with the earlier ones disabled: the harness's own, the grace of `docker
// stop`, and root's as process 1. Forklift's own two limits are tested in forklift.e2e.ts.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { clean, conflict } from '../harness/scene.ts'
import { until } from '../support/world.ts'
import { appears, box, docker, expectCode, removeBoxes } from './box.ts'
import { bash } from './model.ts'

afterAll(removeBoxes)

const turn = (command: string) => [{ say: 'I am at work on greeting.txt', calls: [bash(command, 900_000)] }]

/** The processes with exactly this command line, on this machine and in its containers. */
const running = (command: string) =>
  readdirSync('/proc').filter(entry => {
    if (!/^\d+$/.test(entry)) return false
    const file = `/proc/${entry}/cmdline`
    try {
      return readFileSync(file, 'utf8').replaceAll('\0', ' ').trim() === command
    } catch {
      return false
    }
  })

const isGone = async (name: string) => (await docker('inspect', name)).code !== 0

/** Starts a container whose agent runs a command, and stops the container as Forklift does once the agent works. */
async function stoppedAtWork(command: string) {
  let secondsToStop = 0
  const result = await box({
    scene: { ...conflict, seconds: 600 },
    script: turn(command),
    whileRunning: async ({ name, workspace }) => {
      await appears(join(workspace, 'started'))
      const began = performance.now()
      await docker('stop', name)
      secondsToStop = (performance.now() - began) / 1000
    },
  })
  return { result, secondsToStop }
}

// Seconds for an agent that works until its time runs out. Two cores that are busy otherwise need 20 until it works.
const TIME = 44

// These tests mostly wait, so they run at the same time.
describe('time', () => {
  test.concurrent('that runs out is noticed by the harness, which writes STUCK.md', async () => {
    const result = await box({ scene: { ...conflict, seconds: TIME }, script: turn('sleep 900') })
    expectCode(result, 2)
    expect(result.seconds).toBeLessThan(TIME)
    expect(result.stuck).toContain('- greeting.txt')
    expect(result.stuck).toContain('> I am at work on greeting.txt')
    expect(await isGone(result.name)).toBe(true)
  })

  test.concurrent('that runs out with upstream merged is no failure', async () => {
    const result = await box({ scene: { ...clean, seconds: TIME }, script: turn('sleep 900') })
    expectCode(result, 0)
    expect(result.harnessLog).toContain('The tests did not finish.')
    expect(result.merged).toBe(true)
  })

  test.concurrent('is kept by process 1 when the agent has stopped the harness and every other clock', async () => {
    const script = `trap '' TERM INT HUP
      setsid nohup sleep 98761 >/dev/null 2>&1 &
      pkill -KILL -f '[r]ead -r agent'; pkill -STOP -f 'harness/[r]un.sh'; pkill -KILL -f '[s]leep ${(TIME * 3) / 4}$'
      setsid nohup sleep 98762 >/dev/null 2>&1 & touch started; sleep 900`
    let seen = 0
    const result = await box({
      scene: { ...conflict, seconds: TIME },
      script: turn(script),
      whileRunning: async ({ workspace }) => {
        await appears(join(workspace, 'started'))
        // The command of the process is first setsid, then nohup, and only then `sleep 98762`.
        await until('what the agent left behind', () => running('sleep 98762').length > 0)
        seen = running('sleep 98762').length
      },
    })
    expect(seen).toBe(1)
    expectCode(result, 2)
    expect(result.log).toContain('still running 15 seconds after its time')
    expect(result.seconds).toBeLessThan(TIME + 15 + 12)
    expect(result.stuck).toBe('')
    expect(running('sleep 98762')).toEqual([])
    expect(await isGone(result.name)).toBe(true)
  })

  test('cut short by `docker stop` leaves STUCK.md within the grace', async () => {
    const { result, secondsToStop } = await stoppedAtWork('touch started; sleep 900')
    expectCode(result, 2)
    expect(secondsToStop).toBeLessThan(9)
    expect(result.stuck).toContain('- greeting.txt')
  })

  test('is kept although the agent ignores `docker stop`', async () => {
    const { result, secondsToStop } = await stoppedAtWork("pkill -KILL -f '[r]ead -r agent'; touch started; sleep 900")
    expectCode(result, 2)
    expect(secondsToStop).toBeLessThan(12)
  })

  test('is kept although the agent takes every process there is', async () => {
    const script = 'bomb() { bomb | bomb & }; touch started; bomb; sleep 900'
    const result = await box({
      scene: { ...conflict, seconds: 24 },
      script: turn(script),
      whileRunning: ({ workspace }) => appears(join(workspace, 'started')),
    })
    expect([2, 5]).toContain(result.code)
    expect(result.seconds).toBeLessThan(24 + 15 + 12)
    expect(await isGone(result.name)).toBe(true)
    expect(existsSync(join(result.workspace, 'started'))).toBe(true)
  })

  test('of an agent that kills the harness ends at once, as a failure', async () => {
    const result = await box({
      scene: { ...clean, seconds: 60 },
      script: turn("pkill -KILL -f 'harness/[r]un.sh'; sleep 900"),
    })
    expectCode(result, 5)
    expect(result.seconds).toBeLessThan(30)
  })
})
