/**
 * C and C++ by @codemirror/lang-cpp, whose grammar lets a directive end at a comment: what follows in a macro, and then
 * the code after it, would be coloured as a comment. So the parser is not shown comments in the middle of a directive.
 */
import { cppLanguage } from '@codemirror/lang-cpp'
import { LanguageSupport } from '@codemirror/language'
import type { Input } from '@lezer/common'

/** Comments, strings and characters, in which nothing is a directive, and directives with their continued lines. */
const PARTS =
  /\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|(?<=^|\n)[ \t]*#(?:\\\r?\n|[^\n])*/g
/** A comment or a string within a line of a directive. */
const IN_DIRECTIVE = /\/\*.*?(?:\*\/|$)|\/\/.*|"(?:\\.|[^"\\\n])*"?/gm

/** The language of C and C++ files, with directives that may have comments. */
export function cpp(): LanguageSupport {
  const language = cppLanguage.configure({
    wrap(parse, input, fragments, ranges) {
      const text = input.read(0, input.length)
      const shown = withoutInnerComments(text)
      return shown === text ? parse : cppLanguage.parser.startParse(new ShownText(shown), fragments, ranges)
    },
  })
  return new LanguageSupport(language)
}

/** A text as the parser reads it. */
class ShownText implements Input {
  readonly lineChunks = false

  constructor(readonly text: string) {}

  get length(): number {
    return this.text.length
  }

  chunk(from: number): string {
    return this.text.slice(from)
  }

  read(from: number, to: number): string {
    return this.text.slice(from, to)
  }
}

/** The text without the signs of comments before the end of a directive; everything stays at its place. */
export function withoutInnerComments(text: string): string {
  return text.replace(PARTS, part => {
    if (!part.trimStart().startsWith('#')) return part
    return part.replace(IN_DIRECTIVE, (found, at: number) => {
      // The grammar knows a comment at the end, and one of several lines ends the directive.
      const isInner = found.endsWith('*/') && /[^\s\\]/.test(part.slice(at + found.length))
      return isInner || found.startsWith('"') ? found.replaceAll('/*', '  ').replaceAll('*/', '  ') : found
    })
  })
}
