/**
 * A language server for tests, started in place of a real one. It speaks the protocol by its standard input and output,
 * for files in which `wrong` is an error and `doubtful` a warning. Its first argument says how it behaves; the second
 * is the folder of the files, which it names as the container does.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

type Json = Record<string, unknown>
type Position = { line: number; character: number }

const [, , behaviour = 'good', folder = '.'] = process.argv
const ROOT = 'file:///workspace'
const HTML = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
const texts = new Map<string, string>()
/** Until the index is built, only the texts of open files are known. */
let isIndexing = behaviour === 'indexing'

function send(message: Json): void {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message })
  process.stdout.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

const rangeOf = (line: number, from: number, to: number) => ({
  start: { line, character: from },
  end: { line, character: to },
})

/** All places of a word in a text. */
function placesOf(text: string, word: string) {
  return text
    .split('\n')
    .flatMap((content, line) =>
      [...content.matchAll(new RegExp(`\\b${word}\\b`, 'g'))].map(({ index }) =>
        rangeOf(line, index, index + word.length),
      ),
    )
}

function wordAt(text: string, { line, character }: Position): string {
  const content = text.split('\n')[line] ?? ''
  const [before] = /\w*$/.exec(content.slice(0, character)) ?? ['']
  const [after] = /^\w*/.exec(content.slice(character)) ?? ['']
  return before + after
}

/** The texts of all files, as they are open, else as they are in the folder. */
function allTexts(): [uri: string, text: string][] {
  if (isIndexing) return [...texts]
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  return names.map(({ parentPath, name }) => {
    const place = join(parentPath, name)
    const uri = `${ROOT}/${place.slice(folder.length + 1)}`
    return [uri, texts.get(uri) ?? readFileSync(place, 'utf8')]
  })
}

/** More problems than are kept, each with more data than is kept: 10 MB. */
function publishMuch(uri: string): void {
  const problem = { range: rangeOf(0, 0, 1), message: 'much', data: 'x'.repeat(5_000) }
  const diagnostics = Array.from({ length: 2_000 }, () => problem)
  send({ method: 'textDocument/publishDiagnostics', params: { uri, diagnostics } })
}

function publish(uri: string): void {
  if (behaviour === 'huge') {
    publishMuch(uri)
    return
  }
  const text = texts.get(uri) ?? ''
  const errors = placesOf(text, 'wrong').map(range => ({
    range,
    severity: 1,
    source: 'double',
    code: 1,
    message: behaviour === 'html' ? HTML : 'This is wrong.',
  }))
  const warnings = placesOf(text, 'doubtful').map(range => ({ range, severity: 2, message: 'This is doubtful.' }))
  const diagnostics = [...errors, ...warnings]
  send({ method: 'textDocument/publishDiagnostics', params: { uri, diagnostics } })
  if (behaviour !== 'lying') return
  // Of files that are not in the branch, and of nothing at all.
  for (const other of ['file:///etc/passwd', `${ROOT}/../../etc/passwd`, `${ROOT}/.git/config`, 'http://x/', ''])
    send({ method: 'textDocument/publishDiagnostics', params: { uri: other, diagnostics } })
  send({
    method: 'textDocument/publishDiagnostics',
    params: { uri, diagnostics: [{ range: 'none' }, 1, ...diagnostics] },
  })
  send({ id: 4711, result: { not: 'asked' } })
  send({ id: 'x', result: null })
  send({ id: 4712, method: 'window/showDocument', params: { uri: 'https://evil.example', external: true } })
  send({
    id: 4713,
    method: 'workspace/applyEdit',
    params: { edit: { changes: { [uri]: [{ range: rangeOf(0, 0, 0), newText: 'EVIL' }] } } },
  })
}

const CAPABILITIES = {
  textDocumentSync: 2,
  completionProvider: { triggerCharacters: ['.'], resolveProvider: true },
  hoverProvider: true,
  signatureHelpProvider: { triggerCharacters: ['('] },
  definitionProvider: true,
  referencesProvider: true,
  renameProvider: true,
  codeActionProvider: true,
  documentFormattingProvider: true,
  executeCommandProvider: { commands: ['mend'] },
}

const OUTSIDE = [{ range: rangeOf(0, 0, 0), newText: 'EVIL' }]

