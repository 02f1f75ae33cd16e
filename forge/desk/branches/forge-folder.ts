/**
 * The folder `.forge` belongs to its branch: a merge keeps the one of the branch that is merged into. The desk's own
 * merges go by {@link withOwnFolder}; for plain git there are attributes in the folder and a merge driver in the
 * repository's configuration. (What plain git adds, since only the other side has it, no driver is asked about.)
 */
import { setConfig } from '../../../core/git/config.ts'
import type { MergedTree } from '../../../core/git/merges.ts'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid, Path, Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'

export const FORGE_FOLDER = '.forge'
export const ATTRIBUTES: Path = '.forge/.gitattributes'

const MAX_FILE_BYTES = 1 << 20

const DRIVER = 'forge-own'
const RULE = `* merge=${DRIVER}`
const EXPLAINED = '# A merge keeps the conversation of the branch that is merged into.'

export const isOfForge = (path: Path): boolean => path === FORGE_FOLDER || path.startsWith(`${FORGE_FOLDER}/`)

/** What has to be committed with a conversation so that merges keep it apart: nothing, where it is there already. */
export async function attributesChange(objects: Objects, treeish: Oid | undefined): Promise<Map<Path, TreeChange>> {
  const entry = treeish === undefined ? undefined : await entryAt(objects, treeish, ATTRIBUTES)
  const isFile = entry?.mode === '100644' || entry?.mode === '100755'
  const text = isFile ? (await objects.read(entry.oid, { limit: MAX_FILE_BYTES }))?.bytes : Buffer.of()
  // A larger file is not one that the desk edits: it stays as it is.
  if (!text) return new Map()
  if (text.toString('latin1').split(/\r?\n/).includes(RULE)) return new Map()
  const between = text.length === 0 || text.at(-1) === 0x0a ? '' : '\n'
  const bytes = Buffer.concat([text, Buffer.from(`${between}${EXPLAINED}\n${RULE}\n`)])
  return new Map([[ATTRIBUTES, { mode: '100644', bytes }]])
}

/**
 * Ours as it is, but below the folder only: attributes elsewhere, which may be a stranger's, could name the driver, too,
 * and have changes of the other side lost silently. There it is what git does without any driver.
 */
const KEEP = [
  `case %P in ${FORGE_FOLDER}/*) exit 0;; esac`,
  'git merge-file -L ours -L base -L theirs --marker-size=%L %A %O %B',
].join('; ')
/** As it was before it looked where it is. */
const ANYWHERE = 'true'

/** Tells git what the rule means: to leave our side as it is. A setting of the user's own is kept. */
export async function setUpMergeDriver(repository: Repository): Promise<void> {
  const key = `merge.${DRIVER}.driver`
  const { code, stdout } = await run(repository, ['config', '--get', key], { ok: [0, 1] })
  if (code === 0 && stdout.toString().trim() !== ANYWHERE) return
  await setConfig(repository, `merge.${DRIVER}.name`, 'keep what the branch itself has')
  await setConfig(repository, key, KEEP)
}

/** A merge, but with the folder as `ours` has it, and without the conflicts that were in there. */
export async function withOwnFolder(objects: Objects, ours: Oid, merge: MergedTree): Promise<MergedTree> {
  const [own, merged] = await Promise.all([ours, merge.tree].map(treeish => entryAt(objects, treeish, FORGE_FOLDER)))
  const stages = merge.stages.filter(({ path }) => !isOfForge(path))
  const conflicts = merge.conflicts.filter(({ paths }) => !paths.every(isOfForge))
  if (own?.oid === merged?.oid && own?.mode === merged?.mode) return { ...merge, stages, conflicts }
  const tree = await writeTree(objects, merge.tree, new Map<Path, TreeChange>([[FORGE_FOLDER, own]]))
  return { ...merge, tree, stages, conflicts }
}
