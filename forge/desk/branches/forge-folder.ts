/**
 * The folder `.forge` belongs to its branch: a merge keeps the target branch's. The desk's merges use {@link
 * withOwnFolder}; for plain git, attributes in the folder name a merge driver of the repository's configuration. (A
 * file that only the other side has is added by plain git without asking the driver.)
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

/**
 * The attributes file to commit with a conversation, by which a merge keeps the branch's own folder .forge; empty if
 * the file is there already.
 */
export async function attributesChange(objects: Objects, treeish: Oid | undefined): Promise<Map<Path, TreeChange>> {
  const entry = treeish === undefined ? undefined : await entryAt(objects, treeish, ATTRIBUTES)
  const isFile = entry?.mode === '100644' || entry?.mode === '100755'
  const text = isFile ? (await objects.read(entry.oid, { limit: MAX_FILE_BYTES }))?.bytes : Buffer.of()
  // A file too large to edit in the desk stays as it is.
  if (!text) return new Map()
  if (text.toString('latin1').split(/\r?\n/).includes(RULE)) return new Map()
  const between = text.length === 0 || text.at(-1) === 0x0a ? '' : '\n'
  const bytes = Buffer.concat([text, Buffer.from(`${between}${EXPLAINED}\n${RULE}\n`)])
  return new Map([[ATTRIBUTES, { mode: '100644', bytes }]])
}

/**
 * The merge driver's command: keeps our side, but only below the folder. Attributes elsewhere, possibly a stranger's,
 * could name the driver, too, and silently lose the other side's changes: there it does what git does without a driver.
 */
const KEEP = [
  `case %P in ${FORGE_FOLDER}/*) exit 0;; esac`,
  'git merge-file -L ours -L base -L theirs --marker-size=%L %A %O %B',
].join('; ')
/** The merge driver's command in earlier versions, which kept our side of any file without checking its path. */
const ANYWHERE = 'true'

/** Configures the merge driver that keeps our side in the folder .forge, unless the user has configured it already. */
export async function setUpMergeDriver(repository: Repository): Promise<void> {
  const key = `merge.${DRIVER}.driver`
  const { code, stdout } = await run(repository, ['config', '--get', key], { ok: [0, 1] })
  if (code === 0 && stdout.toString().trim() !== ANYWHERE) return
  await setConfig(repository, `merge.${DRIVER}.name`, 'keep what the branch itself has')
  await setConfig(repository, key, KEEP)
}

/** A merge in which the folder .forge is that of `ours`, and has no conflicts. */
export async function withOwnFolder(objects: Objects, ours: Oid, merge: MergedTree): Promise<MergedTree> {
  const [own, merged] = await Promise.all([ours, merge.tree].map(treeish => entryAt(objects, treeish, FORGE_FOLDER)))
  const stages = merge.stages.filter(({ path }) => !isOfForge(path))
  const conflicts = merge.conflicts.filter(({ paths }) => !paths.every(isOfForge))
  if (own?.oid === merged?.oid && own?.mode === merged?.mode) return { ...merge, stages, conflicts }
  const tree = await writeTree(objects, merge.tree, new Map<Path, TreeChange>([[FORGE_FOLDER, own]]))
  return { ...merge, tree, stages, conflicts }
}
