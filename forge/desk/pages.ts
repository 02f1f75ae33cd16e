/** The page as it was built: the files that it is made of, each served as it is or compressed, and nothing else. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { Failure } from '../../core/failure.ts'
import { visible } from '../../core/text.ts'

/** Stands in the page for what changes with every visit: the word without which a style of a script's is not taken. */
export const NONCE_MARK = 'STYLE_NONCE'

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
/** A name with a hash of the content in it: what it stands for never changes. */
const IS_HASHED = /-[0-9a-z]{8}\.\w+$/
/** Shorter ones grow, or gain nothing. */
const WORTH_COMPRESSING = 1024

type Encoding = 'br' | 'gzip' | 'identity'
type Asset = { type: string; tag: string; isHashed: boolean; size: number; bodies: Map<Encoding, Promise<Buffer>> }

const compress = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 6 }),
}

export class Pages {
  readonly #assets: ReadonlyMap<string, Asset>
  readonly #html: string

  private constructor(assets: ReadonlyMap<string, Asset>, html: string) {
    this.#assets = assets
    this.#html = html
  }

  /** Reads the folder that the page was built into. */
  static async open(folder: string): Promise<Pages> {
    const top = resolve(folder)
    const entries = await readdir(top, { recursive: true, withFileTypes: true }).catch(() => [])
    const assets = new Map<string, Asset>()
    let html: string | undefined
    for (const entry of entries) {
      const path = join(entry.parentPath, entry.name)
      const name = path.slice(top.length)
      const type = TYPES[extname(name)]
      if (entry.isFile() && name === PAGE) html = await readFile(path, 'utf8')
      else if (entry.isFile() && type) assets.set(name, assetOf(name, type, await readFile(path)))
    }
    if (html === undefined)
      throw new Failure(`The desk's page is not in ${visible(folder)}: run \`make desk\` once in the folder of Forge.`)
    return new Pages(assets, html)
  }

  /** The page itself, for one visit. */
  html(nonce: string): string {
    return this.#html.replaceAll(NONCE_MARK, nonce)
  }

  /** One of the page's files, as the browser wishes it. */
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

function assetOf(name: string, type: string, bytes: Buffer): Asset {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
  return {
    type,
    tag: `"${digest}"`,
    isHashed: IS_HASHED.test(name),
    size: bytes.length,
    bodies: new Map([['identity', Promise.resolve(bytes)]]),
  }
}

function encodingFor({ type, size }: Asset, accepted: string): Encoding {
  if (!IS_TEXT.test(type) || size < WORTH_COMPRESSING) return 'identity'
  const taken = accepted.split(/\s*,\s*/).filter(word => !/;\s*q=0(\.0*)?$/.test(word))
  const names = taken.map(word => word.replace(/;.*/, '').trim())
  return (['br', 'gzip'] as const).find(encoding => names.includes(encoding)) ?? 'identity'
}

/** Compressed when it is first asked for, and kept: no file is asked for often enough to make the start wait for it. */
async function bodyOf(asset: Asset, encoding: Encoding): Promise<Buffer> {
  const known = asset.bodies.get(encoding)
  if (known) return await known
  const made = (async () => {
    const bytes = (await asset.bodies.get('identity')) ?? Buffer.alloc(0)
    return encoding === 'identity' ? bytes : await compress[encoding](bytes)
  })()
  asset.bodies.set(encoding, made)
  return await made
}
