/**
 * The page's secret, needed besides the cookie: it comes with a visit by the printed address, and the browser keeps it.
 * Only pages from the desk's own port can read it.
 */
import { SECRET_HEADER, SECRET_NAME } from '../../server/secret.ts'

/** The stored secret; '' if there is none. */
export const readSecret = (): string => localStorage.getItem(SECRET_NAME) ?? ''

/** Fetches a path that needs the secret. */
export const fetchWith = (secret: string, path: string): Promise<Response> =>
  fetch(path, { headers: { [SECRET_HEADER]: secret } })

/**
 * Stores the secret that came with the page, if any. Removes the secret from the document, and the token from the
 * address bar.
 */
export function takeSecret(): void {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  meta?.remove()
  if (!meta?.content) return
  localStorage.setItem(SECRET_NAME, meta.content)
  history.replaceState(null, '', '/')
}
