/** How a worker of another version of the code is recognised. */
import { expect, test } from 'bun:test'
import { dirname, join, relative } from 'node:path'
import { PARTS } from '../../../../forge/tasks/engine/versions.ts'
import { PROJECT } from '../../../support/world.ts'

/** The project's files that a file imports, directly or not, with itself and dynamic imports. */
async function importsOf(file: string): Promise<Set<string>> {
  const transpiler = new Bun.Transpiler({ loader: 'ts' })
  const files = new Set<string>()
  const open = [join(PROJECT, file)]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files.has(path)) continue
    files.add(path)
    if (!/\.tsx?$/.test(path)) continue
    const text = (await Bun.file(path).text()).replace(/^#!.*/, '')
    const imports = transpiler.scanImports(text).map(it => it.path)
    for (const name of imports) if (name.startsWith('.')) open.push(join(dirname(path), name))
  }
  return new Set([...files].map(path => relative(PROJECT, path)))
}

test('a change of any file that a worker runs is another version', async () => {
  const files = await importsOf('forge/tasks/commands/worker.ts')
  expect(files.size).toBeGreaterThan(50)
  const isCounted = (file: string) => PARTS.some(part => file === part || file.startsWith(`${part}/`))
  expect([...files].filter(file => !isCounted(file))).toEqual([])
}, 60_000)
