/** Makes a file executable, or not: a draft with the same content, by one operation. */
import { Failure } from '../../../core/failure.ts'
import type { Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchWork } from './branch-work.ts'
import { withFiles } from './change-texts.ts'
import { existing } from './draft-files.ts'
import { verifyNoClash } from './drafts.ts'
import { change } from './file-operations.ts'

/** The kind of operation that changes the mode of a file. */
export const MODE = 'mode'

/**
 * Gives a file the mode of a program (100755), or that of any other file (100644). It becomes a draft, unless it then
 * is as it was saved, and the operation can be undone.
 * @throws A {@link Failure} if there is no file, or what is there is a folder, a link or a submodule.
 */
export async function setExecutable(work: BranchWork, path: Path, isExecutable: boolean): Promise<void> {
  const name = visiblePath(path)
  const words = `make ${name} ${isExecutable ? 'executable' : 'not executable'} in ${visiblePath(work.name)}`
  await change(work, { kind: MODE, words }, async drafts => {
    verifyNoClash(drafts, [path])
    const entry = await existing(work.room.objects, drafts, path, work.name)
    if (entry.mode !== '100644' && entry.mode !== '100755')
      throw new Failure(`${name} is no file: only files can be executable.`)
    const file = { ...(drafts.files.get(path) ?? entry), mode: isExecutable ? '100755' : '100644' }
    return await withFiles(work, [{ path, file }])
  })
}
