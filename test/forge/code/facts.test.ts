/**
 * What the syntax of code tells, in each language: definitions, which definition contains which, references, and
 * imports.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { asBytes } from '../../../core/git/repository.ts'
import type { CodeFacts } from '../../../forge/code/facts.ts'
import { CodeReader } from '../../../forge/code/reader.ts'
import { makePlace, type Place } from '../../support/repository.ts'

let place: Place
let code: CodeReader
beforeAll(async () => {
  place = await makePlace()
  code = new CodeReader(place.objects, place.folder)
})
afterAll(async () => {
  code[Symbol.dispose]()
  await place[Symbol.asyncDispose]()
})

const factsOf = (path: string, text: string) => code.factsOfText(asBytes(path), text)

/** The outline: a line for each definition, indented; a plus where other files can name it. */
function outlineOf({ definitions }: CodeFacts): string[] {
  const depths: number[] = []
  return definitions.map(({ name, kind, inside, isOffered, start, end }) => {
    depths.push(inside === undefined ? 0 : (depths[inside] ?? 0) + 1)
    return `${'  '.repeat(depths.at(-1) ?? 0)}${isOffered ? '+' : '-'} ${kind} ${name} ${start}-${end}`
  })
}

type Sample = { path: string; text: string; outline: string[]; imports: string[] }

