/**
 * Random sessions: while the cache is warm, each request begins with the one before, and the requests tell the content
 * of the active files.
 */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { requestFor } from '../../../forge/ai/context.ts'
import { quoted } from '../../../forge/ai/fence.ts'
import { filesIn, prepareSession, type State, withToolsDone } from '../../../forge/ai/opening.ts'
import type { ModelAnswer, Request } from '../../../forge/ai/request.ts'
import {
  newSession,
  type Session,
  withActive,
  withAnswer,
  withEnd,
  withInactive,
  withResult,
  withUser,
} from '../../../forge/ai/session.ts'
import { readSession, writeSession } from '../../../forge/ai/session-file.ts'
import { openSummaries } from '../../../forge/ai/summaries.ts'
import { WorkInProgressVfs } from '../../../forge/vfs.ts'
import { commit } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'
import { makePlace } from '../../support/repository.ts'

const SEEDS = Array.from({ length: 6 }, (_, seed) => seed)
const STEPS = 40
const NAMES = ['AGENTS.md', 'a.ts', 'b.md', 'src/CLAUDE.md', 'src/c.ts', 'src/deep/d.py', 'caf\xe9']
const same = (text: string): string => text
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }

/** The content of a request in the order in which a provider reads it, block by block, without the cache marks. */
const piecesOf = ({ system, messages }: Request): string[] =>
  [...system, ...messages.flatMap(({ role, blocks }) => blocks.map(block => ({ role, ...block })))].map(block =>
    JSON.stringify({ ...block, mark: undefined }),
  )

const STATEMENT =
  /The file ("(?:[^"\\]|\\.)+") (?:is active(?: from here on)?|has changed, not by your edits: this replaces what you had)(?: \([^)]*\):\n(`{3,})\n([\s\S]*?)\2|(?: from here on)?\. Its content is that of ("(?:[^"\\]|\\.)+"))|The file ("(?:[^"\\]|\\.)+") (?:is gone|has changed, not by your edits: read it again)/g

/** Tracks what a model knows of the contents of files, from its requests and its own edits. */
class Reader {
  readonly #contents = new Map<string, string>()
  readonly #gone = new Set<string>()

  read(text: string): void {
    for (const [, name, , content, same, lost] of text.matchAll(STATEMENT)) {
      if (lost !== undefined) this.#contents.delete(lost)
      const known = same === undefined ? content : this.#contents.get(same)
      if (name !== undefined && known !== undefined) this.#contents.set(name, known)
    }
  }

