/** Images of the repository for the page: only pixel formats, recognised by their first bytes. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { SECRET_HEADER } from './secret.ts'

/** Larger images are refused, since they would hold up other requests. */
const MAX_IMAGE_BYTES = 32 << 20

/**
 * The first bytes of image formats that browsers show. SVG is left out: it is text, and can contain scripts and links.
 */
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

/** The media type of an image, by its first bytes; undefined for anything else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return KINDS.find(([, pattern]) => pattern.test(start))?.[0]
}

/** An image by its blob; undefined if there is no such blob, or it is no image, or too large a one. */
export async function readImage(objects: Objects, oid: Oid): Promise<{ type: string; bytes: Buffer } | undefined> {
  const blob = await objects.read(oid, { limit: MAX_IMAGE_BYTES })
  if (!blob?.bytes || blob.type !== 'blob') return undefined
  const type = imageTypeOf(blob.bytes)
  return type === undefined ? undefined : { type, bytes: blob.bytes }
}

/** The response with an image by its blob; undefined if `readImage()` does not find it. */
export async function imageAnswer(objects: Objects, oid: Oid): Promise<Response | undefined> {
  const image = await readImage(objects, oid)
  if (!image) return undefined
  return new Response(new Uint8Array(image.bytes), {
    headers: {
      'content-type': image.type,
      // The content of an object id never changes.
      'cache-control': 'private, max-age=31536000, immutable',
      // The browser's cache then requires the secret, too.
      vary: SECRET_HEADER,
      // An image that is opened directly can't run anything either.
      'content-security-policy': "sandbox; default-src 'none'",
    },
  })
}
