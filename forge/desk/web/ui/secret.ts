/**
 * What lets this page in, besides the cookie: a secret that comes with a visit by the printed address, and that the
 * browser keeps. Only pages of the desk's own port can read it.
 */
import { SECRET_HEADER, SECRET_NAME } from '../../server/secret.ts'

/** Empty where nobody has left one. */
export const readSecret = (): string => localStorage.getItem(SECRET_NAME) ?? ''

/** Asks the server for something that takes the secret. */
export const fetchWith = (secret: string, path: string): Promise<Response> =>
  fetch(path, { headers: { [SECRET_HEADER]: secret } })

/** Keeps the secret that came with the page, if one did. Neither it nor the token in the address stays where it came. */
export function takeSecret(): void {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  meta?.remove()
  if (!meta?.content) return
  localStorage.setItem(SECRET_NAME, meta.content)
  history.replaceState(null, '', '/')
}
