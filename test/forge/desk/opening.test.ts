/** What a window is told that comes early: before the desk is open, or just after somebody has set something. */
import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openRepository } from '../../../core/git/repository.ts'
import type { DeskInfo } from '../../../forge/desk/contract/desk.ts'
import { Desk } from '../../../forge/desk/desk.ts'
import { openWork } from '../../../forge/desk/work.ts'
import { commit, PLAIN } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makePlace } from '../../support/repository.ts'

type Opening = Parameters<typeof Desk.begin>[1]['openWork']

/** A desk that is being opened, and what a window at it says and hears. */
async function beginDesk(opening: Opening) {
  const place = await makePlace()
  await commit(place.path, 'main', { 'a.txt': 'a\n' })
  const state = join(place.path, 'state-of-the-desk')
  await mkdir(state)
  const repository = await openRepository(place.path, { env: PLAIN })
  const desk = Desk.begin(repository, { state, openWork: opening, log: () => undefined })
  const heard: { re?: number; value?: unknown; error?: string }[] = []
  let wake: () => void = () => undefined
  const listener = desk.enter({
    send: text => {
      heard.push(JSON.parse(text))
      wake()
    },
    end: why => {
      throw new Error(why)
    },
  })
  let asked = 0
  const ask = async () => {
    const id = ++asked
    listener.hear(JSON.stringify({ id, ask: 'desk' }))
    for (;;) {
      const reply = heard.find(({ re }) => re === id)
      if (reply) return reply as { value?: { desk: DeskInfo }; error?: string }
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return {
    place,
    desk,
    heard,
    ask,
    [Symbol.asyncDispose]: async () => {
      await desk[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}

test('a window that comes before the desk is open is answered when it is', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  await using it = await beginDesk(async (...place) => {
    await promise
    return await openWork(...place)
  })
  const answer = it.ask()
  expect(it.heard).toEqual([])
  resolve()
  expect((await answer).value?.desk.branches.map(({ name }) => name)).toEqual(['main'])
})

test('where the desk can not be opened, a window is told why, as is who opened it', async () => {
  await using it = await beginDesk(() => Promise.reject(new Error('the disk is gone')))
  expect((await it.ask()).error).toContain('the disk is gone')
  expect(await refusedBy(it.desk.opened)).toThrow('the disk is gone')
})

test('a page that begins is told what was set a moment ago', async () => {
  await using it = await beginDesk(openWork)
  for (const name of ['Bo', 'Cleo']) {
    await it.place.git('config', 'user.name', name)
    await it.place.git('config', 'user.email', `${name}@example.org`)
    expect((await it.ask()).value?.desk.identity?.name).toBe(name)
  }
})
