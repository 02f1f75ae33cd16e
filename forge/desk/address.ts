/** Where a desk answers, and whether it still does. */
import { CHALLENGE_HEADER, type Key, newToken, proofFor, questionFor } from './access.ts'
import { SECRET_HEADER } from './secret.ts'
import type { Address } from './state.ts'

/** The address that lets a browser in. */
export const urlOf = ({ port, token }: Key): string => `http://127.0.0.1:${port}/?token=${token}`

/** Whether the desk that wrote this address answers there. Whoever else does learns nothing by that. */
export async function askWhoIsThere(address: Address): Promise<boolean> {
  const challenge = newToken()
  try {
    const response = await fetch(`http://127.0.0.1:${address.port}/here`, {
      headers: { [CHALLENGE_HEADER]: challenge, [SECRET_HEADER]: questionFor(address, challenge) },
      redirect: 'manual',
      signal: AbortSignal.timeout(2000),
    })
    if (!response.ok) return false
    const answer = (await response.json()) as { proof?: unknown }
    return answer.proof === proofFor(address, challenge)
  } catch {
    // Nobody there, or somebody else.
    return false
  }
}
