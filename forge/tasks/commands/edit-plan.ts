/** Opens a plan in the user's editor, in the format of `forge run --plan`. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../../../core/failure.ts'
import { read } from '../../../core/git/run.ts'
import { visible } from '../../../core/text.ts'
import type { Reference, RunId } from '../contract.ts'
import { parsePlanFile as readPlanFile, writePlan as writePlanFile } from '../plan/file.ts'
import { openRunFolder } from '../runs/folder.ts'
import { readPlan } from '../runs/plans.ts'
import type { CommandContext } from './context.ts'
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
  await edit(place, path, context)
  const edited = readPlanFile(await readFile(path, 'utf8'), name)
  if (JSON.stringify(edited) === JSON.stringify(plan)) return undefined
  return await store.putJson('plan', edited)
}

function verifyIsThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** As git does it: the editor is a shell command, and the file is its argument. */
async function edit({ repository }: RunPlace, path: string, { cwd, env }: CommandContext): Promise<void> {
  const editor = await read(repository, ['var', 'GIT_EDITOR'], { ok: [0, 1, 128] })
  if (!editor)
    throw new Failure(`No editor is known: set EDITOR, or edit ${visible(path)} by hand and choose edit again.`)
  const child = Bun.spawn(['sh', '-c', `${editor} "$@"`, editor, path], {
    cwd,
    env,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if ((await child.exited) !== 0)
    throw new Failure(`The editor (${visible(editor)}) did not end well: the plan is as it was.`)
}
