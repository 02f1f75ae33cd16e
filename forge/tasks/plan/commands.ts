/**
 * Finds out whether a plan's command can be a check: its programs and files exist, it ends, and it can fail. It parses
 * only as much of the shell's language as people and models write in one line, and accepts what it does not understand.
 */

/** The environment in which a command will run. */
export type CommandRoom = {
  /** The programs of the image that checks run in; undefined where they are unknown. */
  programs: ReadonlySet<string> | undefined
  /** Whether checks have a network. */
  hasNetwork: boolean
  /** Whether a file or folder will exist when the command runs. */
  exists: (path: string) => boolean
  /** The scripts of the root's package.json; undefined where it has none, or tasks may change them. */
  scripts: ReadonlySet<string> | undefined
}

/** A word of a command. `isQuoted`: its text is not plain, and may be anything. */
type Word = { text: string; isQuoted: boolean }
export type Simple = { words: Word[]; isNegated: boolean }
type Pipeline = Simple[]
/** A pipeline of a command. `joint`: how it follows the pipeline before, e.g. `and` for `&&`. */
type Item = { pipeline: Pipeline; joint: 'and' | 'or' | 'next' | 'background' }

const BUILTINS = new Set(
  '. : [ alias bg break cd command continue echo eval exec exit export false fg getopts hash jobs kill local printf pwd read readonly return set shift source test times trap true type ulimit umask unset wait'.split(
    ' ',
  ),
)
const KEYWORDS = new Set(
  'if then else elif fi for do done while until case esac in function select { } [[ ]]'.split(' '),
)
/** Programs that run the rest of their words as a command. */
const WRAPPERS = new Set(['env', 'time', 'timeout', 'nice', 'nohup', 'exec', 'command', 'xargs', 'stdbuf'])
/** Programs that succeed in any case. */
const ALWAYS_WELL = new Set([
  'true',
  ':',
  'echo',
  'printf',
  'pwd',
  'date',
  'sleep',
  'export',
  'set',
  'unset',
  'wait',
  'ls',
])
/** Programs that always succeed at the end of a pipe if they have no file arguments. */
const WELL_IN_PIPES = new Set([
  'cat',
  'head',
  'tail',
  'tee',
  'wc',
  'sort',
  'uniq',
  'tr',
  'cut',
  'less',
  'more',
  'column',
])
const NETWORK: readonly RegExp[] = [
  /^(?:curl|wget|ssh|scp|ftp|telnet|nc)$/,
  /^(?:npm|pnpm|yarn|bun) (?:install|i|ci|add|update|upgrade|publish|audit)$/,
  /^(?:pip|pip3|uv|poetry) (?:install|add|sync|update|download)$/,
  /^git (?:clone|fetch|pull|push)$/,
  /^(?:apt|apt-get|apk|dnf|brew) \S+$/,
  /^(?:cargo|go|gem|bundle) (?:install|update|get|publish)$/,
]
const NEVER_ENDS = /^(?:--watch|--watchAll|--serve|--ui|-w=|--watch=true)$/
const INTERACTIVE = new Set(['vi', 'vim', 'nano', 'emacs', 'less', 'more', 'top', 'htop', 'man'])
/** The extensions by which a word is certainly a file name. */
const FILE =
  /^[\w@+.-][\w@+./-]*\.(?:[cm]?[jt]sx?|py|rs|go|java|kt|rb|php|sh|bash|json|ya?ml|toml|md|txt|html|css|sql|c|h|cc|cpp|hpp|cs|swift|ini|cfg)$/
/** Programs whose first argument is an expression, not a file. */
const WITH_EXPRESSION = new Set(['grep', 'egrep', 'fgrep', 'rg', 'sed', 'awk', 'jq', 'find', 'test', '['])
/** Programs whose arguments need not exist. */
const WRITERS = new Set(['tee', 'touch', 'cp', 'mv', 'mkdir', 'ln', 'rm', 'install'])
const SHELLS = new Set(['sh', 'bash', 'zsh', 'dash'])

