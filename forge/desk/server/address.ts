/** The address of a desk, and whether it still answers. */
import * as v from 'valibot'
import { CHALLENGE_HEADER, type Key, newToken, proofFor, questionFor } from './access.ts'
import { SECRET_HEADER } from './secret.ts'
import type { Address } from './state.ts'

/** The address that gives a browser access. */
export const urlOf = ({ port, token }: Key): string => `http://127.0.0.1:${port}/?token=${token}`

/** An address that gives a browser access once. */
export const urlWith = ({ port }: Pick<Key, 'port'>, ticket: string): string =>
  `http://127.0.0.1:${port}/?ticket=${ticket}`

/**
 * Gets a ticket from the desk at this address; undefined if it does not answer there any more. Another program at the
 * port learns nothing from the request.
 */
export async function askForTicket(address: Address): Promise<string | undefined> {
  const challenge = newToken()
  try {
    const response = await fetch(`http://127.0.0.1:${address.port}/here`, {
      headers: { [CHALLENGE_HEADER]: challenge, [SECRET_HEADER]: questionFor(address, challenge) },
      redirect: 'manual',
      signal: AbortSignal.timeout(2000),
    })
    if (!response.ok) return undefined
    const answer = v.safeParse(Answer, await response.json())
    return answer.success && answer.output.proof === proofFor(address, challenge) ? answer.output.ticket : undefined
  } catch {
    // No program answers at the port, or it is not the desk.
    return undefined
  }
}

const Answer = v.object({ proof: v.string(), ticket: v.pipe(v.string(), v.regex(/^[\w-]{43}$/)) })
