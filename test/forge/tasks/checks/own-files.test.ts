/** Which files a check is made of, by its command. */
import { expect, test } from 'bun:test'
import { filesOfCheck } from '../../../../forge/tasks/checks/own-files.ts'

test.each([
  ['sh check.sh', ['check.sh']],
  ['./scripts/check.sh --all && bun test test/a.test.ts', ['scripts/check.sh', 'test/a.test.ts', 'package.json']],
  ['npm run lint', ['package.json']],
  ['make check', ['Makefile', 'makefile', 'GNUmakefile']],
  ["grep -q 'done' a.txt", ['a.txt']],
  ['true', []],
])('%s: %j', (command, files) => {
  expect(filesOfCheck(command)).toEqual(files)
})
