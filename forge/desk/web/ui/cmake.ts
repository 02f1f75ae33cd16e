/** The colours of CMake. @codemirror/legacy-modes takes a parenthesis in a string or a comment for one of the code. */
import type { StreamParser, StringStream } from '@codemirror/language'

/** A string or a comment in brackets, which may have several lines: the text that ends it, and its style. */
interface Open {
  end: string
  style: 'string' | 'comment'
}

interface State {
  /** The number of open parentheses: a name outside of them is a command. */
  depth: number
  open: Open | undefined
}

const BRACKET = /^(#?)\[(=*)\[/
const VARIABLE = /^\$(?:ENV|CACHE)?\{[^}"]{0,200}\}/
const COMMAND = /^[a-z_]\w*(?=\s*\()/i
const CONTROL =
  /^(?:if|elseif|else|endif|foreach|endforeach|while|endwhile|function|endfunction|macro|endmacro|block|endblock|return|break|continue)$/i
const NUMBER = /^\d+(?:\.\d+)*(?![\w.+-])/
const BOOLEAN = /^(?:ON|OFF|TRUE|FALSE|YES|NO)(?![\w-])/i
const WORD = /^[^\s()"#$\\]+/

export const cmake: StreamParser<State> = {
  name: 'cmake',
  startState: () => ({ depth: 0, open: undefined }),
  token(stream, state) {
    if (state.open) return within(stream, state, state.open)
    if (stream.eatSpace()) return null
    const bracket = stream.match(BRACKET)
    if (Array.isArray(bracket)) {
      const [, hash, signs] = bracket
      return within(stream, state, { end: `]${signs}]`, style: hash ? 'comment' : 'string' })
    }
    if (stream.eat('"')) return within(stream, state, { end: '"', style: 'string' })
    if (stream.eat('#')) {
      stream.skipToEnd()
      return 'comment'
    }
    if (stream.match(VARIABLE)) return 'variableName.special'
    if (state.depth === 0 && stream.match(COMMAND))
      return CONTROL.test(stream.current()) ? 'keyword' : 'variableName.function'
    if (stream.eat('(')) state.depth++
    else if (stream.eat(')')) state.depth = Math.max(0, state.depth - 1)
    else if (stream.match(NUMBER)) return 'number'
    else if (stream.match(BOOLEAN)) return 'atom'
    else if (!stream.match(WORD)) {
      // A backslash and the character that it escapes, or a $ that begins no variable.
      if (stream.next() === '\\') stream.next()
    }
    return null
  },
}

/** Reads to the end of a string or a comment, or of the line, or to a variable in a quoted string. */
function within(stream: StringStream, state: State, open: Open): string {
  const isQuoted = open.end === '"'
  state.open = open
  while (!stream.eol()) {
    if (stream.match(open.end)) {
      state.open = undefined
      break
    }
    if (isQuoted && stream.match(VARIABLE, false)) {
      if (stream.current() !== '') break
      stream.match(VARIABLE)
      return 'variableName.special'
    }
    if (stream.next() === '\\' && isQuoted) stream.next()
  }
  return open.style
}
