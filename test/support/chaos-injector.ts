/**
 * Loaded into a worker before its own code (`BUN_OPTIONS=--preload …`): kills the worker, the server or both right
 * before, while and after lines of the journal are written, each point once. Does nothing in other programs.
 *
 *   CHAOS_FOLDER  gets a file for each point at which something was killed
 *   CHAOS_TARGET  worker, server, both, or turns
 *   CHAOS_EACH    only every nth line
 */
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Journal } from '../../forge/tasks/runs/journal.ts'
import { RunStore } from '../../forge/tasks/runs/store.ts'

const { CHAOS_FOLDER: folder, CHAOS_TARGET: target = 'turns', CHAOS_EACH: each = '1' } = process.env
if (folder && process.argv.includes('worker')) inject(folder)

function inject(folder: string): void {
  const { note } = Journal.prototype
  Journal.prototype.note = async function (line) {
    reach(folder, line.id, 'before')
    await note.call(this, line)
    reach(folder, line.id, 'after')
  }
  const { keep } = RunStore.prototype
  RunStore.prototype.keep = async function (into, name, content) {
    const oid = await keep.call(this, into, name, content)
    // The journal's line is already in git, but not yet in the journal's file.
    if (into === 'journal') reach(folder, name, 'within')
    return oid
  }
}

/**
 * Kills the target the first time that the writing of this journal line reaches this phase (before, within or after).
 */
function reach(folder: string, line: string, phase: string): void {
  // Parts that differ when a run is repeated are removed, so that the same line has the same name.
  const name = Buffer.from(`${line.replace(/ [0-9a-f]{12}$/, '')} ${phase}`).toString('base64url')
  if (Bun.hash(line.replace(/ [0-9a-f]{12}$/, '')) % BigInt(each) !== 0n) return
  const number = readdirSync(folder).length
  try {
    closeSync(openSync(join(folder, name), 'wx'))
  } catch {
    return
  }
  const whom = target === 'turns' ? ['worker', 'server', 'both'][number % 3] : target
  writeFileSync(join(folder, name), `${whom} ${line} ${phase}\n`)
  if (whom !== 'worker') killServer()
  if (whom !== 'server') process.kill(process.pid, 'SIGKILL')
}

function killServer(): void {
  try {
    const record = readFileSync(join(process.env.XDG_STATE_HOME ?? '', 'forge/temporal/server.json'), 'utf8')
    process.kill(JSON.parse(record).process.pid, 'SIGKILL')
  } catch {
    // The server is already dead.
  }
}