const SAMPLES: Sample[] = [
  {
    path: 'tide.ts',
    text: `import { read } from './chart.ts'
export class Tide extends Sea {
  #level = 0
  async next(
    at: number,
  ): Promise<number> {
    const inner = () => 1
    return inner()
  }
  private own() {}
}
export const draw = (at: number): void => {}
const hidden = 1
function late() {}
export { late }
export type Kind = 'ebb' | 'flood'
`,
    outline: [
      '+ class Tide 2-11',
      '  - field #level 3-3',
      '  + method next 4-9',
      '  - method own 10-10',
      '+ function draw 12-12',
      '- variable hidden 13-13',
      '+ function late 14-14',
      '+ type Kind 16-16',
    ],
    imports: ['./chart.ts'],
  },
  {
    path: 'page.tsx',
    text: "import('./late.ts')\nexport function Page() {\n  return <main>{title}</main>\n}\n",
    outline: ['+ function Page 2-4'],
    imports: ['./late.ts'],
  },
  {
    path: 'app.js',
    text: `var view = require('./view')
var app = exports = module.exports = {}
app.use = function use(fn) { return fn }
exports.view = view
function own() {}
`,
    outline: [
      '- variable view 1-1',
      '- variable app 2-2',
      '+ method use 3-3',
      '+ variable view 4-4',
      '- function own 5-5',
    ],
    imports: ['./view'],
  },
  {
    path: 'tide.py',
    text: `from .chart import (read,
    draw as paint)
import os.path as where
LEVEL = 1
class Tide(Sea):
    kind = 'ebb'
    @property
    def next(self, at): # the next one
        def inner():
            pass
    def _own(self): pass
async def main() -> None:
    pass
with open('tides') as file:
    TIDES = file.read()
try:
    import sea
except ImportError:
    sea = None
`,
    outline: [
      '+ variable LEVEL 4-4',
      '+ class Tide 5-11',
      '  + field kind 6-6',
      '  + method next 8-10',
      '    - function inner 9-10',
      '  - method _own 11-11',
      '+ function main 12-13',
      '+ variable TIDES 15-15',
      '+ variable sea 19-19',
    ],
    imports: ['./chart', './chart/read', './chart/draw', 'os/path', 'sea'],
  },
  {
    path: 'tide.go',
    text: `package tide
import (
  "fmt"
  chart "example.com/sea/chart"
)
const Ebb, flood = 1, 2
type Tide struct {
  Level int
}
type Reader interface {
  Read(at int) error
}
func (t *Tide) Next(at int) int { return fmt.Sprint(at) }
func own() {}
`,
    outline: [
      '+ constant Ebb 6-6',
      '+ constant flood 6-6',
      '+ type Tide 7-9',
      '  + field Level 8-8',
      '+ type Reader 10-12',
      '  + method Read 11-11',
      '+ method Next 13-13',
      '+ function own 14-14',
    ],
    imports: ['fmt', 'example.com/sea/chart'],
  },
  {
    path: 'tide.rs',
    text: `use crate::chart::{read, draw};
mod late;
pub struct Tide<T> { pub level: T, own: u8 }
impl<T> Tide<T> {
    pub fn next(&self) -> u8 { 1 }
    fn own(&self) {}
}
pub trait Sea { fn deep(&self); }
impl Sea for Tide<u8> { fn deep(&self) {} }
pub enum Kind { Ebb, Flood }
macro_rules! wave { () => {} }
`,
    outline: [
      '- module late 2-2',
      '+ class Tide 3-3',
      '  + field level 3-3',
      '  - field own 3-3',
      '- impl Tide 4-7',
      '  + method next 5-5',
      '  - method own 6-6',
      '+ interface Sea 8-8',
      '  + method deep 8-8',
      '- impl Tide 9-9',
      '  + method deep 9-9',
      '+ enum Kind 10-10',
      '  + constant Ebb 10-10',
      '  + constant Flood 10-10',
      '+ macro wave 11-11',
    ],
    imports: ['chart', './late'],
  },
  {
    // Items in calls of macros, as crates with features have them.
    path: 'macros.rs',
    text: `cfg_net! {
    use crate::chart::read;
    mod late;

    pub struct Tide { pub level: u8 }
    cfg_deep! {
        impl Tide {
            pub fn next(&self) -> u8 { 1 }
        }
    }
}
impl Tide {
    cfg_deep! { fn own(&self) {} }
}
ä! { "ä🌊"; pub fn wide() {} }
lazy_static! { pub static ref LEVEL: u8 = 1; }
bitflags! { pub struct Flags: u8 { const EBB = 1; } }
tide! { ebb => 1, (flood) => { 2 } }
call!(fn unseen() {});
fn draw() { quote! { pub struct Unseen; } }
`,
    outline: [
      '- module late 3-3',
      '+ class Tide 5-5',
      '  + field level 5-5',
      '- impl Tide 7-9',
      '  + method next 8-8',
      '- impl Tide 12-14',
      '  - method own 13-13',
      '+ function wide 15-15',
      '+ variable LEVEL 16-16',
      '+ class Flags 17-17',
      '- function draw 20-20',
    ],
    imports: ['chart', 'chart/read', './late'],
  },
  {
    path: 'tide.c',
    text: `#include "chart.h"
#include <stdio.h>
#define LEVEL 1
typedef struct tide { int level; } Tide;
static int own(void) { return 1; }
const char *
tide_next(const struct tide *t)
{
  return own();
}
int tide_read(int at);
`,
    outline: [
      '+ macro LEVEL 3-4',
      '+ type Tide 4-4',
      '  + class tide 4-4',
      '    + field level 4-4',
      '- function own 5-5',
      '+ function tide_next 6-10',
      '+ declaration tide_read 11-11',
    ],
    imports: ['./chart.h'],
  },
  {
    path: 'tide.cpp',
    text: `namespace sea {
class Tide : public Base {
  int own;
public:
  Tide(int at);
  ~Tide();
  virtual int next() const { return 1; }
};
template <typename T> T twice(T at) { return at; }
}
int sea::Tide::level() { return 1; }
struct sea::Wave { };
`,
    outline: [
      '+ module sea 1-10',
      '  + class Tide 2-8',
      '    - field own 3-3',
      '    + declaration Tide 5-5',
      '    + declaration ~Tide 6-6',
      '    + method next 7-7',
      '  + function twice 9-9',
      '+ function level 11-11',
      '+ class Wave 12-12',
    ],
    imports: [],
  },
  {
    // Macros before and inside of classes, as libraries have them.
    path: 'macros.h',
    text: `namespace detail {
constexpr auto is_low(int at) -> bool { return true; }
}  // namespace detail

SEA_BEGIN_EXPORT

/// A view.
template <typename Char> class tide_view {
 private:
  const Char* data_;

 public:
  constexpr tide_view() noexcept : data_(nullptr) {}
#if SEA_GCC_VERSION
  SEA_ALWAYS_INLINE
#endif
  SEA_CONSTEXPR tide_view(const Char* s) : data_(s) {
#if SEA_HAS_BUILTIN(__builtin_strlen)
    if (!detail::is_low(1)) {
      size_ = 1;
      return;
    }
#endif
  }
  template <typename S, SEA_ENABLE_IF(!is_low<S>::value)>
  SEA_CONSTEXPR void remove(size_t n) noexcept { data_ += n; }
};

class SEA_SO_VISIBILITY("default") tide_error : public std::runtime_error {
  ~tide_error() {
    SEA_TRY { flush(); }
    SEA_CATCH(...) {}
  }
  auto next() -> int { return unsigned(1) < unsigned(2) ? 1 : 2 > 1; }
};

SEA_EXPORT struct SEA_API pipe final : base {
  int end;
};

enum kind {
  KIND_EBB,
  // The last one.
  KIND_FLOOD
};
SEA_END_EXPORT
`,
    outline: [
      '+ module detail 1-3',
      '  + function is_low 2-2',
      '+ class tide_view 8-27',
      '  - field data_ 10-10',
      '  + method tide_view 13-13',
      '  + method tide_view 17-24',
      '  + method remove 26-26',
      '+ class tide_error 29-35',
      '  - method ~tide_error 30-33',
      '  - method next 34-34',
      '+ class pipe 37-39',
      '  + field end 38-38',
      '+ enum kind 41-45',
      '  + constant KIND_EBB 42-42',
      '  + constant KIND_FLOOD 44-44',
    ],
    imports: [],
  },
  {
    path: 'Tide.java',
    text: `package org.sea;
import org.sea.Chart;
import static java.util.List.of;
public class Tide {
  private int own;
  public Tide(int at) {}
  public <T> int next(T at) { return 1; }
  enum Kind { EBB }
}
`,
    outline: [
      '+ class Tide 4-9',
      '  - field own 5-5',
      '  + method Tide 6-6',
      '  + method next 7-7',
      '  + enum Kind 8-8',
      '    + constant EBB 8-8',
    ],
    imports: ['org/sea/Chart', 'java/util/List/of'],
  },
  {
    path: 'Tide.cs',
    text: 'namespace Sea {\n  class Tide {\n    public int Level { get; set; }\n    private void Own() {}\n  }\n}\n',
    outline: ['+ module Sea 1-6', '  + class Tide 2-5', '    + field Level 3-3', '    - method Own 4-4'],
    imports: [],
  },
  {
    path: 'tide.rb',
    text: "require_relative 'chart'\nmodule Sea\n  class Tide < Base\n    LEVEL = 1\n    def next?(at) = 1\n    def self.read; end\n  end\nend\n",
    outline: [
      '+ module Sea 2-8',
      '  + class Tide 3-7',
      '    + constant LEVEL 4-4',
      '    + method next? 5-5',
      '    + method read 6-6',
    ],
    imports: ['chart'],
  },
  {
    path: 'tide.php',
    text: '<?php\nclass Tide {\n  private $own = 1;\n  public function next(int $at): int { return 1; }\n}\nfunction read() {}\n',
    outline: ['+ class Tide 2-5', '  - field own 3-3', '  + method next 4-4', '+ function read 6-6'],
    imports: [],
  },
  {
    path: 'tide.sh',
    text: 'readonly level=1\nnext_tide() {\n  echo "$level"\n}\nnext_tide\n',
    outline: ['+ variable level 1-1', '+ function next_tide 2-4'],
    imports: [],
  },
]

