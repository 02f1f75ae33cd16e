/** A text as it comes, without secrets: no piece is given as long as what comes next could make it a part of one. */
import { MAX_PRIVATE_KEY_CHARS } from './secrets.ts'
import type { Clean } from './session.ts'

/** No secret is longer without a blank in it. */
const MAX_SECRET_CHARS = 12_000
/** Characters at the end of what was given that are looked at again together with what comes next. */
const [BEHIND, ENOUGH] = [1_000, 4_000]

export class CleanStream {
  /** What has come, from the beginning of a line on, and what was given of it. */
  #raw = ''
  #given = ''
  #until = 0

  constructor(readonly clean: Clean) {}

  /** Takes the next piece; gives what can be shown by now. */
  take(piece: string): string {
    this.#raw += piece
    return this.#give(settledEnd(this.#raw))
  }

  /** Gives what is left: nothing more comes. */
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

  /** Gives the lines that no later text can change. */
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

/** Where what can't be a part of a secret that is still coming ends. */
function settledEnd(raw: string): number {
  // Secrets are made of plain characters without blanks between them.
  const word = /[\x21-\x7e]*$/.exec(raw.slice(-MAX_SECRET_CHARS - 1))?.[0].length ?? 0
  const end = word > MAX_SECRET_CHARS ? raw.length : raw.length - word
  return Math.min(end, openKey(raw) ?? end)
}

/** Where a private key begins that has not come to its end. */
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
