/**
 * Blacks out secrets before a conversation is stored where others can read it. Known values are found in any plain
 * encoding, unknown ones by the prefixes that issuers of keys use.
 */

/** The text that replaces a secret. */
export const MARK = '[secret]'

/** A shorter value is not blacked out: it could be an ordinary word. */
const MIN_SECRET_CHARS = 8

/**
 * A pattern that does not match inside a word. An escape before it (`\\n`, `%3D`) is not part of a word, though it ends
 * in a letter.
 */
const apart = ({ source, flags }: RegExp): RegExp =>
  new RegExp(`(?:\\b|(?<=\\\\[nrtbf]|\\\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}))${source}`, flags)

/**
 * Patterns of keys and tokens. Each begins with a rare prefix, and each part is bounded, so that a search takes time
 * proportional to the text. A group named `keep` is not blacked out.
 */
const FORMS: readonly RegExp[] = [
  // Anthropic, OpenRouter, OpenAI (the old ones have nothing but letters and digits after `sk-`)
  apart(/sk-(?:ant|or|proj|svcacct|admin)-[\w-]{16,500}/g),
  apart(/sk-[A-Za-z0-9]{32,200}\b/g),
  // GitHub and GitLab
  /gh[pousr]_[A-Za-z0-9]{30,255}/g,
  /github_pat_\w{22,255}/g,
  /gl(?:pat|ptt|dt|rt|cbt|soat|agent)-[\w-]{20,300}/g,
  // AWS: the id of a key, and a key or token that follows its name, such as aws_secret_access_key
  apart(/(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g),
  /(?<keep>aws_?(?:secret|session)_?(?:access_?)?(?:key|token)\\?["']?\s{0,3}[=:]\s{0,3}\\?["']?)[\w/+=]{40,1200}/gi,
  // Google, Slack, npm, PyPI, Stripe, SendGrid, Hugging Face, DigitalOcean, Telegram
  /AIza[\w-]{35}/g,
  /GOCSPX-[\w-]{20,60}/g,
  apart(/ya29\.[\w.-]{20,1000}/g),
  /xox[abeoprs]-[\w-]{10,250}/g,
  /xapp-\d-[\w-]{20,250}/g,
  /(?<keep>hooks\.slack\.com\/(?:services|workflows)\/)[\w/]{20,200}/g,
  /npm_[A-Za-z0-9]{36}/g,
  /pypi-[\w-]{50,500}/g,
  /(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{20,250}/g,
  apart(/SG\.[\w-]{20,24}\.[\w-]{40,50}/g),
  apart(/hf_[A-Za-z0-9]{30,60}/g),
  /dop_v1_[0-9a-f]{64}/g,
  apart(/\d{8,10}:AA[\w-]{33}/g),
  // A JSON Web Token: three parts, of which the first is a JSON object in base64
  apart(/eyJ[\w-]{8,1000}\.eyJ[\w-]{8,8000}\.[\w-]{10,2000}/g),
  // The value of an Authorization header
  /(?<keep>authorization\\?["']?\s{0,3}[=:]\s{0,3}\\?["']?(?:bearer|basic|token)\s{1,3})[\w.~+/=-]{12,4000}/gi,
]

/** The password in a URL: from `://` to an `@` before anything that ends a host. The user name is kept. */
const PASSWORD = /(?<keep>:\/\/[^\s:/?#@"'<>\\]{0,200}:)(?<password>[^\s/?#@"'<>\\]{1,500})(?=@[\w[])/g

const PRIVATE_KEY = /-----(?<edge>BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
/** No private key, nor the rest of one that was cut, is longer than this. */
export const MAX_PRIVATE_KEY_CHARS = 20_000
/** Characters that can't be in the lines of a private key, whose line ends may be escaped. */
const NOT_IN_KEY = /[^\w+/=:,\s\\-]/

/**
 * Replaces each secret in a text by {@link MARK}. `known`: values of keys that this program uses. They are found as
 * they are, in base64 (also inside longer data), in hexadecimal, URL-encoded, and escaped for JSON, in part or several
 * times over.
 */
export const blackOut = (text: string, known: readonly string[]): string => blackOutFor(known)(text)

/** As {@link blackOut}, for many texts: the patterns are built once. */
export function blackOutFor(known: readonly string[]): (text: string) => string {
  const values = [...new Set(known.map(it => it.trim()))].filter(value => value.length >= MIN_SECRET_CHARS)
  // The longest value comes first, since a shorter one may be its beginning.
  values.sort((a, b) => b.length - a.length)
  const forms = values.flatMap(formsOf)
  return text => {
    let black = text
    for (const form of forms) black = black.replace(form, MARK)
    for (const form of [...FORMS, PASSWORD]) black = black.replace(form, (whole, ...rest) => replacementOf(whole, rest))
    return withoutPrivateKeys(black)
  }
}

/** The replacement for a match: its group `keep` stays. `rest` ends with the named groups, where there are any. */
function replacementOf(whole: string, rest: unknown[]): string {
  const last = rest.at(-1)
  const { keep = '', password } = (typeof last === 'object' && last !== null ? last : {}) as Record<string, string>
  return password !== undefined && isNoPassword(password) ? whole : keep + MARK
}

/** Whether a password is a placeholder, as in examples and templates. */
const isNoPassword = (text: string): boolean =>
  /^(\$\{?\w+\}?|\{\{?\w+\}?\}|\*+|x+|\.+|password|pass|pw|secret|token)$/i.test(text) || text === MARK

/**
 * Removes private keys, by scanning from marker to marker: a regular expression would be quadratic on many beginnings
 * without an end.
 */
function withoutPrivateKeys(text: string): string {
  const edges = [...text.matchAll(PRIVATE_KEY)]
  const pieces: string[] = []
  let at = 0
  for (const [number, { index, 0: edge, groups }] of edges.entries()) {
    if (groups?.edge !== 'BEGIN') continue
    const next = edges[number + 1]
    const from = index + edge.length
    const inside = text.slice(from, Math.min(next?.index ?? text.length, from + MAX_PRIVATE_KEY_CHARS))
    const isWhole = next?.groups?.edge === 'END' && next.index - from <= MAX_PRIVATE_KEY_CHARS
    const length = isWhole ? inside.length : inside.search(NOT_IN_KEY)
    const body = length < 0 ? inside : inside.slice(0, length)
    // Text that only mentions private keys has no run of 40 base64 characters.
    if (!/[\w+/]{40}/.test(body)) continue
    pieces.push(text.slice(at, index), MARK)
    at = from + body.length + (isWhole ? next[0].length : 0)
  }
  return pieces.join('') + text.slice(at)
}

/** Patterns for a value in each of its encodings. */
function formsOf(value: string): RegExp[] {
  const bytes = Buffer.from(value)
  const plain = [...value].map(charForms).join('')
  const hex = bytes.toString('hex')
  return [
    new RegExp(plain, 'g'),
    new RegExp(hex, 'gi'),
    ...base64Of(bytes).map(encoded => new RegExp(`${encoded}={0,2}`, 'g')),
  ]
}

/**
 * A pattern for a character, plain or as JSON or a URL may write it: `\\u0041` in either case, `\\/`, `%2F`; or escaped
 * once more, with doubled backslashes and `%25` for `%`.
 */
function charForms(char: string): string {
  const units = [...Array(char.length).keys()].map(at => char.charCodeAt(at).toString(16).padStart(4, '0'))
  const percent = [...Buffer.from(char)].map(byte => `%(?:25){0,3}${anyCase(byte.toString(16).padStart(2, '0'))}`)
  const escaped = units.map(unit => `\\\\{1,8}u${anyCase(unit)}`).join('')
  const named: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't', '\b': 'b', '\f': 'f' }
  const short = named[char] ?? (/["\\/]/.test(char) ? RegExp.escape(char) : undefined)
  const forms = [RegExp.escape(char), escaped, percent.join(''), ...(short ? [`\\\\{1,8}${short}`] : [])]
  return `(?:${forms.join('|')})`
}

const anyCase = (hex: string): string => hex.replace(/[a-f]/g, digit => `[${digit}${digit.toUpperCase()}]`)

/**
 * The base64 forms that bytes have within longer data: three, by their offset modulo 3, without the characters that
 * also encode neighbouring bytes; in the usual alphabet and in that of URLs.
 */
function base64Of(bytes: Buffer): string[] {
  return [0, 1, 2].map(before => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const first = Math.ceil((before * 8) / 6)
    const last = Math.floor(((before + bytes.length) * 8) / 6)
    return encoded
      .slice(first, last)
      .replace(/[+/-]/g, char => (char === '+' ? '(?:[+-]|%2[Bb])' : '(?:[/_]|\\\\{1,8}/|%2[Ff])'))
  })
}
