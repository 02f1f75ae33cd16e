/** A new page gets the settings that were changed a moment ago. */
import { expect, test } from 'bun:test'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openRepository } from '../../../core/git/repository.ts'
import { Desk } from '../../../forge/desk/desk.ts'
import { commit, PLAIN } from '../../support/git.ts'
import { makePlace } from '../../support/repository.ts'

test('a new page gets settings that were changed a moment ago', async () => {
  await using place = await makePlace()
  await commit(place.path, 'main', { 'a.txt': 'a\n' })
  const state = join(place.path, 'state-of-the-desk')
  await mkdir(state)
  const repository = await openRepository(place.path, { env: PLAIN })
  await using desk = await Desk.open(repository, { state, log: () => undefined })
  for (const name of ['Bo', 'Cleo']) {
    await place.git('config', 'user.name', name)
    await place.git('config', 'user.email', `${name}@example.org`)
    const { answers } = await desk.beginning()
    expect(answers[0]?.value).toMatchObject({ desk: { identity: { name } } })
  }
})
