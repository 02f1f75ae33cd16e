/** Commands as people and models write them: those that can't show anything, and those that can. */
import { describe, expect, test } from 'bun:test'
import { type CommandRoom, whyNotRun } from '../../../../forge/tasks/plan/commands.ts'

const THERE = ['src', 'src/a.ts', 'tests', 'tests/test_a.py', 'package.json', 'scripts/x.sh', 'README.md']
const ROOM: CommandRoom = {
  programs: undefined,
  hasNetwork: false,
  exists: path => THERE.includes(path),
  scripts: new Set(['test']),
}

describe('fine:', () => {
  test.each([
    'pytest -q',
    'python -m pytest tests/test_a.py::test_x -q',
    'go test ./...',
    'npm test -- --run',
    'bunx tsc --noEmit',
    'python3 -c "import a; assert a.b == 1"',
    '[ -f docs/new.md ]',
    '! grep -rn foo src',
    'diff <(sort README.md) <(sort src/a.ts)',
    'test "$(wc -l < README.md)" -gt 3',
    'if grep -q x README.md; then exit 1; fi',
    'for f in src/*.ts; do node --check "$f"; done',
    'cat README.md | grep -q x',
    'tsc --noEmit || (echo bad && exit 1)',
    'set -e; pytest; echo done',
    'set -o pipefail; pytest | tail -5',
    'pytest && true',
    'node src/a.ts > out.json && jq . out.json',
    'node src/a.ts & sleep 1; curl -f localhost:3000',
    'python - <<EOF\nimport a\nEOF',
    'mkdir -p out && touch out/new.txt && node src/a.ts',
    'bash scripts/x.sh # the slow one || true',
    "awk '$1 > 2 {exit 1}' README.md",
    'cd packages/a && bun test x.test.ts',
    'prettier --check "src/**/*.ts"',
    "echo 'a || true' | grep -q b",
  ])('%s', line => {
    expect(whyNotRun(line, ROOM)).toEqual([])
  })
})

describe('refused:', () => {
  test.each([
    ['exit 0', 'can never fail'],
    [':', 'can never fail'],
    ['A=1', 'can never fail'],
    ['pytest || echo failed', 'behind "||"'],
    ['pytest\ntrue', 'join the parts by "&&"'],
    ['pytest | tee log', '(tee)'],
    ['pytest | cat', '(cat)'],
    ['pytest &', 'behind "&"'],
    ['sh -c "true"', 'can never fail'],
    ['timeout 5 true', 'can never fail'],
    ['bash scripts/y.sh', 'scripts/y.sh'],
    ['/usr/bin/pytest', 'absolute path'],
    ['vim README.md', 'waits for a person'],
    ['git clone https://x.example/y', 'needs the network'],
    ['curl -f https://x.example', 'needs the network'],
    ['npm run build', 'package.json does not have'],
    ['jest --watch', 'never ends'],
    ['echo "a', 'not closed'],
  ])('%s', (line, words) => {
    expect(whyNotRun(line ?? '', ROOM).join(' ')).toContain(words ?? '')
  })

  test('however long and nested it is, it takes no time', () => {
    const from = process.cpuUsage()
    for (const line of [
      '('.repeat(2000),
      '$('.repeat(1000),
      '|'.repeat(2000),
      'a;'.repeat(1000),
      '\\'.repeat(1999),
      `sh -c '${'x '.repeat(900)}'`,
    ])
      whyNotRun(line, ROOM)
    expect(process.cpuUsage(from).user / 1e6).toBeLessThan(1)
  })
})
