/** `forge stats`: how tasks went by tier and model, over all runs of this repository. */
import { EXIT, type ExitCode } from '../../../core/failure.ts'
import { listRuns } from '../runs/folder.ts'
import { readStats, statsTable } from '../runs/stats.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'
import { openPlace } from './place.ts'

const USAGE = 'forge stats [--json]'

export const HELP = `${USAGE}

Shows by tier and model how the tasks of all runs in this repository went: how many passed at their first attempt, and
what all requests took. What does well on a smaller model needs no larger one (FORGE_TIER_… in forge.env). Planners see
the same table. Runs that were pruned are not in it.

  --json   as JSON, one object for each tier and model`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const { values } = parse(argv, { options: { json: { type: 'boolean' } }, usage: USAGE, words: [0, 0] })
  await using place = await openPlace(context)
  const runs = (await listRuns(place.repository, context.env)).filter(({ isInGit }) => isInGit)
  const names = runs.map(({ run }) => run)
  const rows = await readStats(place.objects, names)
  if (values.json) for (const row of rows) context.out(JSON.stringify(row))
  else for (const line of rows.length > 0 ? statsTable(rows) : [NOTHING]) context.out(line)
  return EXIT.done
}

const NOTHING = 'No model has answered in this repository yet: forge run "…" begins a run.'
