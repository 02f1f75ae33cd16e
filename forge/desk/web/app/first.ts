/**
 * The page's first script: small, so that it runs while the rest is still on its way. It keeps the secret that the
 * server gave, and asks the desk what the page begins with. The rest takes over from there: see socket.ts.
 */
import { beginOnce } from './beginning.ts'

beginOnce()
