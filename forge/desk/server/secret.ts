/** The names by which page and server exchange the page's secret. */

/** The key under which the browser stores the secret, for this port only. */
export const SECRET_NAME = 'forge-secret'

/** The request header with the secret. */
export const SECRET_HEADER = 'x-forge-secret'

/**
 * The socket's protocol, and the prefix of the one that contains the secret, since a page can't set a socket's headers.
 */
export const PROTOCOL = 'forge'
export const SECRET_PROTOCOL = 'forge.secret.'

/** The protocols that a page requests for the socket; without a secret, the server answers why it refuses. */
export const protocolsWith = (secret: string): string[] =>
  secret === '' ? [PROTOCOL] : [PROTOCOL, `${SECRET_PROTOCOL}${secret}`]