test.each(SAMPLES.map(sample => [sample.path, sample] as const))(
  'the definitions and imports of %s',
  async (path, { text, outline, imports }) => {
    const facts = await factsOf(path, text)
    expect(outlineOf(facts)).toEqual(outline)
    expect(facts.imports).toEqual(imports)
  },
)

test('a signature is the definition without its body and comments, on one line', async () => {
  const text = SAMPLES.find(({ path }) => path === 'tide.ts')?.text ?? ''
  const { definitions } = await factsOf('tide.ts', text)
  expect(definitions.find(({ name }) => name === 'next')?.signature).toBe('async next( at: number, ): Promise<number>')
  expect(definitions.find(({ name }) => name === 'draw')?.signature).toBe('export const draw = (at: number): void')
  const python = await factsOf('a.py', 'def next(self, at):  # the next one\n    pass\n')
  expect(python.definitions[0]?.signature).toBe('def next(self, at)')
})

test('the place of a definition in the call of a macro is that in the file', async () => {
  const { definitions } = await factsOf('a.rs', 'fn main() {}\nä! { "ä🌊"; pub fn next(at: u8) {} }\n')
  expect(definitions[1]).toMatchObject({ name: 'next', line: 2, column: 19, signature: 'pub fn next(at: u8)' })
})

