/** A copy of the work in progress, for changes that are taken over as a whole or not at all. */
import { Failure } from '../../core/failure.ts'
import type { Path } from '../../core/git/repository.ts'
import { WorkInProgressVfs } from '../vfs.ts'
import { isOfTheForge } from './model-files.ts'

export const trialOf = (vfs: WorkInProgressVfs): WorkInProgressVfs =>
  new WorkInProgressVfs(vfs.objects, vfs.base, vfs.changes, vfs.verifyWritable)

/** Applies the changes made in a copy (`trial`) to `vfs`. Deletions come first, as a file may become a folder. */
export async function takeTrial(vfs: WorkInProgressVfs, trial: WorkInProgressVfs): Promise<void> {
  const changed = [...trial.changes].filter(
    ([path, change]) => vfs.changes.get(path) !== change || !vfs.changes.has(path),
  )
  for (const [path, change] of changed) if (!change && (await vfs.fileExists(path))) await vfs.deleteFile(path)
  for (const [path, change] of changed)
    if (change && 'bytes' in change)
      await vfs.writeFile(path, change.bytes, { mode: change.mode === '100755' ? '100755' : '100644' })
}

/**
 * Throws a {@link Failure} where a repository's tools and commands may not write to a path: the root itself, and
 * `.forge`, which has the conversation and the approvals, in any spelling that a file system treats as the same. (The
 * Vfs refuses what git refuses.)
 */
export function verifyMayBeWritten(path: Path): void {
  if (path === '' || path.startsWith('/'))
    throw new Failure('What is written and deleted needs a name: this one is empty.')
  if (isOfTheForge(path)) throw new Failure('.forge is not written here: it has the conversation and the approvals.')
}
