/**
 * The page's first script: small, so that it runs while the rest is still on its way. It keeps the secret that the
 * server gave, and asks the desk what the page begins with. The rest takes over from there: see socket.ts.
 */
import { SECRET_NAME } from '../server/secret.ts'
import { begin, SHOWED_TAB } from './beginning.ts'
import { readSecret } from './secret.ts'

/** Who comes with a token or ticket gets the secret with the page, once. Neither stays where it came. */
function takeSecret(): string {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  meta?.remove()
  return meta?.content ?? ''
}

const given = takeSecret()
// The browser takes its time to keep something: the connection is on its way meanwhile.
window.beginning = begin(given || readSecret(), localStorage.getItem(SHOWED_TAB) === null)
if (given) {
  localStorage.setItem(SECRET_NAME, given)
  history.replaceState(null, '', '/')
}
