/** Only the user can allow checks the network. */
import { expect, test } from 'bun:test'
import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Approvals } from '../../../forge/ai/approvals.ts'
import { NetworkPermission } from '../../../forge/ai/network.ts'
import { makePlace } from '../../support/repository.ts'

async function makePermissions() {
  const place = await makePlace()
  const state = join(place.folder, 'state')
  await mkdir(state)
  const of = (key: string) => new NetworkPermission(new Approvals(join(place.folder, key)), state, place.repository)
  return { place, state, of, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
}

test('without a word there is no network; it is given once for all processes, and taken back', async () => {
  await using scene = await makePermissions()
  expect(await scene.of('config').isGiven()).toBe(false)
  await scene.of('config').give()
  expect(await scene.of('config').isGiven()).toBe(true)
  await scene.of('config').takeBack()
  expect(await scene.of('config').isGiven()).toBe(false)
})

test('a signature of another key allows nothing, nor does what is no approval', async () => {
  await using scene = await makePermissions()
  await scene.of('stranger').give()
  expect(await scene.of('config').isGiven()).toBe(false)
  await Bun.write(join(scene.state, 'network.json'), '{"version":1,"approvals":[{"network":true}]}')
  expect(await scene.of('config').isGiven()).toBe(false)
})

test('what was allowed in one repository counts in no other', async () => {
  await using scene = await makePermissions()
  await scene.of('config').give()
  await using other = await makePlace()
  const state = join(other.folder, 'state')
  await mkdir(state)
  await copyFile(join(scene.state, 'network.json'), join(state, 'network.json'))
  const approvals = new Approvals(join(scene.place.folder, 'config'))
  expect(await new NetworkPermission(approvals, state, other.repository).isGiven()).toBe(false)
})
