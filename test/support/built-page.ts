import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPage } from '../../forge/desk/build.ts'

let building: Promise<string> | undefined

/** The folder of the built page, built once for all tests of a process. */
export function builtPage(): Promise<string> {
  building ??= build()
  return building
}

async function build(): Promise<string> {
  const folder = join(tmpdir(), `forge-page-${process.pid}`)
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  await buildPage(folder)
  return folder
}
