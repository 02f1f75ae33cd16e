/** .editorconfig: which sections apply to a file, and bounds for hostile ones. */
import { expect, test } from 'bun:test'
import { editorConfigOf, isMatch } from '../../../../forge/desk/reading/editor-config.ts'

const filesOf = (files: Record<string, string>) => ({
  fileExists: async (path: string) => path in files,
  readFile: async (path: string) => Buffer.from(files[path] ?? ''),
})

test('nearer files and later sections win, up to the root', async () => {
  const files = filesOf({
    '.editorconfig': '[*]\nindent_style = tab\ntab_width = 3\n',
    'a/.editorconfig':
      '\ufeff; comment\nRoot = TRUE\n[*]\nindent_style = space\nindent_size=2\n[*.{py,go}]\nindent_size = 4\n[Makefile]\nindent_style=tab\nindent_size=tab\ntab_width=8\n',
    'a/b/.editorconfig': '[/c.go]\nindent_size = 99\n[d.go]\nindent_size = 1\n',
  })
  expect(await editorConfigOf(files, 'x.ts')).toEqual({ indentStyle: 'tab', tabWidth: 3 })
  expect(await editorConfigOf(files, 'a/x.ts')).toEqual({ indentStyle: 'space', indentSize: 2, tabWidth: 2 })
  expect(await editorConfigOf(files, 'a/b/c.go')).toEqual({ indentStyle: 'space' })
  expect(await editorConfigOf(files, 'a/b/d.go')).toEqual({ indentStyle: 'space', indentSize: 1, tabWidth: 1 })
  expect(await editorConfigOf(files, 'a/b/Makefile')).toEqual({ indentStyle: 'tab', indentSize: 8, tabWidth: 8 })
  expect(await editorConfigOf(filesOf({}), 'a/b')).toEqual({})
})

test('patterns are those of editorconfig.org', () => {
  const matching = [
    ['*.ts', 'a/b.ts'],
    ['*', 'a/b/c'],
    ['a/*.ts', 'a/b.ts'],
    ['a/**.ts', 'a/b/c.ts'],
    ['**/x', 'a/x'],
    ['[a-c]?.ts', 'b1.ts'],
    ['[!a].ts', 'b.ts'],
    ['f{1..12}.c', 'f10.c'],
    ['{x,y/*}.ts', 'y/a.ts'],
    [String.raw`\*.ts`, '*.ts'],
  ] as const
  for (const [pattern, path] of matching) expect([pattern, path, isMatch(pattern, path)]).toEqual([pattern, path, true])
  const others = [
    ['*.ts', 'a.tsx'],
    ['a/*.ts', 'a/b/c.ts'],
    ['[!a].ts', 'a.ts'],
    ['f{1..3}.c', 'f4.c'],
    ['', 'a'],
  ] as const
  for (const [pattern, path] of others) expect([pattern, path, isMatch(pattern, path)]).toEqual([pattern, path, false])
})

test('a hostile pattern ends', () => {
  expect(isMatch(`${'*a'.repeat(90)}b`, 'a'.repeat(500))).toBe(false)
  expect(isMatch('{a,b}'.repeat(40), 'a')).toBe(false)
  expect(isMatch('{0..999999}', '7')).toBe(true)
})
