/** Opens what the user has signed for a run. */
import { join } from 'node:path'
import { xdgFolder } from '../../../core/folders.ts'
import { Approvals } from '../../ai/approvals.ts'
import { ApprovedCommands } from '../checks/approved.ts'
import type { RunId } from '../contract.ts'
import type { CommandContext } from './context.ts'
import { openStore, type RunPlace } from './place.ts'

/** The user's signed approvals of a run's commands, plans and answers. */
export function openApproved(
  place: RunPlace,
  run: RunId,
  { env }: Pick<CommandContext, 'env'>,
  store = openStore(place, run),
): ApprovedCommands {
  const config = join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge')
  return new ApprovedCommands(new Approvals(config), store)
}
