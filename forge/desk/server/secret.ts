/** How a page shows the secret that it was given: the names of that, for the server and the page. */

/** The name under which a page keeps its secret. It is the browser's, for this port of this machine alone. */
export const SECRET_NAME = 'forge-secret'

/** The header of a request that shows it. */
export const SECRET_HEADER = 'x-forge-secret'

/** The socket's protocol, and how the one begins that shows the secret: a page can't send headers with a socket. */
export const PROTOCOL = 'forge'
export const SECRET_PROTOCOL = 'forge.secret.'

/** The protocols that a page names when it opens the socket; without a secret it is told why not. */
export const protocolsWith = (secret: string): string[] =>
  secret === '' ? [PROTOCOL] : [PROTOCOL, `${SECRET_PROTOCOL}${secret}`]
