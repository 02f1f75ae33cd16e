/**
 * A model's edits made on the files of a commit: all of them or none, in memory, by the tools that the models of the
 * desk have. Nothing is written but one commit.
 */
import type { Objects } from '../../../core/git/objects.ts'
import { many } from '../../../core/text.ts'
import { editingTools } from '../../ai/built-in-tools.ts'
import { pathFrom } from '../../ai/model-files.ts'
import { contextWithoutPerson } from '../../ai/tool.ts'
import { WorkInProgressVfs } from '../../vfs.ts'
import type { Oid } from '../contract.ts'
import type { FileEdit } from './answers.ts'

/**
 * The files as they became, not written yet; or why not, in words from which a model recovers. `inShort` names only the
 * edits, without anything of a file.
 */
type AppliedEdits =
  | { files: WorkInProgressVfs; words?: never; inShort?: never }
  | { files?: never; words: string; inShort: string }

/** How many complaints are given at once. */
const MAX_COMPLAINTS = 5
/** How many edits of one file are made in one go. */
const MAX_EDITS_AT_ONCE = 100

/** One call of a tool, the edits that it makes by their numbers, and the first of them. */
type Call = { name: string; arguments: unknown; edits: number[]; edit: FileEdit }

/** Makes edits on the files of a commit, in their order. Nothing of the repository changes. */
export async function applyAll(
  objects: Objects,
  base: Oid,
  edits: readonly FileEdit[],
  signal: AbortSignal,
): Promise<AppliedEdits> {
  const files = new WorkInProgressVfs(objects, base)
  const tools = new Map(editingTools().map(tool => [tool.description.name, tool]))
  const room = contextWithoutPerson(files, signal)
  const complaints: string[] = []
  const failed: string[] = []
  for (const call of callsFor(edits)) {
    const unusable = await whyNoName(files, call.edit)
    const result = unusable === undefined ? await tools.get(call.name)?.run(call.arguments, room) : undefined
    if (result && !result.isError) continue
    failed.push(`${named(call)}: ${(unusable ?? result?.words ?? 'unknown').replace(/\.$/, '')}`)
    complaints.push(`${named(call)}: ${unusable ?? result?.text ?? 'nothing of that kind is known.'}`)
    // What comes after it may only fail since this did. A few are told all the same: they can be mended at once.
    if (complaints.length === MAX_COMPLAINTS) break
  }
  if (complaints.length === 0) return { files }
  const head = `Nothing was changed, since ${many(complaints.length, 'edit')} could not be made.`
  return { words: [head, ...complaints].join('\n'), inShort: `${head.slice(0, -1)}: ${failed.join('; ')}.` }
}

/** Why an edit can't make a file of that name: on some systems it would be another one, as plans are told, too. */
async function whyNoName(files: WorkInProgressVfs, edit: FileEdit): Promise<string | undefined> {
  const name = edit.kind === 'rename' ? edit.to : edit.path
  if (!/^[A-Za-z]:[\\/]|\\/.test(name)) return undefined
  // One that is there may be called so, or be spelled so as its name is not UTF-8.
  const path = await pathFrom(files, name).catch(() => undefined)
  if (path !== undefined && (await files.entryAt(path))) return undefined
  return `${JSON.stringify(name)} has a backslash or a drive: name it from the top, with "/" between names.`
}

/** Edits of a file that follow each other are one call: its complaints then name them all. */
function callsFor(edits: readonly FileEdit[]): Call[] {
  const calls: Call[] = []
  for (const [at, edit] of edits.entries()) {
    const last = calls.at(-1)
    const isSame = last?.edit.kind === 'replace' && edit.kind === 'replace' && last.edit.path === edit.path
    if (isSame && last.edits.length < MAX_EDITS_AT_ONCE) {
      last.edits.push(at)
      last.arguments = searchReplace(last.edits.map(number => edits[number] as FileEdit))
      continue
    }
    calls.push({ ...callFor(edit), edits: [at], edit })
  }
  return calls
}

function callFor(edit: FileEdit): Pick<Call, 'name' | 'arguments'> {
  switch (edit.kind) {
    case 'replace':
      return { name: 'search_replace', arguments: searchReplace([edit]) }
    case 'write':
      return { name: 'write_file', arguments: withoutKind(edit) }
    case 'append':
      return { name: 'append_to_file', arguments: withoutKind(edit) }
    case 'delete':
      return { name: 'delete_file', arguments: { path: edit.path } }
    case 'rename':
      return { name: 'rename_file', arguments: { from: edit.path, to: edit.to } }
  }
}

const searchReplace = (edits: readonly FileEdit[]) => ({
  path: edits[0]?.path,
  edits: edits.flatMap(edit => (edit.kind === 'replace' ? [{ search: edit.search, replace: edit.replace }] : [])),
})

const withoutKind = ({ kind: _, ...wanted }: FileEdit) => wanted

const named = ({ name, edit }: Call): string => `${name} ${JSON.stringify(edit.path)}`
