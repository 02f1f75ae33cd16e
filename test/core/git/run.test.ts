/** Runs git to its end: exact bytes, limits, and interruption. */
import { expect, test } from 'bun:test'
import { GitError, holds, read, run } from '../../../core/git/run.ts'
import { commit } from '../../support/git.ts'
import { refusalOf, refusedBy } from '../../support/refusals.ts'
import { makePlace, until } from '../../support/repository.ts'

test('input and output are the same to the byte', async () => {
  await using place = await makePlace()
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256))
  const oid = await read(place.repository, ['hash-object', '-w', '--stdin'], { input: bytes })
  expect((await run(place.repository, ['cat-file', 'blob', oid])).stdout.equals(bytes)).toBe(true)
})

test('an end that is no answer is an error with git’s words', async () => {
  await using place = await makePlace()
  const failed = await run(place.repository, ['rev-parse', '--verify', 'nothing']).catch(it => it)
  expect(failed).toBeInstanceOf(GitError)
  expect(failed).toMatchObject({ command: 'rev-parse', code: 128, message: 'fatal: Needed a single revision' })
  expect((await run(place.repository, ['rev-parse', '--verify', 'nothing'], { ok: [128] })).code).toBe(128)
})

test('a question is answered by the exit code, and no failure is taken for a no', async () => {
  await using place = await makePlace()
  const one = await commit(place.path, 'main', { a: '1' })
  const two = await commit(place.path, 'main', { a: '2' })
  const isBefore = (a: string, b: string) => holds(place.repository, ['merge-base', '--is-ancestor', a, b])
  expect([await isBefore(one, two), await isBefore(two, one)]).toEqual([true, false])
  expect(await refusalOf(isBefore(one, 'nothing'))).toBeInstanceOf(GitError)
})

test('more than was asked for is not read', async () => {
  await using place = await makePlace()
  const words = ['-c', 'alias.flood=!yes', 'flood']
  const { stdout, cut } = await run(place.repository, words, { limit: 10_001 })
  expect([stdout.length, cut]).toEqual([10_001, true])
})

test('an interruption ends git with all that it started, and lets nothing more begin', async () => {
  await using place = await makePlace()
  const interruption = new AbortController()
  const where = { ...place.repository, signal: interruption.signal }
  let said = ''
  const asked = run(where, ['-c', 'alias.wait=!echo here >&2; exec sleep 600', 'wait'], {
    onWords: text => {
      said += text
    },
  })
  asked.catch(() => undefined)
  await until(() => said.includes('here'))
  interruption.abort(new Error('enough'))
  expect(await refusedBy(asked)).toThrow('enough')
  expect(await refusedBy(run(where, ['version']))).toThrow('enough')
})

/** Milliseconds until a git command that ignores signals has ended. */
async function timeToEnd(script: string): Promise<number> {
  await using place = await makePlace()
  const interruption = new AbortController()
  let said = ''
  const onWords = (text: string) => {
    said += text
  }
  const where = { ...place.repository, signal: interruption.signal }
  const asked = run(where, ['-c', `alias.stay=!${script}`, 'stay'], { onWords })
  asked.catch(() => undefined)
  await until(() => said.includes('here'))
  const begun = performance.now()
  interruption.abort(new Error('enough'))
  expect(await refusedBy(asked)).toThrow('enough')
  const [, pid] = /here (\d+)/.exec(said) ?? []
  try {
    process.kill(Number(pid), 'SIGKILL')
  } catch {
    // Ignored: the process has already ended, together with git.
  }
  return performance.now() - begun
}

test('a git command that ignores TERM is killed after a delay', async () => {
  const took = await timeToEnd("trap '' TERM; echo here >&2; while :; do sleep 1; done")
  expect(took).toBeGreaterThan(1_500)
  expect(took).toBeLessThan(10_000)
})

// Not every system has the command setsid.
test.skipIf(!Bun.which('setsid'))(
  'a process that left an ended git’s group is not waited for, though it holds the output open',
  async () => {
    expect(await timeToEnd("setsid sh -c 'echo here $$ >&2; exec sleep 600'")).toBeLessThan(10_000)
  },
)
