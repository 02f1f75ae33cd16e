/** Opens files in the user's editor. */
import { Failure } from '../../../core/failure.ts'
import { read } from '../../../core/git/run.ts'
import { visible } from '../../../core/text.ts'
import type { CommandContext } from './context.ts'
import type { RunPlace } from './place.ts'

/**
 * Opens a file in git's editor (GIT_EDITOR, core.editor, VISUAL, EDITOR), as git does it: the editor is a shell
 * command, and the file is its argument. `what`: what stays as it was where the editor fails. @throws Failure where it
 * does, or where there is none.
 */
export async function openEditor(
  { repository }: RunPlace,
  path: string,
  what: string,
  { cwd, env }: CommandContext,
): Promise<void> {
  const editor = await read(repository, ['var', 'GIT_EDITOR'], { ok: [0, 1, 128] })
  if (!editor)
    throw new Failure(`No editor is known: set EDITOR, or edit ${visible(path)} by hand and choose edit again.`)
  const child = Bun.spawn(['sh', '-c', `${editor} "$@"`, editor, path], {
    cwd,
    env,
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  if ((await child.exited) !== 0)
    throw new Failure(`The editor (${visible(editor)}) did not end well: ${what} is as it was.`)
}
