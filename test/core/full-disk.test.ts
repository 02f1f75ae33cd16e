/** A full disk is recognised, whether the system, git or SQLite reports it. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { whyFull } from '../../core/full-disk.ts'
import { GitError } from '../../core/git/run.ts'

const SOMEWHERE = 'No space is left on a disk that is written to: make room there.'
const ofSystem = (code: string) => Object.assign(new Error(code), { code })
const ofGit = (stderr: string) => new GitError('hash-object', 128, stderr, '')

test.each([
  ['the system', ofSystem('ENOSPC')],
  ['a quota', ofSystem('EDQUOT')],
  ['a limit of the process', ofSystem('EFBIG')],
  ['SQLite', ofSystem('SQLITE_FULL')],
  ['git', ofGit('error: unable to create temporary file: No space left on device\nfatal: failed')],
  ['git, of a quota', ofGit('fatal: cannot write: Disk quota exceeded')],
  ['what an error was caused by', new Error('It failed', { cause: ofSystem('ENOSPC') })],
])('%s says it, and a sentence comes of it', async (_, error) => {
  expect(await whyFull(error, [])).toBe(SOMEWHERE)
})

test.each([
  ['another trouble of the system', ofSystem('EACCES')],
  ['another trouble of git', ofGit('fatal: not a tree object')],
  ['another error', new Error('It failed')],
  ['what is no error', 'ENOSPC'],
])('%s is none', async (_, error) => {
  expect(await whyFull(error, [])).toBeUndefined()
})

test('a file that can’t grow is reported with its folder, from errors of the system and of SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'full-disk-'))
  try {
    const path = JSON.stringify(join(import.meta.dir, '../../core/full-disk.ts'))
    const program = `
      import { Database } from 'bun:sqlite'
      import { appendFileSync } from 'node:fs'
      import { whyFull } from ${path}
      process.on('SIGXFSZ', () => undefined)
      const said = async write => { try { write(); console.log('written') } catch (error) { console.log(await whyFull(error, ['.'])) } }
      await said(() => appendFileSync('file', Buffer.alloc(200_000)))
      await said(() => new Database('base.sqlite').exec('CREATE TABLE t (b); INSERT INTO t VALUES (zeroblob(200000))'))`
    const command = ['bash', '-c', 'ulimit -f 64; exec "$@"', 'bash', process.execPath, '-e', program]
    const child = Bun.spawn(command, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = (await child.stdout.text()).trimEnd().split('\n')
    expect(lines[0]).toBe('No space is left on the disk of .: make room there.')
    expect(lines[1]).toBe('No space is left on the disk of .: make room there.')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
