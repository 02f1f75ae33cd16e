/** Files at a ref of the forge's own, which any number of processes may change: a commit's tree, changed as a whole. */
import { bytesOf, type CommitIdentity, identityLine } from '../../../core/git/commits.ts'
import { type Objects, writeObjects } from '../../../core/git/objects.ts'
import { moveRefsPatiently } from '../../../core/git/patience.ts'
import { RefMoved, type RefName } from '../../../core/git/refs.ts'
import type { Path } from '../../../core/git/repository.ts'
import { makeTree, type TreeChange } from '../../../core/git/trees.ts'
import type { Oid } from '../contract.ts'

/** How often a change is retried when other processes change the files first. */
const TRIES = 50

/**
 * Changes the files at a ref. `change` gets the commit that is there and gives the changes; it is called again where
 * another process was first.
 */
export async function changeFilesAt(
  objects: Objects,
  ref: RefName,
  change: (tip: Oid | undefined) => Promise<ReadonlyMap<Path, TreeChange>>,
  { words, who }: { words: string; who: CommitIdentity },
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const tip = (await objects.info(ref))?.oid
    const { oid: tree, made } = await makeTree(objects, tip, new Map(await change(tip)))
    if (tip !== undefined && (await objects.info(`${tip}^{tree}`))?.oid === tree) return
    const line = identityLine(who)
    const commit = bytesOf({ tree, parents: tip === undefined ? [] : [tip], message: `${words}\n` }, line, line)
    const to = (await writeObjects(objects.repository, [...made, { type: 'commit', bytes: commit }])).at(-1)
    try {
      await moveRefsPatiently(objects.repository, [{ ref, from: tip, to }], { message: words, own: 'refs/forge/' })
      return
    } catch (error) {
      if (!(error instanceof RefMoved) || tries > TRIES) throw error
    }
  }
}
