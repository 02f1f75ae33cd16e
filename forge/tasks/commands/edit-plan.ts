/** Opens a plan in the user's editor, in the format of `forge run --plan`. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Reference, RunId } from '../contract.ts'
import { parsePlanFile as readPlanFile, writePlan as writePlanFile } from '../plan/file.ts'
import { openRunFolder } from '../runs/folder.ts'
import { readPlan } from '../runs/plans.ts'
import type { CommandContext } from './context.ts'
import { openEditor } from './editor.ts'
import { openStore, type RunPlace } from './place.ts'

/**
 * Opens a plan in git's editor (GIT_EDITOR, core.editor, VISUAL, EDITOR) and stores the changed one; undefined where it
 * is unchanged. A text that could not be read as a plan is opened again the next time. @throws Failure with a sentence
 * for each complaint, or where there is no editor.
 */
export async function editPlan(
  place: RunPlace,
  run: RunId,
  reference: Reference,
  context: CommandContext,
): Promise<Reference | undefined> {
  const store = openStore(place, run)
  const plan = await readPlan(store, reference)
  const folder = await openRunFolder(place.repository, run, context.env)
  const name = `${reference.oid.slice(0, 12)}.plan.yaml`
  const path = join(folder, name)
  await writeFile(path, writePlanFile(plan), { flag: 'wx', mode: 0o600 }).catch(verifyIsThere)
  await openEditor(place, path, 'the plan', context)
  const edited = readPlanFile(await readFile(path, 'utf8'), name)
  if (JSON.stringify(edited) === JSON.stringify(plan)) return undefined
  return await store.putJson('plan', edited)
}

function verifyIsThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
