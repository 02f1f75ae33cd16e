/** The ready-made checks of written texts: links and notes, gaps, placeholders. */
import { expect, test } from 'bun:test'
import { checkTexts, type TextCheck } from '../../../../forge/tasks/checks/texts.ts'

const there = new Set(['docs/a.md', 'docs', 'img/b c.png'])
async function check(kind: TextCheck, text: string, path = 'docs/x.md'): Promise<string[]> {
  const found = await checkTexts(kind, [{ path, text }], async at => there.has(at))
  return found.map(it => `${it.line}: ${it.words}`)
}

test('links lead to files that are there, or to addresses that can be ones', async () => {
  const good = '[a](a.md) [b](../img/b%20c.png) [c](/docs/) [d](https://example.org/x) [e](#part) `[f](nope.md)`'
  expect(await check('citations', good)).toEqual([])
  expect(await check('citations', '[a](nope.md)\n[b](../../x)\n[c](https://nowhere)\n[d](javascript:x)')).toEqual([
    '1: the link to nope.md leads to no file',
    '2: the link to ../../x leads out of the repository',
    '3: the link to https://nowhere is no address',
    '4: the link to javascript:x is no address',
  ])
})

test('what is cited is said, and what is said is cited', async () => {
  expect(await check('citations', 'As [1] and [^n] say.\n\n[1]: https://example.org\n[^n]: A note.')).toEqual([])
  expect(await check('citations', 'As [2] says.\n\n[^m]: A note.')).toEqual([
    '1: [2] is cited, and nowhere said',
    '1: [^m] is said, and nowhere cited',
  ])
})

test('nothing is empty or left to be filled in', async () => {
  expect(await check('complete', '# A\n\nText.\n\n## B\n\n```\nTODO in code\n```\n')).toEqual([])
  expect(await check('complete', ' \n')).toEqual(['1: it is empty'])
  expect(await check('complete', '# A\n\nTODO: more\n\n## B\n## C\n\nText\n\n## D\n')).toEqual([
    '3: it has a placeholder (TODO)',
    '5: nothing stands below the heading B',
    '10: nothing stands below the heading D',
  ])
})

test('texts can be read as what their names say', async () => {
  expect(await check('format', '{"a": 1}', 'x.json')).toEqual([])
  expect(await check('format', '{a', 'x.json')).toHaveLength(1)
  expect(await check('format', 'a: [1', 'x.yaml')).toHaveLength(1)
  expect(await check('format', 'a = ', 'x.toml')).toHaveLength(1)
  expect(await check('format', '# A\n\n### B\n\n```\nopen')).toEqual([
    '3: a heading of level 3 follows one of level 1',
    '6: a fence is not closed',
  ])
  expect(await check('citations', '[a](nope)', 'x.txt')).toEqual([])
})
