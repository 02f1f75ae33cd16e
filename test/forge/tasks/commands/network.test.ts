/** `forge run --network`: checks get the network only after the user has agreed. */
import { expect, test } from 'bun:test'
import { PassThrough } from 'node:stream'
import type { ReadStream } from 'node:tty'
import type { CommandContext } from '../../../../forge/tasks/commands/context.ts'
import { openNetwork, settleNetwork } from '../../../../forge/tasks/commands/network.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { makePlace } from '../../../support/repository.ts'

async function makeTerminal(answer?: string) {
  const place = await makePlace()
  const input = new PassThrough()
  if (answer !== undefined) input.write(`${answer}\n`)
  const told: string[] = []
  const context: CommandContext = {
    cwd: place.path,
    env: { XDG_STATE_HOME: `${place.folder}/state`, XDG_CONFIG_HOME: `${place.folder}/config` },
    signal: new AbortController().signal,
    out: line => told.push(line),
    err: line => told.push(line),
    draw: () => undefined,
    input: input as unknown as ReadStream,
    isTerminal: answer !== undefined,
  }
  const here = { ...place, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() }
  return {
    told,
    settle: (wish: 'give' | 'take back', isSure = false) => settleNetwork(here, { wish, isSure }, context),
    isGiven: async () => (await openNetwork(here, context)).isGiven(),
    [Symbol.asyncDispose]: () => place[Symbol.asyncDispose](),
  }
}

test('a person is told what it opens, and their yes holds until it is taken back', async () => {
  await using terminal = await makeTerminal('yes')
  await terminal.settle('give')
  expect(terminal.told.join(' ')).toContain('your local network')
  expect(await terminal.isGiven()).toBe(true)
  // The question is not asked again.
  await terminal.settle('give')
  await terminal.settle('take back')
  expect(await terminal.isGiven()).toBe(false)
})

test('with any other answer nothing is begun, and nothing is given', async () => {
  await using terminal = await makeTerminal('why')
  expect(await refusedBy(terminal.settle('give'))).toThrow('The network was not allowed, and nothing was begun')
  expect(await terminal.isGiven()).toBe(false)
})

test('without a terminal, --yes is needed', async () => {
  await using terminal = await makeTerminal()
  expect(await refusedBy(terminal.settle('give'))).toThrow(
    'There is no terminal to ask about the network on: add --yes.',
  )
  expect(await terminal.isGiven()).toBe(false)
  await terminal.settle('give', true)
  expect(await terminal.isGiven()).toBe(true)
})
