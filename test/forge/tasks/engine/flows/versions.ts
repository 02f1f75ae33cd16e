/** A workflow that asks a model and waits for an answer; and one that only waits, the same in both versions. */
import { condition, defineQuery, defineUpdate, setHandler } from '@temporalio/workflow'
import { sending } from '../../../../../forge/tasks/flows/effects.ts'

export async function waitFor(words: string): Promise<string> {
  let word: string | undefined
  setHandler(defineQuery<string>('status'), () => word ?? words)
  setHandler(defineUpdate<void, [string]>('answer'), said => {
    word = said
  })
  await condition(() => word !== undefined)
  return word ?? ''
}

export const ask = async (run: string): Promise<unknown> => await sending.send({ run, step: 'one' } as never)

export async function forgeRun({ run }: { run: string }): Promise<string> {
  const waiting = waitFor('waits')
  const said = await ask(run)
  return `${await waiting}: ${said}`
}

export async function same(): Promise<string> {
  return await waitFor('waits')
}
