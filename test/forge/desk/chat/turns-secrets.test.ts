/**
 * Secrets do not leak: they are searched for in every object and ref of the repository, in the state and in the news.
 */
import { expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SetModels } from '../../../../forge/desk/chat/models.ts'
import { ModelServer } from '../../../doubles/model-server.ts'
import { onBranch, run } from '../../../support/chat.ts'
import { ask, type Desk, makeDesk } from '../../../support/desk.ts'
import { until } from '../../../support/repository.ts'
import { write } from '../../../support/scripted-model.ts'

const SECRET = 'hunter2-is-no-key-of-any-known-form'
const TOKEN = `ghp_${'a1B2'.repeat(9)}`

/** The contents of the repository and of the desk's folder, as one text. */
async function everythingOf({ git, path, folder }: Desk): Promise<string> {
  const objects = await git('cat-file', '--batch-all-objects', '--batch', '--unordered')
  const refs = await git('for-each-ref')
  const state = await readdir(join(folder, 'state'), { recursive: true, withFileTypes: true })
  const files = state.filter(it => it.isFile()).map(it => readFile(join(it.parentPath, it.name), 'latin1'))
  const logs = await readFile(join(path, '.git/logs/HEAD'), 'latin1').catch(() => '')
  return [objects, refs, logs, ...(await Promise.all(files))].join('\n')
}

for (const provider of ['anthropic', 'openrouter', 'openai'] as const)
  test(`keys and similar text are in no object, ref, file or message of the desk, by ${provider}`, async () => {
    await using server = await ModelServer.start([], { key: SECRET })
    const models = new SetModels({ ...server.environment(provider), XDG_CONFIG_HOME: '/nowhere' })
    await using desk = await makeDesk({ files: { 'a.txt': 'one\n' }, models })
    server.play([
      { text: `Your key is ${SECRET}, base64 ${btoa(SECRET)}, and ${TOKEN}.`, reasoning: `It is ${SECRET}.` },
      { status: 400, words: `The key ${SECRET} is odd` },
      { text: 'I write it.', calls: [{ name: 'get_lines', arguments: { path: SECRET, from: 1 } }] },
      { calls: [write('b.txt', 'b\n'), { name: SECRET, arguments: { [SECRET]: [SECRET, { at: TOKEN }] } }] },
      { text: `It is ${TOKEN}` },
      { text: `Add ${SECRET}\n\n${TOKEN}` },
      { text: `Half of it: ${SECRET}${'.'.repeat(2000)}`, cut: { at: 700, how: 'close' } },
      { status: 400, words: `The key ${encodeURIComponent(SECRET)} is odd` },
    ])
    await run(desk, `My key is ${SECRET}, and ${TOKEN}.`)
    await run(desk, 'Again.')
    await desk.work.chat.turns.end('main', true)
    await run(desk, 'Write b.')
    await run(desk, 'Half.')
    await until(async () => (await ask(desk.work, 'conversation', { at: onBranch() })).turn?.state !== 'running')
    const all = await everythingOf(desk)
    expect([SECRET, btoa(SECRET), TOKEN].filter(it => all.includes(it))).toEqual([])
    expect(all).not.toContain(SECRET.slice(0, 12))
    // Requests to the model contain the secret only in its header.
    expect(server.requests.slice(1).some(({ body }) => body.includes(SECRET))).toBe(false)
    // The secret is not in the news of arriving text, either.
    expect(JSON.stringify(desk.news)).not.toMatch(new RegExp(`${SECRET}|${TOKEN}`))
  }, 120_000)
