/**
 * A stand-in for the command `forge`, for tests of the desk: it prints what was recorded of the real one in the folder
 * RECORDED, or what a test has set in FORGE_SAYS, and records its arguments.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const { CALLS = '', FORGE_SAYS, FORGE_COMPLAINS, FORGE_WAITS } = process.env
const RECORDED = join(import.meta.dir, 'recorded')
const args = process.argv.slice(2)
appendFileSync(CALLS, `${JSON.stringify({ args, cwd: process.cwd() })}\n`)

function recorded(): string {
  const [verb = '', ...words] = args
  if (verb === 'runs') return 'runs'
  if (verb === 'land') return 'landing'
  if (verb !== 'show') return ''
  if (words.includes('--journal')) return 'journal'
  return words.filter(word => !word.startsWith('--')).length === 2 ? 'task' : 'run'
}

if (FORGE_WAITS) await Bun.sleep(Number(FORGE_WAITS))
if (FORGE_COMPLAINS) {
  console.error('A first line.')
  console.error(FORGE_COMPLAINS)
  process.exit(1)
}
const name = recorded()
const text = FORGE_SAYS ?? (name ? readFileSync(join(RECORDED, `${name}.jsonl`), 'utf8') : 'docs goes on with that.\n')
process.stdout.write(text)