  /** Applies an edit of a file that was read or written by the model; the contents of others are unknown. */
  edit(path: string, content: string | undefined): void {
    const name = quoted(path)
    if (content === undefined) this.#gone.add(name)
    else if (this.#gone.delete(name) || this.#contents.has(name)) this.#contents.set(name, content)
  }

  knows(path: string): string | undefined {
    return this.#contents.get(quoted(path))
  }
}

test.each(SEEDS)(
  'random session %i',
  async seed => {
    const random = randomFrom(seed + 1)
    await using place = await makePlace()
    const folder = await mkdtemp(join(tmpdir(), 'forge-random-'))
    const oid = await commit(place.path, 'main', { 'AGENTS.md': 'Be short.\n', 'a.ts': 'a\n', 'src/c.ts': 'c\n' })
    const vfs = new WorkInProgressVfs(place.objects, oid)
    let summaries = openSummaries(place.objects, { folder })
    let session: Session = newSession()
    let now = Date.UTC(2026, 10, 22)
    let before: { opening: Session['opening']; pieces: string[] } | undefined
    let [count, compared] = [0, 0]
    let reader = new Reader()
    const state = async (): Promise<State> => {
      const model = { name: 'anthropic/x', window: 200_000 }
      return { objects: place.objects, summaries, model, tools: [], tree: await vfs.writeTree(), branch: 'main' }
    }
    const anyName = () => NAMES[random.below(NAMES.length)] ?? ''
    const contentAt = async (path: string) =>
      (await vfs.fileExists(path)) ? (await vfs.readFile(path)).toString() : undefined
    const change = async (): Promise<string> => {
      const path = anyName()
      const isThere = await vfs.fileExists(path)
      if (isThere && random.below(4) === 0) await vfs.deleteFile(path)
      else await vfs.writeFile(path, Buffer.from(`${random.below(5)}\n`))
      return path
    }
    /** Packs the next request, and compares it with the one before, unless old reasoning was dropped between them. */
    const ask = async (asks?: 'commit message') => {
      const pieces = piecesOf(await requestFor(session, await state(), asks ? { asks } : {}))
      const isWarm = before?.opening?.at === session.opening?.at
      const known = isWarm ? (before?.pieces ?? []) : []
      expect(pieces.slice(0, known.length)).toEqual(known)
      if (isWarm) compared++
      else reader = new Reader()
      for (const piece of pieces.slice(known.length)) reader.read(JSON.parse(piece).text ?? '')
      for (const path of (await filesIn(session, await state())).files.keys())
        expect([path, reader.knows(path)]).toEqual([path, await contentAt(path)])
      before = { opening: session.opening, pieces }
    }
    const answer = (turn: string, blocks: ModelAnswer['blocks']) => {
      session = withAnswer(session, { turn, model: 'm', answer: { blocks, usage } }, same)
    }
    try {
      for (let step = 0; step < STEPS; step++) {
        const turn = `t${step}`
        if (random.below(3) === 0) await change()
        if (random.below(4) === 0) session = withActive(session, anyName())
        if (random.below(5) === 0) session = withInactive(session, anyName())
        now += random.below(10) === 0 ? 7 * 60_000 : 20_000
        session = withUser(
          await prepareSession(session, await state(), now),
          { turn, at: now, text: `Do ${step}` },
          same,
        )
        for (let calls = random.below(4); calls > 0; calls--) {
          await ask()
          const ids = Array.from({ length: 1 + random.below(3) }, () => `c${random.below(3) === 0 ? 0 : count++}`)
          answer(
            turn,
            ids.map(id => ({ type: 'call', id, name: 'x', arguments: { step } })),
          )
          const touched: string[] = []
          for (const id of new Set(ids)) {
            if (random.below(2) === 0) {
              const path = await change()
              touched.push(path)
              reader.edit(path, await contentAt(path))
            }
            const result = { turn, id, name: 'x', text: `did ${id}`, isError: false, words: '', seconds: 0 }
            session = withResult(session, result, same)
          }
          const [activated, deactivated] = [random.below(3) ? [] : [anyName()], random.below(4) ? [] : [anyName()]]
          session = await withToolsDone(session, await state(), { touched, activated, deactivated })
        }
        const how = random.pick(['done', 'done', 'stopped', 'failed'] as const)
        if (how !== 'failed') {
          await ask()
          answer(turn, [
            { type: 'reasoning', text: 'hm' },
            { type: 'text', text: `Did ${step}` },
          ])
          if (how === 'stopped') answer(turn, [{ type: 'call', id: `late${step}`, name: 'x', arguments: {} }])
        }
        if (how === 'done') await ask('commit message')
        const message = how === 'done' && random.below(5) ? { message: `Message ${step}` } : {}
        // A question without an answer is not in the next request.
        if (how === 'done' && !message.message && before) before.pieces.pop()
        session = withEnd(session, { turn, at: now, how, ...message, model: 'm', usage, seconds: 1 }, same)
        if (random.below(6) === 0) {
          session = readSession(writeSession(session)).session
          summaries[Symbol.dispose]()
          summaries = openSummaries(place.objects, { folder })
        }
      }
      expect(compared).toBeGreaterThan(STEPS / 2)
      expect(readSession(writeSession(session))).toEqual({ session })
    } finally {
      summaries[Symbol.dispose]()
      await rm(folder, { recursive: true, force: true })
    }
  },
  60_000,
)
