/**
 * Edits that went wrong in other tools, and the expected result of each. `bun test/forge/ai/hard-edits.ts` prints the
 * kind of match (rung) by which each was found.
 */
import { applyEdits, type TextEdit, type Why } from '../../../forge/ai/edits.ts'
import type { Rung } from '../../../forge/ai/places.ts'

export type HardEdit = {
  name: string
  /** The file as text, or as bytes where it is no UTF-8. */
  file: string | Buffer
  edits: TextEdit[]
  /** By which kinds of match (rungs) the edits are found, and the resulting file; or the reason of the refusal. */
  expected: { rungs: Rung[]; file: string | Buffer } | { why: Why; says: RegExp }
}

const edit = (search: string, replace: string): TextEdit => ({ search, replace })
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')
const ends = (file: string | Buffer, ...rungs: Rung[]): HardEdit['expected'] => ({ rungs, file })
const refuses = (why: Why, says: RegExp): HardEdit['expected'] => ({ why, says })
const many = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at}\n`).join('')

/** Name, file, edits and expected result of each case. */
const TABLE: [string, string | Buffer, TextEdit[], HardEdit['expected']][] = [
  // Exact matches
  ['a line', 'a\nb\nc\n', [edit('b', 'B')], ends('a\nB\nc\n', 'exact')],
  ['part of a line', 'let a = 1 // b\n', [edit('a = 1', 'a = 2')], ends('let a = 2 // b\n', 'exact')],
  ['the whole file', 'a\nb\n', [edit('a\nb\n', 'c\n')], ends('c\n', 'exact')],
  ['a file to nothing', 'a\nb\n', [edit('a\nb\n', '')], ends('', 'exact')],
  ['a line taken out', 'a\nb\nc\n', [edit('b\n', '')], ends('a\nc\n', 'exact')],
  ['lines joined', 'a\nb\nc\n', [edit('a\nb', 'ab')], ends('ab\nc\n', 'exact')],
  [
    'regex characters',
    'if (a[0].b*c+d?^|{2}$) \\w\n',
    [edit('(a[0].b*c+d?^|{2}$) \\w', '.*')],
    ends('if .*\n', 'exact'),
  ],
  [
    '$& and its kin',
    'a = b\n',
    [edit('b', "$& $1 $$ $` $' \\1 \\0 %s")],
    ends("a = $& $1 $$ $` $' \\1 \\0 %s\n", 'exact'),
  ],
  ['emoji', 'a 👩‍👩‍👧 b\n', [edit('👩‍👩‍👧', '👨‍👩‍👧')], ends('a 👨‍👩‍👧 b\n', 'exact')],
  ['half of an emoji that is joined', 'a 👩‍👧\n', [edit('👧', '👦')], ends('a 👩‍👦\n', 'exact')],
  ['a combining mark', 'cafe\u0301\n', [edit('cafe\u0301', 'tea')], ends('tea\n', 'exact')],
  ['a tab', 'a\tb\n', [edit('\tb', '\tc')], ends('a\tc\n', 'exact')],
  ['no final newline, at the end', 'a\nb', [edit('b', 'c')], ends('a\nc', 'exact')],
  ['no final newline, elsewhere', 'a\nb', [edit('a', 'c')], ends('c\nb', 'exact')],
  ['a BOM, elsewhere', '\ufeffa\nb\n', [edit('b', 'c')], ends('\ufeffa\nc\n', 'exact')],
  ['a BOM, in the first line', '\ufeffa\nb\n', [edit('a\nb', 'x\nb')], ends('\ufeffx\nb\n', 'exact')],
  ['a NUL elsewhere', 'a\0\nb\n', [edit('b', 'c')], ends('a\0\nc\n', 'exact')],
  ['Latin-1 elsewhere', bytes('caf\xe9\nb\n'), [edit('b', 'c')], ends(bytes('caf\xe9\nc\n'), 'exact')],
  ['Latin-1 in the same line', bytes('caf\xe9 b\n'), [edit(' b', ' c')], ends(bytes('caf\xe9 c\n'), 'exact')],
  [
    'a broken character beside UTF-8',
    bytes('\xc3\xa9 \xe9\nb\n'),
    [edit('b', 'é')],
    ends(bytes('\xc3\xa9 \xe9\n\xc3\xa9\n'), 'exact'),
  ],
  [
    'letters into Latin-1',
    bytes('caf\xe9\nb\n'),
    [edit('b', 'é')],
    refuses('encoding', /no UTF-8 \(see \\xe9 in line 1\)/),
  ],
  ['half a character', 'a\n', [edit('a', '\ud83d')], refuses('encoding', /half a character/)],
  [
    'a huge file',
    many(100_000),
    [edit('line 77777\n', 'x\n')],
    ends(many(100_000).replace('line 77777\n', 'x\n'), 'exact'),
  ],
  // Matches that differ in line ends
  ['CRLF, one line', 'a\r\nb\r\nc\r\n', [edit('b', 'x\ny')], ends('a\r\nx\r\ny\r\nc\r\n', 'exact')],
  ['CRLF, several lines', 'a\r\nb\r\nc\r\n', [edit('a\nb\n', 'a\nx\ny\n')], ends('a\r\nx\r\ny\r\nc\r\n', 'line ends')],
  ['CRLF sent to a file with LF', 'a\nb\nc\n', [edit('a\r\nb', 'a\r\nx\r\ny')], ends('a\nx\ny\nc\n', 'line ends')],
  [
    'mixed line ends, each keeps its own',
    'a\r\nb\nc\r\nd\n',
    [edit('a\nb\nc\nd', 'a\nB\nC\nd')],
    ends('a\r\nB\nC\r\nd\n', 'line ends'),
  ],
  ['a line more where they are mixed', 'a\nb\r\nc\n', [edit('b\nc', 'b\nx\nc')], ends('a\nb\r\nx\r\nc\n', 'line ends')],
  ['CRLF to LF, meant so', 'a\r\nb\n', [edit('a\r\n', 'a\n')], ends('a\nb\n', 'exact')],
  ['LF to CRLF, meant so', 'a\nb\n', [edit('a\nb', 'a\r\nb')], ends('a\r\nb\n', 'exact')],
  ['a line end in front, in CRLF', 'a\r\nb\r\n', [edit('\nb', ' x\nb')], ends('a x\r\nb\r\n', 'line ends')],
  ['half a line end', 'a\r\nb\r\n', [edit('b\r', 'c\r')], refuses('none', /nowhere/)],
  ['a lone CR is no line end', 'a\rb\n', [edit('a\rb', 'c')], ends('c\n', 'exact')],
  ['a line end too many at an open end', 'a\nb', [edit('a\nb\n', 'a\nc\n')], ends('a\nc', 'line ends')],
  ['lines more at an open end', 'a\r\nb', [edit('b\n', 'b\nc\n')], ends('a\r\nb\r\nc', 'line ends')],
  ['BOM and CRLF', '\ufeffa\r\nb\r\n', [edit('a\nb\n', 'A\nb\n')], ends('\ufeffA\r\nb\r\n', 'line ends')],
  // Matches that differ in trailing blanks
  ['blanks in the file', 'a  \nb\t\nc\n', [edit('a\nb\n', 'a\nB\n')], ends('a  \nB\t\nc\n', 'trailing blanks')],
  ['blanks in the search', 'a\nb\nc\n', [edit('a \nb  \n', 'a \nB\n')], ends('a\nB\nc\n', 'trailing blanks')],
  ['blanks in an empty line', 'a\n    \nb\n', [edit('a\n\nb', 'a\n\nB')], ends('a\n    \nB\n', 'trailing blanks')],
  ['blanks and CRLF', 'a \r\nb\r\n', [edit('a\nb\n', 'a\nB\n')], ends('a \r\nB\r\n', 'trailing blanks')],
  [
    'blanks at the end of the search, within a line',
    'x = 15\ny\n',
    [edit('x = 1  ', 'x = 2')],
    refuses('none', /nowhere/),
  ],
  [
    'a last line of blanks that is no part of it',
    'a \nb\n  ',
    [edit('a\nb\n', 'a\nc\n')],
    ends('a \nc\n  ', 'trailing blanks'),
  ],
  ['blanks alone', 'a\nb\n', [edit('   ', 'x')], refuses('none', /nowhere/)],
  // Matches that differ in indentation
  [
    'less of it',
    'if x:\n    a()\n    b()\n',
    [edit('a()\nb()', 'a()\nif y:\n    b()')],
    ends('if x:\n    a()\n    if y:\n        b()\n', 'indentation'),
  ],
  ['more of it', 'a()\nb()\n', [edit('    a()\n    b()\n', '    a()\n    c()\n')], ends('a()\nc()\n', 'indentation')],
  [
    'spaces for tabs',
    'f {\n\tif {\n\t\ta\n\t}\n}\n',
    [edit('    if {\n        a\n    }', '    if {\n        a\n        b\n    }')],
    ends('f {\n\tif {\n\t\ta\n\t\tb\n\t}\n}\n', 'indentation'),
  ],
  [
    'two spaces for tabs',
    'f {\n\tif {\n\t\ta\n\t}\n}\n',
    [edit('  if {\n    a\n  }', '  if {\n    if {\n      a\n    }\n  }')],
    ends('f {\n\tif {\n\t\tif {\n\t\t\ta\n\t\t}\n\t}\n}\n', 'indentation'),
  ],
  [
    'tabs for spaces',
    'if {\n    a\n    b\n}\n',
    [edit('\ta\n\tb\n', '\ta\n\tc\n')],
    ends('if {\n    a\n    c\n}\n', 'indentation'),
  ],
  [
    'an indented comment in tabs',
    '\t/**\n\t * a\n\t */\n',
    [edit('/**\n * a\n */', '/**\n * b\n * c\n */')],
    ends('\t/**\n\t * b\n\t * c\n\t */\n', 'indentation'),
  ],
  [
    'empty lines in between',
    '    a\n\n    b\n',
    [edit('  a\n\n  b', '  a\n\n  c')],
    ends('    a\n\n    c\n', 'indentation'),
  ],
  ['not the same throughout', 'if x:\n    a()\n  b()\n', [edit('a()\nb()', 'c()')], refuses('none', /nearest/)],
  [
    'the same lines in two depths',
    'if {\n  a\n  b\n}\nif {\n    a\n    b\n}\n',
    [edit('      a\n      b\n', '')],
    refuses('several', /lines 2 and 6/),
  ],
  [
    'too little to be moved',
    '  a {\n    b\n',
    [edit('    a {\n      b', 'a {\n      b')],
    refuses('indentation', /too little/),
  ],
  // Matches that differ in quotes and dashes
  [
    'curly quotes in the file',
    'say “hi” now\n',
    [edit('say "hi" now', 'say "hi" later')],
    ends('say “hi” later\n', 'punctuation'),
  ],
  [
    'curly quotes in the search',
    'say "hi" now\n',
    [edit('say “hi” now', 'say “ho” now')],
    ends('say "ho" now\n', 'punctuation'),
  ],
  ['quotes straightened on purpose', 'say “hi”\n', [edit('say “hi”', 'say "hi"')], ends('say "hi"\n', 'exact')],
  ['a dash', 'a — b – c\n', [edit('a - b - c', 'a - b - d')], ends('a — b – d\n', 'punctuation')],
  ['a no-break space', 'a\u00a0b\n', [edit('a b', 'a c')], ends('a\u00a0c\n', 'punctuation')],
  [
    'an apostrophe, in CRLF and Windows-1252',
    bytes('it\x92s \x93x\x94\r\nb\r\n'),
    [edit('it\'s "x"\nb', 'it\'s "x"\nc')],
    ends(bytes('it\x92s \x93x\x94\r\nc\r\n'), 'punctuation'),
  ],
  [
    'quotes and indentation',
    '    a “x”\n    b\n',
    [edit('a "x"\nb', 'a "x"\nc')],
    ends('    a “x”\n    c\n', 'punctuation'),
  ],
  ['other letters that look alike', 'раss\n', [edit('pass', 'x')], refuses('none', /nowhere/)],
  ['composed for decomposed', 'cafe\u0301\n', [edit('caf\u00e9', 'x')], refuses('none', /nowhere/)],
  ['another case', 'Foo\n', [edit('foo', 'x')], refuses('none', /nowhere/)],
  // Texts found at more than one place, or at none
  [
    'the same block twice',
    'a {\n  x\n}\nb {\n  x\n}\n',
    [edit('  x\n}', '  y\n}')],
    refuses('several', /2 places, in lines 2 and 5/),
  ],
  ['twice in one line', 'a a\n', [edit('a', 'b')], refuses('several', /all in line 1/)],
  ['over each other', 'aaa\n', [edit('aa', 'b')], refuses('several', /2 places/)],
  [
    'twice without its blanks',
    'a \nb\na  \nb\n',
    [edit('a\nb', 'c')],
    refuses('several', /without blanks at the ends of lines/),
  ],
  ['once as it is, twice with less care', 'a\nb\na \nb\n', [edit('a\nb', 'c\nb')], ends('c\nb\na \nb\n', 'exact')],
  [
    'a line of it is another one',
    'function f() {\n  return 1\n}\n',
    [edit('function f() {\n  return 2\n}', 'x')],
    refuses('none', /line of it is nowhere: return 2\n.*\n1\tfunction f\(\) \{\n2\t {2}return 1/),
  ],
  [
    'its lines, but not together',
    'a one\nb two\nc three\n',
    [edit('a one\nc three', 'x')],
    refuses('none', /not together/),
  ],
  ['line numbers sent along', 'a one\nb two\n', [edit('1\ta one\n2\tb two', 'x')], refuses('none', /line numbers/)],
  ['escaped once too often', 'a one\nb two\n', [edit('a one\\nb two', 'x')], refuses('none', /backslashes too many/)],
  ['nothing in common', 'a\nb\n', [edit('zzz', 'x')], refuses('none', /No line of it/)],
  ['an empty file', '', [edit('a', 'b')], refuses('none', /empty/)],
  ['an empty search', 'a\n', [edit('', 'b')], refuses('empty', /whole file/)],
  ['identical strings', 'a\n', [edit('a', 'a')], refuses('same', /changes nothing/)],
  [
    'identical but for line ends that the file has',
    'a\r\nb\r\n',
    [edit('a\nb', 'a\r\nb')],
    refuses('same', /changes nothing/),
  ],
  [
    'there already',
    'let answer = 42\n',
    [edit('let answer = 41', 'let answer = 42')],
    refuses('there', /line 1: this edit is done/),
  ],
  // Several edits at once
  ['two edits', 'a\nb\nc\n', [edit('a', 'x\ny'), edit('c', 'z')], ends('x\ny\nb\nz\n', 'exact', 'exact')],
  [
    'two edits that share a line around them',
    'a\nb\nc\n',
    [edit('a\nb', 'A\nb'), edit('b\nc', 'b\nC')],
    ends('A\nb\nC\n', 'exact', 'exact'),
  ],
  ['an edit in what another one wrote', 'a\nb\n', [edit('a', 'x'), edit('x', 'y')], ends('y\nb\n', 'exact', 'exact')],
  [
    'an edit whose context is a line that another one has changed, as it is now',
    'a\nb\nc\n',
    [edit('a\nb', 'a\nB'), edit('B\nc', 'B\nC')],
    ends('a\nB\nC\n', 'exact', 'exact'),
  ],
  [
    'an edit whose context is a line that another one has changed, as it was',
    'a\nb\nc\n',
    [edit('a\nb', 'a\nlonger'), edit('b\nc', 'b\nC')],
    ends('a\nlonger\nC\n', 'exact', 'exact'),
  ],
  [
    'an edit before lines that another one has replaced, given as they were',
    'a\nb\nc\nd\n',
    [edit('c', 'C\nC'), edit('a\nb\nc', 'A\nb\nc'), edit('c\nd', 'c\nD')],
    ends('A\nb\nC\nC\nD\n', 'exact', 'exact', 'exact'),
  ],
  [
    'a line that two edits change, both as it was',
    'a\nbcd\ne\n',
    [edit('bcd', 'bXd'), edit('a\nbcd', 'a\nbYd')],
    refuses('overlap', /Edit 1 has changed its lines/),
  ],
  [
    'two edits that put different lines into the same place',
    'a\nb\n',
    [edit('a\nb', 'a\nx\nb'), edit('a\nb', 'a\ny\nb')],
    refuses('overlap', /Edit 1 has changed its lines/),
  ],
  [
    'an edit over what another one took out',
    'a\nb\nc\n',
    [edit('b\n', ''), edit('a\nc', 'x')],
    ends('x\n', 'exact', 'exact'),
  ],
  ['a copy by the edit before', 'a\nb\n', [edit('b', 'b\na'), edit('a', 'x')], refuses('several', /2 places/)],
  ['one of two without a place', 'a\nb\n', [edit('a', 'x'), edit('zzz', 'y')], refuses('none', /nowhere/)],
]

export const HARD_EDITS: HardEdit[] = TABLE.map(([name, file, edits, expected]) => ({ name, file, edits, expected }))

if (import.meta.main) {
  const rows = HARD_EDITS.map(({ name, file, edits }) => {
    const answer = applyEdits(Buffer.from(file as string), edits)
    if ('refusals' in answer) return [name, 'refused', answer.refusals.map(({ why }) => why).join(', ')]
    const counts = answer.made.map(({ added, deleted, line }) => `+${added} −${deleted} at ${line}`)
    return [name, answer.made.map(({ rung }) => rung).join(', '), counts.join(', ')]
  })
  for (const [name = '', how = '', what = ''] of rows) console.log(`${name.padEnd(48)} ${how.padEnd(16)} ${what}`)
  const counts = new Map<string, number>()
  for (const [, how = ''] of rows) counts.set(how, (counts.get(how) ?? 0) + 1)
  console.log(`\n${[...counts].map(([how, count]) => `${how}: ${count}`).join('; ')}`)
}