/** The answer to a request; undefined: none. */
function answer(method: string, params: Json): unknown {
  const { uri = '' } = (params.textDocument ?? {}) as { uri?: string }
  const position = (params.position ?? { line: 0, character: 0 }) as Position
  const word = wordAt(texts.get(uri) ?? '', position)
  const isLying = behaviour === 'lying'
  switch (method) {
    case 'initialize':
      return { capabilities: CAPABILITIES }
    case 'textDocument/completion':
      return {
        isIncomplete: false,
        items: ['window', 'wonder'].map(label => ({ label, kind: 3, detail: `a ${label}`, data: label })),
      }
    case 'completionItem/resolve':
      return {
        ...params,
        documentation: { kind: 'markdown', value: `Opens a **window**.${behaviour === 'html' ? HTML : ''}` },
        additionalTextEdits: [{ range: rangeOf(0, 0, 0), newText: 'import window\n' }],
      }
    case 'textDocument/hover':
      return {
        contents: {
          kind: 'markdown',
          value: `**${word}** ${HTML}`,
        },
      }
    case 'textDocument/signatureHelp':
      return { signatures: [{ label: 'call(one, two)', parameters: [{ label: 'one' }] }], activeParameter: 0 }
    case 'textDocument/definition':
      if (isLying) return [{ uri: 'file:///etc/passwd', range: rangeOf(0, 0, 4) }]
      return allTexts().flatMap(([place, text]) =>
        placesOf(text, `def ${word}`).map(({ start, end }) => ({
          uri: place,
          range: { start: { ...start, character: start.character + 4 }, end },
        })),
      )
    case 'textDocument/references':
      if (isLying)
        return [
          ...['file:///etc/passwd', `${ROOT}/../etc/passwd`, `${ROOT}/.git/config`, `${ROOT}/none.py`, 'http://x/'].map(
            place => ({ uri: place, range: rangeOf(0, 0, 4) }),
          ),
          ...[-1, 0.5, 1e9, 1e300].map(line => ({ uri, range: rangeOf(line, 0, 4) })),
          { uri, range: rangeOf(0, 0, 1e9) },
        ]
      return allTexts().flatMap(([place, text]) => placesOf(text, word).map(range => ({ uri: place, range })))
    case 'textDocument/rename': {
      if (isLying) return { changes: { [uri]: OUTSIDE, 'file:///etc/passwd': OUTSIDE } }
      const newText = String(params.newName)
      const changed = allTexts().map(([place, text]) => [
        place,
        placesOf(text, word).map(range => ({ range, newText })),
      ])
      return { changes: Object.fromEntries(changed.filter(([, edits]) => edits?.length)) }
    }
    case 'textDocument/codeAction':
      if (isLying)
        return [
          { title: 'Mend', kind: 'quickfix', edit: { documentChanges: [{ kind: 'create', uri: `${ROOT}/new.py` }] } },
        ]
      return [{ title: 'Mend wrong', kind: 'quickfix', command: { title: 'Mend', command: 'mend', arguments: [uri] } }]
    case 'workspace/executeCommand': {
      const [place = ''] = params.arguments as string[]
      const edits = placesOf(texts.get(place) ?? '', 'wrong').map(range => ({ range, newText: 'right' }))
      send({ id: 900, method: 'workspace/applyEdit', params: { edit: { changes: { [place]: edits } } } })
      return null
    }
    case 'textDocument/formatting':
      if (isLying)
        return [...OUTSIDE, { range: rangeOf(0, 0, 3), newText: 'a' }, { range: rangeOf(0, 2, 4), newText: 'b' }]
      return placesOf(texts.get(uri) ?? '', 'def').map(({ start }) => ({
        range: { start, end: start },
        newText: '  ',
      }))
    default:
      return null
  }
}

function changed(uri: string, changes: { range?: { start: Position; end: Position }; text: string }[]): void {
  for (const { range, text } of changes) {
    const before = texts.get(uri) ?? ''
    const lines = before.split('\n')
    const at = ({ line, character }: Position) =>
      lines.slice(0, line).reduce((sum, content) => sum + content.length + 1, 0) + character
    texts.set(uri, range ? before.slice(0, at(range.start)) + text + before.slice(at(range.end)) : text)
  }
}

function buildIndex(): void {
  const progress = (kind: string) => send({ method: '$/progress', params: { token: 'index', value: { kind } } })
  send({ id: 901, method: 'window/workDoneProgress/create', params: { token: 'index' } })
  progress('begin')
  setTimeout(() => {
    isIndexing = false
    progress('end')
  }, 300)
}

function hear({ id, method, params = {} }: { id?: number; method?: string; params?: Json }): void {
  const document = (params.textDocument ?? {}) as { uri: string; text: string }
  if (method === 'textDocument/didOpen') texts.set(document.uri, document.text)
  if (method === 'textDocument/didOpen' && isIndexing) buildIndex()
  if (method === 'textDocument/didChange') changed(document.uri, params.contentChanges as never)
  if (method === 'textDocument/didClose') texts.delete(document.uri)
  if (method === 'textDocument/didOpen' || method === 'textDocument/didChange') {
    if (behaviour === 'dying' && document.text?.includes('die')) process.exit(3)
    publish(document.uri)
    if (behaviour === 'flooding') flood(document.uri)
    // As real servers do, which send what they find in parts.
    if (behaviour === 'repeating') setInterval(() => publish(document.uri), 30)
  }
  if (id === undefined || method === undefined) return
  if (behaviour === 'silent' || (behaviour === 'hanging' && method !== 'initialize')) return
  if (behaviour === 'huge' && method === 'textDocument/hover') {
    send({ id, result: { contents: 'x'.repeat(40 << 20) } })
    return
  }
  if (behaviour === 'no protocol' && method === 'textDocument/hover') {
    process.stdout.write('Content-Length: 99999999999999\r\n\r\n')
    return
  }
  const result = answer(method, params)
  if (result !== undefined) send({ id, result })
}

function flood(uri: string): void {
  const params = { uri, diagnostics: [{ range: rangeOf(0, 0, 1), message: 'flood' }] }
  for (let count = 0; count < 50_000; count++) send({ method: 'textDocument/publishDiagnostics', params })
}

let received = Buffer.alloc(0)
process.stdin.on('data', (chunk: Buffer) => {
  received = Buffer.concat([received, chunk])
  for (;;) {
    const end = received.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(received.subarray(0, Math.max(0, end)).toString())?.[1])
    if (end < 0 || received.length < end + 4 + length) return
    const body = received.subarray(end + 4, end + 4 + length).toString()
    received = received.subarray(end + 4 + length)
    hear(JSON.parse(body))
  }
})
process.stdin.on('end', () => process.exit(0))
