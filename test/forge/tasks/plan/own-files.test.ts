/** The files that a check consists of, by its command. */
import { expect, test } from 'bun:test'
import { filesOfCheck } from '../../../../forge/tasks/plan/own-files.ts'

test.each([
  ['sh check.sh', ['check.sh']],
  ['./scripts/check.sh --all && bun test test/a.test.ts', ['scripts/check.sh', 'test/a.test.ts', 'package.json']],
  ['npm run lint', ['package.json']],
  ['make check', ['Makefile', 'makefile', 'GNUmakefile']],
  // A file that the command only reads is what is checked, not part of the check.
  ["grep -q 'done' a.txt && ! test -e b.txt | cat c.txt", []],
  ['test -e x.txt && python3 tools/check.py x.txt', ['tools/check.py', 'x.txt']],
  ['true', []],
])('%s: %j', (command, files) => {
  expect(filesOfCheck(command)).toEqual(files)
})
