/** Where a desk answers, and whether it still does. */
import { cookieFor, type Key } from './access.ts'
import type { Address } from './state.ts'

/** The address that lets a browser in. */
export const urlOf = ({ port, token }: Key): string => `http://127.0.0.1:${port}/?token=${token}`

/** Whether the desk that wrote this address answers there. */
export async function askWhoIsThere(address: Address): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${address.port}/here`, {
      headers: { cookie: cookieFor(address) },
      redirect: 'manual',
      signal: AbortSignal.timeout(2000),
    })
    if (!response.ok) return false
    const answer = (await response.json()) as { pid?: unknown }
    return answer.pid === address.pid
  } catch {
    // Nobody there, or somebody else.
    return false
  }
}
