// Removes the model's key from answers, in case the model or a gateway repeats it.
//
//   redactorOf(key).stream()      a Transform: from bytes to UTF-8 without the key and without NULs
//   redactorOf(key).text(text)    the same for a short text
//
// The key is found as it is, in base64 (any alignment, both alphabets) and in hexadecimal, also where its characters
// are escaped (JSON, percent, numeric HTML), interrupted by invisible characters, or split over chunks of the network
// or over the events of a model's answer. Half of a key counts as the key.
//
// Text is passed on as soon as it can no longer be the beginning of the key.
import { Transform } from 'node:stream'

const MARK = '[key removed]'
// A shorter key is a placeholder ("none", "ollama") whose characters may occur in the code that is merged.
const MIN_KEY_LENGTH = 12
const MAX_PIECES_HELD = 100_000 // characters that may belong to one key, white space and backslashes included
const MAX_LINE_LENGTH = 1024 * 1024 // of an event; a longer one is not combined with its neighbours
// The least number of the key's characters at the end of a chunk that are held back until the next chunk. Fewer are not
// a secret, and most words end with a character of the key.
const MIN_LETTERS_HELD = 4
const MAX_DATA_LINES = 20 // of one event
const MAX_EVENTS_HELD = 16 // events held back while no more text comes in the field where the key may have begun

// --- text as characters that may be escaped ----------------------------------------

// JSON within JSON doubles its backslashes; text percent-encoded twice begins with %25.
const ESCAPE =
  /\\{1,64}(?:u([0-9a-f]{4})|x([0-9a-f]{2})|[nrt])|%(?:25){0,8}([0-9a-f]{2})|&(?:amp;){0,8}#(?:x([0-9a-f]{1,6})|(\d{1,7}));/iy
