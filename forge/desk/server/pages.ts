/** The built page: its files, each served as is or compressed, and nothing else. */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Failure } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import type { Theme } from '../contract/settings.ts'

/** The placeholders in the page for values of each visit: see {@link Visit}. */
const [NONCE_MARK, SECRET_MARK, THEME_MARK] = ['STYLE_NONCE', 'PAGE_SECRET', 'PAGE_THEME']
/** The placeholder for the answers to the page's first questions, which are embedded in it. */
const BEGINNING_MARK = 'PAGE_BEGINNING'

export type Visit = {
  /** The value that the content security policy requires of style elements added by scripts. */
  nonce: string
  /** The user's color theme, so that the page is not shown in another one until its script has the settings. */
  theme: Theme
  /** The secret for a new page to store. It has no characters with a meaning in HTML. */
  secret?: string
  /** The answers to the page's first questions, as a part of HTML; '' if the page has to ask. */
  beginning?: string
}

const PAGE = '/page.html'

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}
const IS_TEXT = /^text\/|svg|wasm/
/** A name with a content hash: its content never changes. */
const IS_HASHED = /-[0-9a-z]{8}\.\w+$/
/** Smaller files gain nothing by compression, in bytes. */
const WORTH_COMPRESSING = 1024

type Encoding = 'br' | 'gzip' | 'identity'
type Asset = { type: string; tag: string; isHashed: boolean; size: number; bodies: Map<Encoding, Promise<Buffer>> }

export class Pages {
  readonly #html: string
  readonly #assets: ReadonlyMap<string, Asset>

  private constructor(html: string, assets: ReadonlyMap<string, Asset>) {
    this.#html = html
    this.#assets = assets
  }

  /** Reads the page built into a folder, all of it: another one that is built there later does not affect this one. */
  static async open(folder: string): Promise<Pages> {
    const top = resolve(folder)
    for (;;) {
      const html = await readHtml(top)
      const assets = await readAssets(top)
      // Otherwise, a build has ended in between: the files may be those of two pages.
      if (html === (await readHtml(top))) return new Pages(html, assets)
    }
  }

  /** The page's HTML for one visit. */
  html({ nonce, theme, secret = '', beginning = '' }: Visit): string {
    const html = this.#html.replaceAll(NONCE_MARK, nonce).replaceAll(SECRET_MARK, secret).replaceAll(THEME_MARK, theme)
    // The replacement is a function, since a $ in a replacement string has a special meaning.
    return html.replace(BEGINNING_MARK, () => beginning)
  }

  /** One of the page's files, in an encoding that the browser accepts. */
  async answer(name: string, headers: Headers): Promise<Response | undefined> {
    const asset = this.#assets.get(name)
    if (!asset) return undefined
    const caching = {
      etag: asset.tag,
      'cache-control': asset.isHashed ? 'private, max-age=31536000, immutable' : 'private, no-cache',
      vary: 'accept-encoding',
    }
    if (headers.get('if-none-match') === asset.tag) return new Response(null, { status: 304, headers: caching })
    const encoding = encodingFor(asset, headers.get('accept-encoding') ?? '')
    const body = await bodyOf(asset, encoding)
    return new Response(new Uint8Array(body), {
      headers: {
        ...caching,
        'content-type': asset.type,
        ...(encoding !== 'identity' && { 'content-encoding': encoding }),
      },
    })
  }
}

async function readHtml(top: string): Promise<string> {
  return await readFile(join(top, PAGE), 'utf8').catch(() => {
    throw new Failure(`The desk's page is not in ${visible(top)}: run \`make desk\` once in the folder of Forge.`)
  })
}

async function readAssets(top: string): Promise<Map<string, Asset>> {
  const names = await readdir(top)
  const read = names.map(async name => [`/${name}`, await readIfThere(join(top, name))] as const)
  const files = new Map(await Promise.all(read))
  const assets = new Map<string, Asset>()
  for (const [name, bytes] of files) {
    const type = TYPES[extname(name)]
    if (type && bytes) assets.set(name, assetOf(name, type, bytes, files.get(`${name}.br`)))
  }
  return assets
}

/** A file's bytes; undefined if a build has removed it meanwhile. */
async function readIfThere(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

/** `compressed`: the file compressed at build time. */
function assetOf(name: string, type: string, bytes: Buffer, compressed: Buffer | undefined): Asset {
  const isHashed = IS_HASHED.test(name)
  const words = isHashed ? name.slice(1) : new Bun.CryptoHasher('sha256').update(bytes).digest('hex').slice(0, 32)
  return {
    type,
    tag: `"${words}"`,
    isHashed,
    size: bytes.length,
    bodies: new Map<Encoding, Promise<Buffer>>([
      ['identity', Promise.resolve(bytes)],
      ...(compressed ? [['br', Promise.resolve(compressed)] as const] : []),
    ]),
  }
}

function encodingFor({ type, size }: Asset, accepted: string): Encoding {
  if (!IS_TEXT.test(type) || size < WORTH_COMPRESSING) return 'identity'
  const taken = accepted.split(/\s*,\s*/).filter(word => !/;\s*q=0(\.0*)?$/.test(word))
  const names = taken.map(word => word.replace(/;.*/, '').trim())
  return (['br', 'gzip'] as const).find(encoding => names.includes(encoding)) ?? 'identity'
}

/** The file's bytes in an encoding: compressed on first use and cached, so that the start need not wait for it. */
async function bodyOf(asset: Asset, encoding: Encoding): Promise<Buffer> {
  const known = asset.bodies.get(encoding)
  if (known) return await known
  const made = (async () => {
    const bytes = (await asset.bodies.get('identity')) ?? Buffer.alloc(0)
    return encoding === 'identity' ? bytes : await compress(bytes, encoding)
  })()
  asset.bodies.set(encoding, made)
  return await made
}

async function compress(bytes: Buffer, encoding: 'br' | 'gzip'): Promise<Buffer> {
  // Loaded here: the first files were compressed at build time, so a start does not need this.
  const { brotliCompress, constants, gzip } = await import('node:zlib')
  if (encoding === 'gzip') return await promisify(gzip)(bytes, { level: 6 })
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  return await promisify(brotliCompress)(bytes, { params })
}
