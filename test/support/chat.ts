/** Runs turns of a chat on a desk with a scripted model. */
import * as v from 'valibot'
import type { Models } from '../../forge/desk/chat/models.ts'
import { Conversation } from '../../forge/desk/contract/chat.ts'
import { News } from '../../forge/desk/contract/news.ts'
import { ask, type Desk, type DeskOptions, makeDesk } from './desk.ts'
import { until } from './repository.ts'
import { modelsOf, type Script, ScriptedModel } from './scripted-model.ts'

export const onBranch = (branch = 'main') => ({ kind: 'branch', branch }) as const

export async function makeChat(script: Script, options: DeskOptions = {}, more: Partial<Models> = {}) {
  const model = new ScriptedModel(script)
  const desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models: modelsOf(model, more), ...options })
  return { model, desk, [Symbol.asyncDispose]: () => desk[Symbol.asyncDispose]() }
}

/** Waits until no turn runs in a branch: it has ended, or waits for a person. Uses only news that the page gets. */
export async function untilEnded({ work, news }: Desk, branch = 'main'): Promise<Conversation> {
  await until(async () => (await ask(work, 'conversation', { at: onBranch(branch) })).turn?.state !== 'running')
  for (const said of news) v.parse(News, JSON.parse(JSON.stringify(said)))
  return v.parse(Conversation, JSON.parse(JSON.stringify(await ask(work, 'conversation', { at: onBranch(branch) }))))
}

export async function run(desk: Desk, text = 'Please.', branch = 'main'): Promise<Conversation> {
  await desk.work.chat.turns.send(branch, text)
  return await untilEnded(desk, branch)
}

/** The error message of a rejected promise. (Bun's own `rejects` sometimes never returns.) */
export const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'it was done',
    error => String(error.message),
  )