const BEGINNING_OF_ESCAPE =
  /(?:\\{1,64}(?:u[0-9a-f]{0,3}|x[0-9a-f]?)?|%(?:25){0,8}[0-9a-f]?|&(?:amp;){0,8}(?:a|am|amp)?(?:#(?:x[0-9a-f]{0,6}|\d{0,7}))?)$/i
const MAX_ESCAPE_BYTES = 128
const BEGINS_ESCAPE = new Set('\\%&')

/** Invisible characters: white space of all scripts, and Unicode's format characters. */
const UNSEEN = /[\s\p{Cf}]/u

/**
 * Splits a text into pieces: the source of each, and the character that it stands for. Invisible characters and
 * backslashes stand for none.
 */
function piecesOf(text) {
  const pieces = []
  for (let at = 0; at < text.length; ) {
    const [source, code] = pieceAt(text, at)
    const letter = String.fromCharCode(code)
    const means = code > 0x20 && code !== 0x5c && (code < 0x7f || !UNSEEN.test(letter)) ? letter : ''
    pieces.push({ source, means, isHidden: false, isShown: false, hasMark: false })
    at += source.length
  }
  return pieces
}

function pieceAt(text, at) {
  ESCAPE.lastIndex = at
  const found = BEGINS_ESCAPE.has(text[at]) ? ESCAPE.exec(text) : null
  if (!found) return [text[at], text.charCodeAt(at)]
  const [source, json, hex, percent, html, decimal] = found
  return [source, decimal === undefined ? Number.parseInt(json ?? hex ?? percent ?? html ?? '0', 16) : Number(decimal)]
}

/** The text of those pieces that can be shown now: neither hidden nor already shown. */
function show(pieces) {
  let text = ''
  for (const piece of pieces) {
    if (piece.isShown) continue
    if (!piece.isHidden) text += piece.source
    else if (piece.hasMark) text += MARK
    piece.isShown = true
  }
  return text
}

// --- the key in a sequence of pieces ---------------------------------------------

/** The key in each of its encodings. */
function spellingsOf(key) {
  if (key.length < MIN_KEY_LENGTH) return []
  const bytes = Buffer.from(key)
  const plain = piecesOf(key).map(({ means }) => means)
  const spellings = [plain.join(''), bytes.toString('hex'), bytes.toString('hex').toUpperCase()]
  for (const before of [0, 1, 2]) {
    // The first and last characters of its base64 depend on the bytes before and after it.
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = encoded.slice(Math.ceil((8 * before) / 6), Math.floor((8 * (before + bytes.length)) / 6))
    spellings.push(own, own.replaceAll('+', '-').replaceAll('/', '_'))
  }
  return [...new Set(spellings)]
}

/**
 * A suffix automaton of the encodings: its states stand for all of their substrings, so that after each character the
 * longest suffix of the text that is a substring is known. `enough`: the length from which a substring counts as the
 * key.
 */
function automatonOf(spellings) {
  const root = { next: new Map(), length: 0, link: undefined, enough: Number.POSITIVE_INFINITY }
  let last = root
  const add = (letter, enough) => {
    const state = { next: new Map(), length: last.length + 1, link: root, enough }
    let from = last
    for (; from && !from.next.has(letter); from = from.link) from.next.set(letter, state)
    if (from) state.link = splitOff(from, letter)
    last = state
  }
  const splitOff = (from, letter) => {
    const target = from.next.get(letter)
    if (target.length === from.length + 1) return target
    const copy = { ...target, next: new Map(target.next), length: from.length + 1 }
    target.link = copy
    for (let it = from; it?.next.get(letter) === target; it = it.link) it.next.set(letter, copy)
    return copy
  }
  for (const spelling of spellings) {
    const enough = Math.max(MIN_KEY_LENGTH, Math.ceil(spelling.length / 2))
    for (const letter of spelling) add(letter, enough)
    add('\0', Number.POSITIVE_INFINITY) // stands for no piece, so that no substring spans two encodings
  }
  return root
}

/** Follows a sequence of pieces, hides those that are the key, and holds those that may still become part of it. */
class Matcher {
  held = []
  #root
  #state
  #letters = 0 // how many of the held pieces stand for a character: the longest suffix that is part of the key

  constructor(root) {
    this.#root = root
    this.#state = root
  }

  get letters() {
    return this.#letters
  }

  /** Takes the next piece of the text, and gives the held pieces that can no longer become part of the key. */
  add(piece) {
    this.held.push(piece)
    if (piece.means !== '') this.#follow(piece.means)
    if (this.held.length > MAX_PIECES_HELD) this.#forget()
    if (this.#letters === 0) return this.held.splice(0)
    let surplus = -this.#letters
    for (const { means } of this.held) if (means !== '') surplus++
    const decided = this.held.splice(0, this.#indexAfter(surplus))
    if (piece.means !== '' && this.#letters >= this.#state.enough) this.#hide()
    return decided
  }

  /** Hides the pieces of text that are held back. One mark replaces them all, unless this key has a mark already. */
  #hide() {
    const first = this.held.find(({ isShown }) => !isShown)
    if (first && !this.held[0].isHidden) first.hasMark = true
    for (const piece of this.held) piece.isHidden = true
  }

  #follow(letter) {
    while (this.#state.link && !this.#state.next.has(letter)) {
      this.#state = this.#state.link
      this.#letters = this.#state.length
    }
    const next = this.#state.next.get(letter)
    this.#state = next ?? this.#root
    this.#letters = next ? this.#letters + 1 : 0
  }

  /** The index of the held piece that follows the first `letters` pieces that stand for a character. */
  #indexAfter(letters) {
    let [index, passed] = [0, 0]
    for (; passed < letters || this.held[index]?.means === ''; index++) if (this.held[index].means !== '') passed++
    return index
  }

  #forget() {
    this.#state = this.#root
    this.#letters = 0
  }

  end() {
    this.#forget()
    return this.held.splice(0)
  }
}

// --- text that comes in chunks --------------------------------------------------------

class TextRedactor {
  #matcher
  #rest = ''

  constructor(root) {
    this.#matcher = new Matcher(root)
  }

  add(text) {
    const whole = this.#rest + text
    this.#rest = BEGINNING_OF_ESCAPE.exec(whole.slice(-MAX_ESCAPE_BYTES))?.[0] ?? ''
    const decided = this.#read(whole.slice(0, whole.length - this.#rest.length))
    if (this.#matcher.letters >= MIN_LETTERS_HELD) return decided
    return decided + show(this.#matcher.held)
  }

  end() {
    return this.#read(this.#rest) + show(this.#matcher.end())
  }

  #read(text) {
    return show(piecesOf(text).flatMap(piece => this.#matcher.add(piece)))
  }
}

// --- the events of a stream ------------------------------------------------------

/**
 * Finds the key in the strings that stand at the same place of successive events' JSON. Takes and gives text; text that
 * is not an event passes unchanged.
 */
class EventRedactor {
  #root
  #matchers = new Map()
  #waiting = [] // lines that may still change, oldest first
  #rest = ''
  #endsInCr = false
  #data = [] // lines of an event whose JSON continues
  #event = 0

  constructor(root) {
    this.#root = root
  }

  add(text) {
    const lines = (this.#rest + this.#withPlainEnds(text)).split('\n')
    this.#rest = lines.pop()
    const out = lines.map(line => this.#addLine(`${line}\n`)).join('')
    if (this.#rest.length <= MAX_LINE_LENGTH) return out
    const tooLong = this.#rest
    this.#rest = ''
    return out + this.#releaseAll() + tooLong
  }

  /**
   * Converts the line ends of a text (CR, LF or CRLF) to LF, also where a CR ends one call's text and its LF begins the
   * next.
   */
  #withPlainEnds(text) {
    const isRestOfEnd = this.#endsInCr && text.startsWith('\n')
    if (text !== '') this.#endsInCr = text.endsWith('\r')
    return text.slice(isRestOfEnd ? 1 : 0).replace(/\r\n?/g, '\n')
  }

  #releaseAll() {
    return this.#passData() + this.#release(Number.POSITIVE_INFINITY)
  }

  end() {
    return this.#addLine(this.#rest) + this.#releaseAll()
  }

  /** The data of an event may be in several lines: they are joined once they are complete JSON. */
  #addLine(line) {
    if (!line.startsWith('data:')) return this.#passData() + this.#addEvent(line, undefined)
    const whole = parsed(line.slice('data:'.length))
    if (whole !== undefined) return this.#passData() + this.#addEvent(line, whole)
    this.#data.push(line)
    const text = this.#data.map(it => it.slice('data:'.length)).join('')
    const joined = this.#data.length > 1 ? parsed(text) : undefined
    if (joined === undefined)
      return this.#data.length < MAX_DATA_LINES && text.length <= MAX_LINE_LENGTH ? '' : this.#passData()
    const event = this.#data.splice(0).join('')
    return this.#addEvent(event, joined)
  }

  /** Lines that are not JSON, alone or with the lines after them, pass unchanged. */
  #passData() {
    return this.#data
      .splice(0)
      .map(line => this.#addEvent(line, undefined))
      .join('')
  }

  #addEvent(line, json) {
    const strings = []
    if (json !== undefined) {
      this.#event++
      this.#read(json, '', strings)
    }
    this.#waiting.push({ line, json, strings, event: this.#event })
    return this.#release(this.#oldestHeld())
  }

  /** Follows every string in a value by its place: the property names on its path, and `index` numbers. */
  #read(value, place, strings) {
    if (typeof value !== 'object' || value === null) return
    const here = Number.isInteger(value.index) ? `${place}#${value.index}` : place
    for (const [name, inner] of Object.entries(value)) {
      const there = Array.isArray(value) ? here : `${here}.${name}`
      if (typeof inner !== 'string') this.#read(inner, there, strings)
      else if (inner !== '') strings.push({ holder: value, name, pieces: this.#follow(there, inner) })
    }
  }

  #follow(place, text) {
    const matcher = this.#matchers.get(place)?.matcher ?? new Matcher(this.#root)
    const pieces = piecesOf(text).map(piece => ({ ...piece, event: this.#event }))
    for (const piece of pieces) matcher.add(piece)
    if (matcher.letters === 0) this.#matchers.delete(place)
    else this.#matchers.set(place, { matcher, latest: this.#event })
    return pieces
  }

  /** The number of the oldest event that may still have to change. */
  #oldestHeld() {
    let oldest = Number.POSITIVE_INFINITY
    for (const [place, { matcher, latest }] of this.#matchers) {
      if (this.#event - latest >= MAX_EVENTS_HELD) this.#matchers.delete(place)
      else if (matcher.letters >= MIN_LETTERS_HELD) oldest = Math.min(oldest, matcher.held[0].event)
    }
    return oldest
  }

  /** Takes the lines before an event off those that wait, and gives them as text with the key blacked out. */
  #release(event) {
    const first = this.#waiting.findIndex(line => line.event >= event)
    const ready = this.#waiting.splice(0, first === -1 ? this.#waiting.length : first)
    return ready.map(lineWithoutKey).join('')
  }
}

function lineWithoutKey({ line, json, strings }) {
  let isChanged = false
  for (const { holder, name, pieces } of strings) {
    isChanged ||= pieces.some(({ isHidden }) => isHidden)
    holder[name] = show(pieces)
  }
  return isChanged ? `data: ${JSON.stringify(json)}\n` : line
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// --- what the proxy uses -------------------------------------------------------------

/** Makes a redactor of a key for texts and streams. */
export function redactorOf(key) {
  const root = automatonOf(spellingsOf(key))
  return {
    text(whole) {
      const redactor = new TextRedactor(root)
      return redactor.add(whole) + redactor.end()
    },
    stream: () => redactingStream(root),
  }
}

function redactingStream(root) {
  const decoder = new TextDecoder() // writes U+FFFD for bytes that are not UTF-8
  const [text, events] = [new TextRedactor(root), new EventRedactor(root)]
  const decoded = (bytes, more) => decoder.decode(bytes, { stream: more }).replaceAll('\0', '')
  return new Transform({
    transform(chunk, _encoding, done) {
      done(null, events.add(text.add(decoded(chunk, true))))
    },
    flush(done) {
      done(null, events.add(text.add(decoded(Buffer.of(), false)) + text.end()) + events.end())
    },
  })
}
