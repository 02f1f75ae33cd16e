/**
 * Images of the repository, for the page to show: only kinds that are nothing but pixels, told by their first bytes.
 */
import type { Objects } from '../../core/git/objects.ts'
import { SECRET_HEADER } from './secret.ts'

/** A larger one would hold up everything else. */
const LARGEST = 32 << 20

const begins = (bytes: Uint8Array, start: string, at = 0): boolean =>
  Buffer.from(bytes.subarray(at, at + start.length)).toString('latin1') === start

/**
 * The media type of an image; undefined for everything else. An SVG is no image here: it can hold scripts and links to
 * elsewhere, and is shown as the text that it is.
 */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  if (begins(bytes, '\x89PNG\r\n\x1a\n')) return 'image/png'
  if (begins(bytes, '\xff\xd8\xff')) return 'image/jpeg'
  if (begins(bytes, 'GIF87a') || begins(bytes, 'GIF89a')) return 'image/gif'
  if (begins(bytes, 'RIFF') && begins(bytes, 'WEBP', 8)) return 'image/webp'
  if (begins(bytes, '\0\0\x01\0')) return 'image/x-icon'
  return undefined
}

/** The image that a blob is, for the page; undefined where there is none of that id, or where it is no image. */
export async function imageAnswer(objects: Objects, oid: string): Promise<Response | undefined> {
  const blob = await objects.read(oid, { limit: LARGEST })
  if (!blob?.bytes || blob.type !== 'blob') return undefined
  const type = imageTypeOf(blob.bytes)
  if (!type) return undefined
  return new Response(new Uint8Array(blob.bytes), {
    headers: {
      'content-type': type,
      // An id stands for its content for ever.
      'cache-control': 'private, max-age=31536000, immutable',
      // Nor does the browser's cache give it to who does not show the secret.
      vary: SECRET_HEADER,
      // Opened by itself, it is still nothing but pixels.
      'content-security-policy': "sandbox; default-src 'none'",
    },
  })
}
