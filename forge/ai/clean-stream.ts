/**
 * Removes secrets from text that arrives in pieces: text is held back while later text could make it part of a secret.
 */
import { MAX_PRIVATE_KEY_CHARS } from './secrets.ts'
import type { Clean } from './session.ts'

/** At most this many characters without a blank are held back: no secret is longer. */
const MAX_SECRET_CHARS = 12_000
/**
 * Numbers of characters: `#forget` drops text once ENOUGH are held, and keeps at least the last BEHIND, so that secrets
 * that arrive in pieces are recognised.
 */
const [BEHIND, ENOUGH] = [1_000, 4_000]

export class CleanStream {
  /** The text received, from the start of a line, and what was already given out of it. */
  #raw = ''
  #given = ''
  #until = 0

  constructor(readonly clean: Clean) {}

  /** Takes the next piece and gives the text that can be shown by now. */
  take(piece: string): string {
    this.#raw += piece
    return this.#give(settledEnd(this.#raw))
  }

  /** Gives the held-back rest, as no more text follows. */
  end(): string {
    const rest = this.#give(this.#raw.length)
    this.#raw = ''
    this.#given = ''
    this.#until = 0
    return rest
  }

  #give(until: number): string {
    if (until <= this.#until) return ''
    this.#until = until
    const clean = this.clean(this.#raw.slice(0, until))
    const from = this.#given.length
    const isGoingOn = clean.startsWith(this.#given)
    const piece = isGoingOn ? clean.slice(from) : clean.slice(sharedBeginning(clean, this.#given))
    this.#given = clean
    this.#forget()
    return piece
  }

  /** Drops whole lines that later text can no longer affect. */
  #forget(): void {
    if (this.#raw.length < ENOUGH) return
    const end = this.#raw.lastIndexOf('\n', Math.min(this.#raw.length - BEHIND, this.#until - 1)) + 1
    if (end === 0 || openKey(this.#raw.slice(0, end)) !== undefined) return
    const before = this.clean(this.#raw.slice(0, end))
    if (!this.#given.startsWith(before)) return
    this.#raw = this.#raw.slice(end)
    this.#given = this.#given.slice(before.length)
    this.#until -= end
  }
}

/** The end of the text that can't belong to a secret that is still arriving. */
function settledEnd(raw: string): number {
  // Secrets consist of printable ASCII without blanks.
  const word = /[\x21-\x7e]*$/.exec(raw.slice(-MAX_SECRET_CHARS - 1))?.[0].length ?? 0
  const end = word > MAX_SECRET_CHARS ? raw.length : raw.length - word
  return Math.min(end, openKey(raw) ?? end)
}

/** The start of a private key whose end has not arrived; undefined where there is none. */
function openKey(raw: string): number | undefined {
  const at = raw.lastIndexOf('-----BEGIN')
  if (at < 0 || raw.length - at > MAX_PRIVATE_KEY_CHARS) return undefined
  const rest = raw.slice(at)
  const [header = ''] = rest.split('\n', 1)
  const isKey = /PRIVATE KEY/.test(header) || (header.length === rest.length && header.length < 100)
  return isKey && !/-----END[^-]*-----/.test(rest) ? at : undefined
}

function sharedBeginning(one: string, other: string): number {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  return at
}
