/**
 * The page's first script: small, so that it runs while the rest is still on its way. It keeps the secret that the
 * server gave, and asks the desk what the page begins with. The rest takes over from there: see socket.ts.
 */
import { SECRET_NAME } from '../secret.ts'
import { begin } from './beginning.ts'

/** Who comes with a token or ticket gets the secret with the page, once. Neither stays where it came. */
function keepSecret(): void {
  const meta = document.querySelector<HTMLMetaElement>(`meta[name="${SECRET_NAME}"]`)
  if (meta?.content) {
    localStorage.setItem(SECRET_NAME, meta.content)
    history.replaceState(null, '', '/')
  }
  meta?.remove()
}

keepSecret()
window.beginning = begin()
