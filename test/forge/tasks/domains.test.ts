/** Runs of the demo whose product is not code: a researched text, and data. */
import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PROJECT } from '../../support/world.ts'

/** Runs the demo of a domain to its end. Gives its output. */
async function demo(domain: string): Promise<{ code: number; out: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'forge-domain-'))
  try {
    const env = { ...process.env, TMPDIR: folder, TASK_MODEL_DELAY: '0' }
    const command = [join(PROJECT, 'test/demo-tasks.sh'), domain]
    const child = Bun.spawn(command, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const out = await child.stdout.text()
    return { code: await child.exited, out }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('a text is researched from given sources: a wrong quote is found, mended, and remembered', async () => {
  const { code, out } = await demo('text')
  expect(code).toBe(0)
  expect(out).toContain('failed: 1 of 5 checks failed: bun check.ts citations report.md')
  expect(out).toContain('passed: It passed at attempt 2.')
  expect(out).toMatch(/^quotes-word-for-word {2}20/m)
  expect(out).toContain('[^1]: sources/pilot.md: "The mean spring range at Nordhafen is 3.1 metres"')
}, 120_000)

test('data fits its schema, and a row that is there twice is found', async () => {
  const { code, out } = await demo('data')
  expect(code).toBe(0)
  expect(out).toContain('failed: 1 of 2 checks failed: bun check.ts rows')
  expect(out).toMatch(/^rows-in-two-months {2}20/m)
  expect(out).toContain('harbour,count,cents\n  Nordhafen,3,3750\n  Südhafen,2,1600\n')
}, 120_000)

test('a domain that is none is told', async () => {
  const child = Bun.spawn([join(PROJECT, 'test/demo-tasks.sh'), 'music'], { stdio: ['ignore', 'ignore', 'pipe'] })
  expect(await child.stderr.text()).toBe('There is no demo of music: DOMAIN=text or DOMAIN=data.\n')
  expect(await child.exited).toBe(64)
})
