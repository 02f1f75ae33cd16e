/**
 * Kills a desk at random moments of a turn: the branch is at the commit before or after it, all that was done can be
 * kept or discarded, and the model is asked only on request.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ASK_FOR_MESSAGE } from '../../../../forge/ai/desk-words.ts'
import type { Conversation } from '../../../../forge/desk/contract/chat.ts'
import { type Heard, ModelServer, type Turn } from '../../../doubles/model-server.ts'
import { ask, type Desk, makeDesk, PERSON, textOf } from '../../../support/desk.ts'
import { PLAIN } from '../../../support/git.ts'
import { randomFrom } from '../../../support/random.ts'

const ASKER = join(import.meta.dir, 'asker.ts')
/** How many turns are killed, each at another moment; set TURNS_KILLED for more. */
const ROUNDS = Number(process.env.TURNS_KILLED ?? 6)
const FILES = ['a.txt', 'b.txt', 'c.txt', 'd.txt']

const write = (path: string, round: string) => ({ name: 'write_file', arguments: { path, content: `${round}\n` } })

/** The model's answers: four files in three steps, the end, and the name of the commit. */
function answer({ messages }: Heard): Turn {
  const from = messages.findLastIndex(({ role, text }) => role === 'user' && /Round \d+/.test(text))
  const round = messages[from]?.text.match(/Round \d+/g)?.at(-1) ?? ''
  const steps: Turn[] = [
    { text: 'First this.', calls: [write('a.txt', round)] },
    { calls: [write('b.txt', round), write('c.txt', round)] },
    { calls: [write('d.txt', round)] },
    { text: 'All of it is done.' },
  ]
  const isAsked = messages.at(-1)?.text.includes(ASK_FOR_MESSAGE)
  const done = messages.slice(from).filter(({ calls }) => calls.length > 0).length
  return { delay: 30, pieces: 100, pause: 5, ...(isAsked ? { text: `Do ${round}` } : steps[done]) }
}

/** Starts a desk that runs a turn. Kills it this many milliseconds after its first output, or at the turn's end. */
async function killedAfter(milliseconds: number, words: string[], env: Record<string, string>): Promise<string> {
  const child = Bun.spawn([process.execPath, ASKER, ...words], {
    env: { ...process.env, ...PLAIN, ...PERSON, ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let said = ''
  for await (const piece of child.stdout) {
    if (said === '') setTimeout(() => child.kill('SIGKILL'), milliseconds)
    said += Buffer.from(piece).toString()
    if (said.includes('ended')) child.kill('SIGKILL')
  }
  await child.exited
  return said
}

const usersIn = ({ items }: Conversation) => items.flatMap(item => (item.kind === 'user' ? [item.text] : []))
const onMain = { kind: 'branch', branch: 'main' } as const

/** The files written in the last turn according to the conversation. */
const writtenIn = ({ items }: Conversation): string[] => {
  const last = items.slice(items.findLastIndex(({ kind }) => kind === 'user'))
  return last.flatMap(item =>
    item.kind === 'call' && item.call.state === 'done' ? [item.call.title.split(' ')[1] ?? ''] : [],
  )
}

/** The number of answers in the last turn of the conversation. */
function answersIn({ items }: Conversation): number {
  const last = items.slice(items.findLastIndex(({ kind }) => kind === 'user'))
  const said = last.map(item => (item.kind === 'text' ? item.text : item.kind === 'call' ? item.call.title : ''))
  return ['First this.', 'write_file b.txt', 'write_file d.txt', 'All of it is done.'].filter(it => said.includes(it))
    .length
}

const inFiles = async ({ work }: Desk): Promise<string> =>
  JSON.stringify(await Promise.all(FILES.map(path => textOf(work, 'main', path))))

test(
  `after kill -9 at ${ROUNDS} moments the branch is before or after the turn, and nothing is paid for twice`,
  async () => {
    await using server = await ModelServer.start(answer)
    await using desk = await makeDesk({ files: Object.fromEntries(FILES.map(path => [path, 'begin\n'])), bare: true })
    await desk.work[Symbol.asyncDispose]()
    const env = { ...server.environment('openai'), XDG_CONFIG_HOME: desk.folder }
    const random = randomFrom(Date.now())
    const ends = { before: 0, begun: 0, unfinished: 0, done: 0 }
    for (let round = 1; round <= ROUNDS; round++) {
      const text = `Round ${round}`
      const [tip, seen] = [await desk.git('rev-parse', 'main'), server.requests.length]
      const work = await desk.restart()
      const [before, earlier] = [await inFiles(desk), usersIn(await ask(work, 'conversation', { at: onMain }))]
      await work[Symbol.asyncDispose]()
      const said = await killedAfter(random.below(3500), [desk.path, join(desk.folder, 'state'), text], env)

      const bodies = server.requests.slice(seen).map(({ body }) => body.toString())
      expect(new Set(bodies).size).toBe(bodies.length)
      await desk.restart()
      const found = await ask(desk.work, 'conversation', { at: onMain })
      const [now, done] = [await desk.git('rev-parse', 'main'), JSON.stringify(FILES.map(() => `${text}\n`))]
      if (now !== tip) {
        // The desk was killed after the turn: all of the turn is in one commit.
        ends.done++
        expect(await desk.git('rev-parse', 'main~1')).toBe(tip)
        expect(await desk.git('log', '--format=%s', '-1', 'main')).toBe(`Do ${text}`)
        expect(found.turn).toBeUndefined()
        expect(usersIn(found)).toEqual([...earlier, text])
        expect(await inFiles(desk)).toBe(done)
      } else if (!found.turn) {
        // The desk was killed before the turn: its begin was not reported, and no request was sent.
        ends.before++
        expect(said).not.toContain('begun')
        expect(bodies).toEqual([])
        expect(await inFiles(desk)).toBe(before)
        expect(usersIn(found)).toEqual(earlier)
      } else {
        ends.unfinished++
        if (bodies.length === 0) ends.begun++
        expect(found.turn.state).toBe('unfinished')
        expect(usersIn(found)).toEqual([...earlier, text])
        // Exactly the files that the conversation says were written have the new text.
        const written = writtenIn(found)
        const so = await Promise.all(FILES.map(async path => (await textOf(desk.work, 'main', path)) === `${text}\n`))
        expect(FILES.filter((_, at) => so[at])).toEqual(written)
        // At most the answer that was arriving is lost.
        expect(bodies.length).toBeLessThanOrEqual(answersIn(found) + 1)
        const keep = random.below(2) === 0
        const files = await inFiles(desk)
        await desk.work.chat.turns.end('main', keep)
        expect(await inFiles(desk)).toBe(keep ? files : before)
        expect(usersIn(await ask(desk.work, 'conversation', { at: onMain }))).toEqual(
          keep ? [...earlier, text] : earlier,
        )
        if (keep && written.length > 0) await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
      }
      // Neither a restart nor keeping or discarding sends a request.
      await desk.work.flush()
      expect(server.requests.length).toBe(seen + bodies.length)
      expect(await desk.git('for-each-ref', 'refs/forge/turns')).toBe('')
      await desk.work[Symbol.asyncDispose]()
    }
    await desk.git('fsck', '--strict', '--no-dangling')
    console.log(JSON.stringify({ ends, requests: server.requests.length }))
  },
  60_000 + ROUNDS * 10_000,
)
