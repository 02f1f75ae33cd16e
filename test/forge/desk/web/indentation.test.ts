/** The indentation of a file, as its text, its .editorconfig and its language have it. */
import { describe, expect, test } from 'bun:test'
import { indentUnit } from '@codemirror/language'
import { EditorState } from '@codemirror/state'
import type { EditorConfig } from '../../../../forge/desk/contract/reading.ts'
import { indentationOf } from '../../../../forge/desk/web/editor/indentation.ts'

function unitOf(path: string, text: string, config: EditorConfig = {}): string {
  const extensions = indentationOf(path, text, { chosen: undefined, config, tabSize: undefined })
  return EditorState.create({ extensions }).facet(indentUnit)
}

/** A class by two spaces as clang-format writes it: most lines are deeper, and continued ones by four more. */
const TWO = `template <typename Unit, typename Period,
          typename Clock>
    requires(is_clock<Clock>)
class timer {
 public:
  auto start(Unit unit, Period period)
      -> result<Unit> {
    if (unit == Unit()) {
      fail("a timer needs a unit to start with",
           unit);
      return {};
    }
    running_ = true;
    begin_ = now();
    return unit;
  }

  void stop(
      Unit unit) {
    running_ = false;
    end_ = now();
    total_ += end_ - begin_;
    report(unit);
  }

 private:
  bool running_ = false;
};
`
/** A test by two spaces, in which calls are continued by four more. */
const CALLS = `TEST(timer, stop) {
  CHECK(
      one.total());
  CHECK(
      two.total());
  CHECK(
      three.total());
  CHECK(
      four.total());
}
`
const FOUR = `class Timer:
    def start(self, unit):
        if not unit:
            raise ValueError("A timer needs a unit to start with, such as",
                             UNITS)
        self.begin = now()

    def stop(self):
        self.end = now()
`
/** A macro, whose continued lines tell nothing. */
const MACRO = `#define CHECK(condition)  \\
    do {                  \\
        if (!(condition)) \\
            fail();       \\
    } while (false)
void check() {
  CHECK(true);
}
`

describe('the indentation of a file', () => {
  test('is detected by the differences between lines, not by how often a width occurs', () => {
    expect(unitOf('timer.h', TWO)).toBe('  ')
    expect(unitOf('timer-test.cc', CALLS)).toBe('  ')
    expect(unitOf('timer.py', FOUR)).toBe('    ')
    expect(unitOf('check.h', MACRO)).toBe('  ')
    expect(unitOf('eight.c', 'int main() {\n        if (1) {\n                f();\n        }\n}\n')).toBe(
      ' '.repeat(8),
    )
  })

  test('is by tabs where more lines begin with them', () => {
    expect(unitOf('timer.h', TWO.replaceAll('  ', '\t'))).toBe('\t')
    expect(unitOf('aligned.c', 'int f(int a,\n      int b) {\n\tif (a) {\n\t\tg();\n\t}\n}\n')).toBe('\t')
    expect(unitOf('list.go', 'const a = `\n\tone\n`\n\nfunc f() {\n    g()\n    h()\n}\n')).toBe('    ')
  })

  test('is the usual one of the language where the text has none', () => {
    expect(unitOf('one.py', 'x = 1\n')).toBe('    ')
    expect(unitOf('one.go', 'package one\n')).toBe('\t')
    expect(unitOf('one.ts', '/**\n * Words.\n */\n')).toBe('  ')
  })

  test('has the size of .editorconfig, and its style where the text has none', () => {
    expect(unitOf('timer.h', TWO, { indentStyle: 'space', indentSize: 3 })).toBe('   ')
    expect(unitOf('timer.h', TWO, { indentStyle: 'tab' })).toBe('  ')
    expect(unitOf('one.ts', '', { indentStyle: 'tab' })).toBe('\t')
    expect(unitOf('one.go', '', { indentStyle: 'space' })).toBe('  ')
    expect(unitOf('Makefile', 'all:\n    echo 1\n', { indentStyle: 'space' })).toBe('\t')
  })
})
