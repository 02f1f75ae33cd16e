/**
 * What lets this page in, besides the cookie: a secret that the first script has kept (see beginning.ts). Only pages
 * of the desk's own port can read it.
 */
import { SECRET_HEADER, SECRET_NAME } from '../../server/secret.ts'

/** Empty where nobody has left one. */
export const readSecret = (): string => localStorage.getItem(SECRET_NAME) ?? ''

/** Asks the server for something that takes the secret. */
export const fetchWith = (secret: string, path: string): Promise<Response> =>
  fetch(path, { headers: { [SECRET_HEADER]: secret } })