/** What is wrong with a command, in phrases to follow `the command "…"`; empty where nothing is. */
export function whyNotRun(command: string, room: CommandRoom): string[] {
  const items = parse(command)
  if (items === 'open quote') return ['has a quote that is not closed: close it']
  if (!items || items.length === 0) return []
  const words = new Set<string>()
  const simple = items.flatMap(({ pipeline }) => pipeline)
  const hasPipefail = /\bpipefail\b/.test(command)
  if (!canFail(items, hasPipefail)) words.add(whyItCannotFail(items, command))
  // A command may read the files that it writes by redirections: they count as existing.
  const made = new Set([...command.matchAll(/>\s*([\w./-]+)/g)].map(([, path = '']) => clean(path)))
  const inside: CommandRoom = { ...room, exists: path => made.has(path) || room.exists(path) }
  let isElsewhere = false
  for (const it of simple) {
    const run = unwrapped(it.words)
    if (run[0]?.text === 'cd') isElsewhere = true
    for (const why of whyNotOne(run, inside, isElsewhere)) words.add(why)
  }
  return [...words]
}

/**
 * The parts of a command that consists only of simple commands joined by `&&`; undefined for a command of any other
 * form.
 */
export function simpleCommandsOf(command: string): Simple[] | undefined {
  const items = parse(command)
  if (!items || items === 'open quote' || /[<>]/.test(command)) return undefined
  const parts: Simple[] = []
  for (const { pipeline, joint } of items) {
    const [only, ...more] = pipeline
    if (!only || more.length > 0 || (parts.length > 0 && joint !== 'and')) return undefined
    parts.push(only)
  }
  return parts
}

