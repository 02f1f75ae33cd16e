// The check of the disk before a run, and the removal of a run that filled it.
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeDisk, hasFilledTheDisk, removeWhatTheAgentWrote } from '../../forklift/disk-space.ts'
import { refusedBy } from '../support/refusals.ts'

setDefaultTimeout(60_000)

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** Makes the run directory of an agent that wrote all kinds of files. */
function makeRun() {
  const path = mkdtempSync(join(tmpdir(), 'forklift-disk-'))
  folders.push(path)
  for (const folder of ['workspace/deep/deeper', 'harness-state/logs', 'harness-state/scratch/home']) {
    mkdirSync(join(path, folder), { recursive: true })
  }
  const write = (name: string, content: string | Uint8Array = 'x') => writeFileSync(join(path, name), content)
  for (const file of [
    'metadata.json',
    'workspace/big',
    'workspace/deep/deeper/big',
    'harness-state/scratch/home/big',
  ]) {
    write(file)
  }
  for (const file of ['run.txt', 'instructions.txt', 'logs/harness.log', 'mine']) write(`harness-state/${file}`)
  return { path, write }
}

test('the agent’s files are removed, and the run’s own files and logs stay', async () => {
  const run = makeRun()
  run.write('harness-state/logs/events.jsonl', new Uint8Array(9 << 20))
  await removeWhatTheAgentWrote(run)
  expect(readdirSync(run.path, { recursive: true }).sort()).toEqual([
    'harness-state',
    'harness-state/instructions.txt',
    'harness-state/logs',
    'harness-state/logs/harness.log',
    'harness-state/run.txt',
    'metadata.json',
  ])
})

test('folders that are closed, links that lead elsewhere and names that are taken keep nothing', async () => {
  const run = makeRun()
  const elsewhere = makeRun()
  chmodSync(join(elsewhere.path, 'workspace/deep'), 0o500)
  symlinkSync(elsewhere.path, join(run.path, 'workspace/link'))
  symlinkSync(elsewhere.path, join(run.path, 'harness-state/link'))
  rmSync(join(run.path, 'harness-state/logs'), { recursive: true })
  symlinkSync(elsewhere.path, join(run.path, 'harness-state/logs'))
  rmSync(join(run.path, 'harness-state/run.txt'))
  mkdirSync(join(run.path, 'harness-state/run.txt/full'), { recursive: true })
  for (const folder of ['workspace/deep', 'harness-state/scratch', 'harness-state']) {
    chmodSync(join(run.path, folder), 0)
  }
  await removeWhatTheAgentWrote(run)
  expect(readdirSync(run.path, { recursive: true }).sort()).toEqual([
    'harness-state',
    'harness-state/instructions.txt',
    'metadata.json',
  ])
  expect(existsSync(join(elsewhere.path, 'workspace/deep/deeper/big'))).toBe(true)
})

test('names of any bytes, very many logs and very deep folders go, too', async () => {
  const run = makeRun()
  for (let at = 0; at < 20; at++) run.write(`harness-state/logs/${at}`, new Uint8Array(1 << 20))
  for (const folder of ['harness-state', 'harness-state/logs']) {
    writeFileSync(Buffer.from(`${run.path}/${folder}/bad\xff\xfename`, 'latin1'), 'x')
  }
  // As deeply nested as one argument can name.
  Bun.spawnSync(['mkdir', '-p', 'd/'.repeat(2000)], { cwd: join(run.path, 'workspace') })
  await removeWhatTheAgentWrote(run)
  expect(readdirSync(run.path).sort()).toEqual(['harness-state', 'metadata.json'])
  expect(readdirSync(join(run.path, 'harness-state/logs'))).toEqual(['harness.log'])
})

test('only the container’s last line says that the disk was filled, never a file of the agent', async () => {
  const run = makeRun()
  const start = 'docker run --rm x\nentry: closed: user 1000:1000\nentry: the agent starts\n'
  const ends: [string, boolean][] = [
    ['disk: less than 1 GiB is left on the disk of the workspace\n', true],
    ['disk: fewer than 10,000 more files fit on the disk of the workspace\n', true],
    ['entry: the proxy ended\n', false],
    ['', false],
  ]
  run.write('harness-state/logs/harness.log', 'harness: disk: less than 1 GiB is left\n')
  for (const [end, isFull] of ends) {
    run.write('container.log', start + end)
    expect(await hasFilledTheDisk(run)).toBe(isFull)
  }
})

test('a check says how much space is left, and whether the system is on the same disk', async () => {
  expect(await describeDisk(tmpdir())).toMatch(
    /^\d+ GiB left(; runs share the disk of the system|, on a file system of its own)/,
  )
  if (existsSync('/proc/version')) expect(await refusedBy(describeDisk('/proc'))).toThrow('Less than 2 GiB are left')
})
