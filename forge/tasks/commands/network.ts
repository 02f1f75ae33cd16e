/** The user's permission for the network of checks: asks with an explanation, signs it, and withdraws it. */
import { join } from 'node:path'
import { EXIT, Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { openState } from '../../../core/state.ts'
import { Approvals } from '../../ai/approvals.ts'
import { NetworkPermission } from '../../ai/network.ts'
import type { CommandContext } from './context.ts'
import { askPerson } from './follow.ts'
import type { RunPlace } from './place.ts'

const OPENS = `Commands of checks in this repository, those of models and of its own files, would reach the whole internet, and
send there what is in the repository; and through docker's network also your local network, other containers, and what
listens on this machine for all addresses. It holds for all runs here, until forge run --no-network.`

/** Gives access to the stored permission by which the user lets the checks of a repository use the network. */
export async function openNetwork(
  { repository }: Pick<RunPlace, 'repository'>,
  { env }: CommandContext,
): Promise<NetworkPermission> {
  const config = join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge')
  return new NetworkPermission(new Approvals(config), await openState(repository, env), repository)
}

/**
 * Lets the checks of this repository use the network (`give`), after asking the user unless `isSure` (--yes); or
 * withdraws that permission (`take back`). Throws a {@link Failure} where it can't ask, or where the answer is no.
 */
export async function settleNetwork(
  place: Pick<RunPlace, 'repository'>,
  { wish, isSure }: { wish: 'give' | 'take back'; isSure: boolean },
  context: CommandContext,
): Promise<void> {
  const permission = await openNetwork(place, context)
  if (wish === 'take back') {
    await permission.takeBack()
    return
  }
  if (await permission.isGiven()) return
  if (!isSure) {
    if (!context.isTerminal)
      throw new Failure('There is no terminal to ask about the network on: add --yes.', EXIT.usage)
    for (const line of OPENS.split('\n')) context.out(line)
    const said = await askPerson(context, 'Allow it? yes or no (y/n): ')
    if (!/^y(es)?$/i.test(said?.trim() ?? ''))
      throw new Failure('The network was not allowed, and nothing was begun: run it without --network.')
  }
  await permission.give()
}
