/** A workflow that asks a model and checks the answer, each on the queue of its part of the work. */
import { checking, sending } from '../../../../../forge/tasks/flows/effects.ts'

export async function forgeRun({ run }: { run: string }): Promise<unknown[]> {
  const place = { run, attempt: 1, step: 'one' }
  const asked: unknown = await sending.send({ ...place, key: 'k', model: 'm' } as never)
  const checked: unknown = await checking.validate({ ...place, task: 'one' } as never)
  return [asked, checked]
}