test('references are names in code, none in comments and strings', async () => {
  const { references } = await factsOf('a.ts', "// unseen\nread('hidden', tide.level)\nread()\n")
  expect(references).toEqual(['read', 'tide', 'level'])
})

describe('of a text that no person wrote', () => {
  const nothing = { definitions: 0, references: 0 }
  const counted = ({ definitions, references }: CodeFacts) => ({
    definitions: definitions.length,
    references: references.length,
  })

  test('a line of a megabyte has no facts', async () => {
    expect(counted(await factsOf('a.js', `var a = [${'1,'.repeat(500_000)}]`))).toEqual(nothing)
  })

  test('generated code has its facts, or none where it is too large or in too long lines', async () => {
    const message = (at: number) => `// Message${at} is generated.
type Message${at} struct {
\tName string \`protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"\`
}

func (x *Message${at}) Reset() {
\t*x = Message${at}{}
}

func (*Message${at}) Descriptor() ([]byte, []int) {
\treturn file_proto_rawDescGZIP(), []int{${at}}
}
`
    const messages = (count: number) =>
      `package pb\n\n${Array.from({ length: count }, (_, at) => message(at)).join('\n')}`
    const go = messages(3_000)
    expect(go.length).toBeGreaterThan(700_000)
    const { definitions } = await factsOf('api.pb.go', go)
    expect(definitions).toHaveLength(5_000)
    expect(definitions.slice(0, 3).map(({ name }) => name)).toEqual(['Message0', 'Name', 'Reset'])
    expect(counted(await factsOf('large.pb.go', messages(6_000)))).toEqual(nothing)
    const call = (at: number) => `function a${at}(b,c){return b?c[${at}]:a${at >> 1}(c,b)};`
    const calls = Array.from({ length: 8_000 }, (_, at) => call(at))
    expect(counted(await factsOf('bundle.min.js', calls.join('')))).toEqual(nothing)
    expect(await code.structureOf(asBytes('bundle.min.js'), calls.join(''))).toBeUndefined()
    expect(counted(await factsOf('bundle.js', calls.join('\n'))).definitions).toBe(5_000)
    const packages = Array.from({ length: 20_000 }, (_, at) => [`node_modules/a${at}`, { version: '1.0.0', dev: true }])
    const lock = JSON.stringify({ packages: Object.fromEntries(packages) }, null, 2)
    for (const path of ['package-lock.json', 'lock.js'])
      expect(counted(await factsOf(path, lock.padEnd(2 << 20, '\n')))).toEqual(nothing)
  })

  test('code that is nested 5,000 deep is parsed, or has no facts', async () => {
    for (const [path, open] of [
      ['a.ts', 'f(\n'],
      ['a.py', '(\n'],
      ['a.cpp', 'namespace a {\n'],
      ['a.rs', 'mod a {\n'],
      ['b.rs', 'a! {\n'],
      ['a.php', '<?php if (1) {\n'],
    ] as const)
      expect((await factsOf(path, open.repeat(5000))).definitions.length).toBeLessThanOrEqual(5000)
    expect(counted(await factsOf('b.ts', 'const a = 1\n'))).toEqual({ definitions: 1, references: 1 })
    const deep = `${'f(['.repeat(5000)}\n1\n${'])'.repeat(5000)}\n`
    const [around = []] = (await code.around(asBytes('a.ts'), deep, [[2, 0, 2, 1]])) ?? []
    expect(around.length).toBeGreaterThan(10)
    expect(around.length).toBeLessThanOrEqual(401)
    expect((await code.structureOf(asBytes('a.ts'), deep))?.folds.length ?? 0).toBeLessThanOrEqual(20_000)
  })

  test.each([
    ['half-typed code', 'a.ts', 'export function next(at: numb\nclass {{{ \n'],
    ['a half-typed call of a macro', 'a.rs', 'fn next() {}\na! {'],
    ['another language', 'a.py', '<html><script>let a = 1</script></html>\n'],
    ['a template in a template', 'a.js', `const a = \`\${\`\${\`\${1}\`}\`}\`\n`],
    ['lone surrogates and controls', 'a.go', 'package a\n// \ud800 \u0007\nvar b = "\udfff"\n'],
    ['nothing', 'a.rs', ''],
  ])('%s is no trouble', async (_, path, text) => {
    const { definitions } = await factsOf(path, text)
    for (const { start, end } of definitions) expect(end).toBeGreaterThanOrEqual(start)
  })

  test.each([
    ['a.ts', 'binary\0text'],
    ['a.py', '{"a": [1, 2, {"b": 3}]}'],
    ['a.rs', '<?php echo 1;'],
    ['a.go', '# A heading\n\n- a list\n'],
    ['a.cpp', '%{\n'.repeat(3000)],
    ['a.ts', `${'`${'.repeat(3000)}1${'}`'.repeat(3000)}`],
    ['a.tsx', '<a>{'.repeat(3000)],
  ])('%s with a text of another kind has folds and ranges inside it, or none', async (path, text) => {
    const lines = text.split('\n')
    const structure = await code.structureOf(asBytes(path), text)
    const [around = []] = (await code.around(asBytes(path), text, [[1, 1, 1, 2]])) ?? []
    for (const [line, column, toLine, toColumn] of [...(structure?.folds ?? []), ...around]) {
      expect(column).toBeLessThanOrEqual(lines[line - 1]?.length ?? -1)
      expect(toColumn).toBeLessThanOrEqual(lines[toLine - 1]?.length ?? -1)
    }
  })

  test('a construct that a grammar does not know costs only the definition that it is in', async () => {
    // Call signatures without semicolons.
    const text = `export interface Handlers<E> {
  // one
  <I extends A = {}>(one: H<E, I>): [H<E, I>]
  // two
  <
    I extends A = {},
    R extends B<any> = any,
  >(
    one: H<E, I>,
    two: H<E, R>
  ): [H<E, I>, H<E, R>]
}

export type Path<A extends string> = A

export function join(path: Path<string>): string {
  const inner = () => path
  return inner()
}
`
    const { definitions, references } = await factsOf('a.ts', text)
    const said = definitions.map(({ name, line, column, end }) => `${name} ${line}:${column} to ${end}`)
    expect(said.slice(1)).toEqual(['Path 14:12 to 14', 'join 16:16 to 19'])
    expect(references).toContain('inner')
  })

  test('ranges that the text does not have are answered, too', async () => {
    const around = await code.around(asBytes('a.ts'), 'a\n', [
      [900, 900, 901, 0],
      [2, 0, 1, 0],
    ])
    expect(around?.length).toBe(2)
  })
})
