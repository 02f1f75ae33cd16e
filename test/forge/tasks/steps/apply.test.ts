/** A model's edits on a commit: all or none, and nothing outside the permitted files. */
import { expect, test } from 'bun:test'
import type { FileEdit } from '../../../../forge/tasks/steps/answers.ts'
import { applyAll } from '../../../../forge/tasks/steps/apply.ts'
import { commit, show } from '../../../support/git.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const FILES = {
  'a.txt': 'one\ntwo\nthree\n',
  'run.sh': { mode: '100755' as const, content: '#!/bin/sh\n' },
  link: { mode: '120000' as const, content: 'a.txt' },
  'win.txt': 'one\r\ntwo\r\n',
}

async function scene(): Promise<Place & { base: string; apply: (edits: FileEdit[]) => ReturnType<typeof applyAll> }> {
  const place = await makePlace()
  const base = await commit(place.path, 'main', FILES)
  return { ...place, base, apply: edits => applyAll(place.objects, base, edits, new AbortController().signal) }
}

const replace = (path: string, search: string, by: string): FileEdit => ({ kind: 'replace', path, search, replace: by })

test('a name with a drive or a backslash is refused, as a plan with one is', async () => {
  await using place = await scene()
  for (const path of ['C:\\notes.txt', 'src\\a.txt', 'c:/notes.txt']) {
    const { files, words } = await place.apply([{ kind: 'write', path, content: 'x\n' }])
    expect([files, words]).toEqual([
      undefined,
      expect.stringContaining('has a backslash or a drive: name it from the top'),
    ])
  }
  expect((await place.apply([{ kind: 'rename', path: 'a.txt', to: 'sub\\b.txt' }])).files).toBeUndefined()
})

test('all kinds of edits, each on what the ones before it left', async () => {
  await using place = await scene()
  const { files } = await place.apply([
    replace('a.txt', 'one\n', 'uno\n'),
    replace('a.txt', 'two\n', 'zwei\n'),
    { kind: 'rename', path: 'a.txt', to: 'sub/b.txt' },
    replace('sub/b.txt', 'three\n', 'drei\n'),
    { kind: 'write', path: 'new.sh', content: 'echo\n', executable: true },
    replace('win.txt', 'two\n', 'zwei\n'),
    { kind: 'append', path: 'win.txt', content: 'drei' },
    { kind: 'delete', path: 'run.sh' },
  ])
  const tree = (await files?.writeTree()) ?? ''
  const list = await place.git('ls-tree', '-r', '--format=%(objectmode) %(path)', tree)
  expect(list.split('\n')).toEqual(['120000 link', '100755 new.sh', '100644 sub/b.txt', '100644 win.txt'])
  expect(await show(place.path, tree, 'sub/b.txt')).toBe('uno\nzwei\ndrei')
  expect(await place.git('cat-file', 'blob', `${tree}:win.txt`)).toBe('one\r\nzwei\r\ndrei')
})

test('one edit that finds no place, and nothing is changed; each fault is named', async () => {
  await using place = await scene()
  const { files, words } = await place.apply([
    replace('a.txt', 'one\n', 'uno\n'),
    replace('a.txt', 'four\n', 'vier\n'),
    { kind: 'delete', path: 'nowhere.txt' },
  ])
  expect(files).toBeUndefined()
  expect(words).toContain('Nothing was changed, since 2 edits could not be made.')
  expect(words).toContain('search_replace "a.txt": a.txt was not edited')
  expect(words).toContain('Edit 2 of 2: The search is nowhere in the file.')
  expect(words).toContain('delete_file "nowhere.txt": There is no file nowhere.txt.')
})

test('no complaint names a tool that a step does not have', async () => {
  await using place = await scene()
  const head = await commit(place.path, 'main', { 'a.txt': 'one\n', 'empty.txt': '' })
  const failing: FileEdit[][] = [
    [replace('a.txt', '', 'x')],
    [replace('a.txt', 'zzz', 'x')],
    [replace('missing.txt', 'one', 'x')],
    [replace('empty.txt', 'one', 'x')],
    [{ kind: 'rename', path: 'missing.txt', to: 'b.txt' }],
  ]
  for (const edits of failing) {
    const { words } = await applyAll(place.objects, head, edits, new AbortController().signal)
    expect(words).toMatch(/^Nothing was changed/)
    expect(words).not.toMatch(/get_lines|grep|update_context/)
  }
})

test.each([
  '.git/hooks/post-commit',
  '.GIT/config',
  'sub/.git/config',
  '../outside.txt',
  '/etc/passwd',
  '.forge/session.json',
  '.Forge/tools/x.ts',
  'link/x.txt',
  'a.txt/x',
  'a\nb.txt',
])('%j is not written', async path => {
  await using place = await scene()
  for (const edit of [
    { kind: 'write', path, content: 'x\n' },
    { kind: 'rename', path: 'win.txt', to: path },
  ] as const) {
    const { files, words } = await place.apply([edit])
    expect(files).toBeUndefined()
    expect(words).toContain('could not be made')
  }
})

test('a symbolic link is neither edited nor written through', async () => {
  await using place = await scene()
  expect((await place.apply([replace('link', 'a', 'b')])).words).toContain('symbolic link')
  expect((await place.apply([{ kind: 'write', path: 'link', content: 'x' }])).words).toContain('symbolic link')
})
