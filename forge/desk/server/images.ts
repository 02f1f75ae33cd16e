/**
 * Images of the repository, for the page to show: only kinds that are nothing but pixels, told by their first bytes.
 */
import type { Objects } from '../../../core/git/objects.ts'
import { SECRET_HEADER } from './secret.ts'

/** A larger one would hold up everything else. */
const MAX_IMAGE_BYTES = 32 << 20

/** How images begin that a browser shows. An SVG is none: it can hold scripts and links to elsewhere, and is text. */
const KINDS: readonly [type: string, start: RegExp][] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF....WEBP/s],
  ['image/avif', /^....ftypavi[fs]/s],
  ['image/bmp', /^BM....\0\0\0\0/s],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how icons begin
  ['image/x-icon', /^\0\0\x01\0/],
]

/** The media type of an image that a browser shows, by its first bytes; undefined for everything else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return KINDS.find(([, pattern]) => pattern.test(start))?.[0]
}

/** The image that a blob is, for the page; undefined where there is none of that id, or where it is no image. */
export async function imageAnswer(objects: Objects, oid: string): Promise<Response | undefined> {
  const blob = await objects.read(oid, { limit: MAX_IMAGE_BYTES })
  if (!blob?.bytes || blob.type !== 'blob') return undefined
  const type = imageTypeOf(blob.bytes)
  if (!type) return undefined
  return new Response(new Uint8Array(blob.bytes), {
    headers: {
      'content-type': type,
      // The content of an id never changes.
      'cache-control': 'private, max-age=31536000, immutable',
      // The browser's cache, too, gives it only with the secret in the address.
      vary: SECRET_HEADER,
      // Opened by itself, it is still nothing but pixels.
      'content-security-policy': "sandbox; default-src 'none'",
    },
  })
}
