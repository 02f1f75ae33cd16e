import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPage } from '../../forge/desk/build.ts'
import { removeAtEnd } from './leftovers.ts'

let building: Promise<string> | undefined

/** The folder of the built page: FORGE_TEST_PAGE, built by run.sh for all test files, or built once for this file. */
export function builtPage(): Promise<string> {
  building ??= Promise.resolve(process.env.FORGE_TEST_PAGE || build())
  return building
}

async function build(): Promise<string> {
  const folder = join(tmpdir(), `forge-page-${process.pid}`)
  removeAtEnd(folder)
  await buildPage(folder)
  return folder
}