function* whyNotOne(words: readonly Word[], room: CommandRoom, isElsewhere: boolean): Generator<string> {
  const [first, second] = words
  if (!first || first.isQuoted || /[$`*?]/.test(first.text)) return
  const program = first.text
  if (SHELLS.has(program) && second?.text === '-c' && words[2]) {
    yield* whyNotRun(words[2].text, room)
    return
  }
  if (program.startsWith('/'))
    yield `runs ${program} by its absolute path: name the program, or a file of the repository`
  else if (program.includes('/')) {
    const isMade = /(?:^|\/)(?:node_modules|\.venv|venv|target|build|dist)\//.test(program)
    if (!isElsewhere && !isMade && !room.exists(clean(program)))
      yield `runs ${program}, which does not exist: name a file that is there, or let a task before output it`
  } else if (room.programs && !BUILTINS.has(program) && !KEYWORDS.has(program) && !room.programs.has(program))
    yield `needs the program ${program}, which is not in the image that checks run in: take one that is (${someOf(room.programs)})`
  if (INTERACTIVE.has(program)) yield `starts ${program}, which waits for a person, and there is none`
  const call = `${program} ${second?.text ?? ''}`.trim()
  const isLocal = words.some(({ text }) => /\b(?:localhost|127\.0\.0\.1)\b|\[::1\]/.test(text))
  if (!room.hasNetwork && !isLocal && NETWORK.some(it => it.test(program) || it.test(call)))
    yield `needs the network ("${call}"), which checks don't have: what it would fetch has to be there already`
  const endless = words.find(({ text }) => NEVER_ENDS.test(text))
  if (endless) yield `never ends (${endless.text}): let it run once`
  if (!isElsewhere && !WRITERS.has(program)) yield* missingIn(words, room)
}

function* missingIn(words: readonly Word[], room: CommandRoom): Generator<string> {
  const [program = '', ...rest] = words.map(({ text }) => text)
  const script = scriptOf(words)
  if (script !== undefined && room.scripts && !room.scripts.has(script)) {
    const there = [...room.scripts].slice(0, 12).join(', ') || 'none'
    yield `runs the script "${script}", which package.json does not have: take one that it has (${there})`
  }
  let skips = WITH_EXPRESSION.has(program) ? 1 : 0
  for (const [at, text] of rest.entries()) {
    const word = words[at + 1]
    const before = rest[at - 1] ?? ''
    if (text.startsWith('-')) continue
    if (skips-- > 0) continue
    // A file named by an option may be created by the command.
    if (/^(?:-o|--?out\w*|--?report\w*|>|>>|-e|-c|-m|-k|-t)$/.test(before)) continue
    if (!word || (word.isQuoted && /\s/.test(text)) || !FILE.test(text) || /(?:^|\/)node_modules\//.test(text)) continue
    if (!room.exists(clean(text)))
      yield `names ${text}, which does not exist and which no task before it outputs: correct the name, or add it to outputs`
  }
}

const clean = (path: string): string => path.replace(/^(?:\.\/)+/, '').replace(/\/+$/, '')

/** The package.json script that a command runs by name; undefined where it runs none. */
function scriptOf(words: readonly Word[]): string | undefined {
  const [program, verb, name] = words.map(({ text }) => text)
  if (!program || !/^(?:npm|pnpm|yarn|bun)$/.test(program)) return undefined
  if (verb === 'test' || verb === 't') return program === 'bun' ? undefined : 'test'
  // A name with a dot or a slash, as in `bun run FILE`, is a file and no script.
  if (verb !== 'run' || !name || name.startsWith('-') || /[./]/.test(name)) return undefined
  return name
}

/** Programs to suggest where the image has too many to list. */
const USUAL_PROGRAMS =
  'bun node npm npx tsc python3 pytest ruff mypy go cargo make bash git grep sed awk jq diff cmp test'.split(' ')
/** A longer list of programs is not printed. */
const MAX_PROGRAMS = 24

const someOf = (programs: ReadonlySet<string>): string => {
  if (programs.size <= MAX_PROGRAMS) return [...programs].sort().join(', ')
  return `${USUAL_PROGRAMS.filter(name => programs.has(name)).join(', ')} or another one`
}

/** A command without assignments and wrapping programs at its front. */
function unwrapped(words: readonly Word[]): Word[] {
  let rest = [...words]
  for (;;) {
    const [first] = rest
    if (!first || first.isQuoted) return rest
    if (KEYWORDS.has(first.text) && !/^(?:for|case|in|function|select|\[\[)$/.test(first.text)) rest = rest.slice(1)
    else if (/^(?:for|case|in|function|select|\[\[)$/.test(first.text)) return []
    else if (/^\w+=/.test(first.text)) rest = rest.slice(1)
    else if (WRAPPERS.has(first.text)) {
      const at = rest.findIndex(({ text }, index) => index > 0 && !/^-|^\w+=|^\d+[smhd]?$/.test(text))
      if (at < 0) return rest
      rest = rest.slice(at)
    } else return rest
  }
}

// --- Whether it can end badly

function canFail(items: readonly Item[], hasPipefail: boolean): boolean {
  const stops = items.some(({ pipeline }) =>
    pipeline[0]?.words
      .map(({ text }) => text)
      .join(' ')
      .match(/^set -\w*e/),
  )
  let can = false
  let any = false
  for (const { pipeline, joint } of items) {
    const own = joint === 'background' ? false : pipelineCanFail(pipeline, hasPipefail)
    if (joint === 'and') can ||= own
    else if (joint === 'or') can &&= own
    else {
      any ||= can
      can = own
    }
  }
  return can || (stops && any)
}

function pipelineCanFail(pipeline: Pipeline, hasPipefail: boolean): boolean {
  if (hasPipefail && pipeline.length > 1) return pipeline.some(it => simpleCanFail(it, false))
  const last = pipeline.at(-1)
  return last !== undefined && simpleCanFail(last, pipeline.length > 1)
}

function simpleCanFail({ words, isNegated }: Simple, isPiped: boolean): boolean {
  if (isNegated) return true
  const run = unwrapped(words)
  const [program, second] = run.map(({ text }) => text)
  // A command of only assignments can't fail. Any other command in which no program is found may fail.
  if (program === undefined) return !words.every(({ text }) => /^\w+=/.test(text))
  if (program === 'exit' || program === 'return') return second !== undefined && second !== '0'
  // A command inside of a shell is checked separately.
  if (SHELLS.has(program)) return true
  if (program === 'ls') return second !== undefined
  if (ALWAYS_WELL.has(program)) return false
  const hasFile = run.slice(1).some(({ text }) => !text.startsWith('-') && !/^\d+$/.test(text))
  return !(isPiped && WELL_IN_PIPES.has(program) && (!hasFile || program === 'tee' || program === 'tr'))
}

function whyItCannotFail(items: readonly Item[], command: string): string {
  const last = items.at(-1)
  const piped = last && last.pipeline.length > 1 ? last.pipeline.at(-1)?.words[0]?.text : undefined
  if (last?.joint === 'or') return 'can never fail, since what stands behind "||" ends well: leave that away'
  if (piped)
    return `can never fail, since a pipe ends as its last program does (${piped}): leave that away, or begin with "set -o pipefail;"`
  if (items.some(({ joint }) => joint === 'background'))
    return 'can never fail, since it runs behind "&": leave that away'
  if (items.length > 1 && /;|\n/.test(command))
    return 'can never fail, since its last part ends well whatever was before: join the parts by "&&"'
  return 'can never fail, so that it shows nothing: give one that ends with another code than 0 while it is not done'
}

// --- Reading it

type Token = Word | { operator: string }

/** Parses a command; undefined for syntax that is not supported here. */
function parse(command: string): Item[] | 'open quote' | undefined {
  const tokens = tokensOf(command)
  if (!Array.isArray(tokens)) return tokens
  const items: Item[] = []
  let pipeline: Pipeline = []
  let words: Word[] = []
  let isNegated = false
  let joint: Item['joint'] = 'next'
  const endSimple = () => {
    if (words.length > 0) pipeline.push({ words, isNegated })
    words = []
    isNegated = false
  }
  const endPipeline = (next: Item['joint'], isBehind = false) => {
    endSimple()
    if (pipeline.length > 0) items.push({ pipeline, joint: isBehind ? 'background' : joint })
    pipeline = []
    joint = next
  }
  for (const token of tokens) {
    if (!('operator' in token)) {
      // A word is also the first of a command after `{`, `then` and the like.
      const isFirst = words.every(({ text, isQuoted }) => !isQuoted && KEYWORDS.has(text))
      if (token.text === '!' && !token.isQuoted && isFirst) isNegated = true
      else words.push(token)
      continue
    }
    switch (token.operator) {
      case '|':
        endSimple()
        break
      case '&&':
        endPipeline('and')
        break
      case '||':
        endPipeline('or')
        break
      case '&':
        endPipeline('next', true)
        break
      default:
        endPipeline('next')
    }
  }
  endPipeline('next')
  return items
}

function tokensOf(command: string): Token[] | 'open quote' | undefined {
  // Here-documents are not supported.
  if (command.includes('<<')) return undefined
  const tokens: Token[] = []
  let word = ''
  let [isIn, isQuoted] = [false, false]
  const end = () => {
    if (isIn) tokens.push({ text: word, isQuoted })
    word = ''
    isIn = false
    isQuoted = false
  }
  for (let at = 0; at < command.length; at++) {
    const char = command[at] as string
    const pair = command.slice(at, at + 2)
    if (char === "'" || char === '"' || char === '`') {
      const close = closing(command, at)
      if (close < 0) return 'open quote'
      word += command.slice(at + 1, close)
      isIn = true
      isQuoted = true
      at = close
    } else if (pair === '$(' || pair === '<(' || pair === '>(' || pair === '$((') {
      const close = closingBracket(command, at + 1)
      if (close < 0) return undefined
      word += command.slice(at, close + 1)
      isIn = true
      isQuoted = true
      at = close
    } else if (char === '\\') {
      word += command[at + 1] ?? ''
      isIn = true
      at++
    } else if (char === '#' && !isIn) {
      const line = command.indexOf('\n', at)
      at = (line < 0 ? command.length : line) - 1
    } else if (/\s/.test(char) && char !== '\n') end()
    else if (pair === '&&' || pair === '||') {
      end()
      tokens.push({ operator: pair })
      at++
    } else if (char === '>' || char === '<' || pair === '&>') {
      const [redirect = ''] =
        /^(?:&>>?|[<>]{1,2}[&|]?)\s*(?:[^\s;|&<>()'"]+|'[^']*'|"[^"]*")?/.exec(command.slice(at)) ?? []
      // The number before a redirection is no word.
      if (/^\d+$/.test(word)) isIn = false
      end()
      at += Math.max(redirect.length, 1) - 1
    } else if (char === '|' || char === '&' || char === ';' || char === '\n' || char === '(' || char === ')') {
      end()
      tokens.push({ operator: char })
    } else {
      word += char
      isIn = true
    }
  }
  end()
  return tokens
}

function closing(text: string, from: number): number {
  const quote = text[from]
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\' && quote !== "'") at++
    else if (text[at] === quote) return at
  }
  return -1
}

function closingBracket(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === "'" || char === '"') {
      const close = closing(text, at)
      if (close < 0) return -1
      at = close
    } else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return at
  }
  return -1
}
