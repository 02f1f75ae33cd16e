/** Findings in the output of compilers, linters and test runners, and which of them are new. */
import { expect, test } from 'bun:test'
import { findingsIn, newFindings } from '../../../../forge/tasks/checks/findings.ts'

test('complaints of compilers and linters are read with their places', () => {
  const output = [
    "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
    './src/b.ts:10:2: lint/style/useConst use const',
    '/workspace/pkg/m.py:7: error: Name "y" is not defined  [name-defined]',
    'src/main.rs:4:9: warning: unused variable',
    'see https://example.org:443/x for more',
    'Ran 3 tests across 1 file. [12.00ms]',
  ].join('\n')
  expect(findingsIn(output).map(({ path, line, words }) => [path, line, words.slice(0, 14)])).toEqual([
    ['src/a.ts', 3, 'error TS2304: '],
    ['src/b.ts', 10, 'lint/style/use'],
    ['pkg/m.py', 7, 'error: Name "y'],
    ['src/main.rs', 4, 'warning: unuse'],
  ])
})

test('tests that failed are read, of each runner', () => {
  const output = [
    '(fail) a thing > does it [0.42ms]',
    'not ok 3 - adds',
    'FAILED tests/test_a.py::test_b - assert 1 == 2',
    '  ✕ multiplies (5 ms)',
    '--- FAIL: TestX (0.00s)',
    'test tests::it_works ... FAILED',
    '(pass) another [1.00ms]',
  ].join('\n')
  expect(findingsIn(output).map(it => it.words)).toEqual([
    'test failed: a thing > does it',
    'test failed: adds',
    'test failed: tests/test_a.py::test_b',
    'test failed: multiplies',
    'test failed: TestX',
    'test failed: tests::it_works',
  ])
})

test('what pytest says of an error is told with its place', () => {
  const output = [
    '        with pytest.raises(Expired):',
    '>           serializer.loads(signed, max_age=10)',
    "E           TypeError: loads() got an unexpected keyword argument 'max_age'",
    '',
    'tests/test_timed.py:101: TypeError',
    'FAILED tests/test_jws.py::TestJWS::test_age - TypeE...',
  ].join('\n')
  expect(findingsIn(output)).toEqual([
    {
      path: 'tests/test_timed.py',
      line: 101,
      words: "TypeError: loads() got an unexpected keyword argument 'max_age'",
      key: 'tests/test_timed.py TypeError',
    },
    { words: 'test failed: tests/test_jws.py::TestJWS::test_age', key: 'test tests/test_jws.py::TestJWS::test_age' },
  ])
})

test('a complaint that only moved to another line is not new; one more of the same is', () => {
  const before = findingsIn('a.ts(3,5): error TS1: x\nb.ts(1,1): error TS2: y')
  expect(newFindings(before, findingsIn('a.ts(30,5): error TS1: x'))).toEqual([])
  const twice = findingsIn('a.ts(3,5): error TS1: x\na.ts(9,5): error TS1: x')
  expect(newFindings(before, twice).map(it => it.line)).toEqual([9])
  expect(newFindings(before, findingsIn('c.ts(3,5): error TS1: x'))).toHaveLength(1)
})

test('endless output gives a bounded number of complaints', () => {
  const output = Array.from({ length: 5000 }, (_, at) => `a${at}.ts:1:1: bad`).join('\n')
  expect(findingsIn(output)).toHaveLength(500)
  expect(findingsIn(`a.ts:1: ${'x'.repeat(100_000)}`)).toEqual([])
})
