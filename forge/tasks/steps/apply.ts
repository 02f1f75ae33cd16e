/**
 * Applies a model's edits to the files of a commit: all of them or none, in memory, with the chat's tools. The result
 * is written as one commit.
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
 * The changed files, not yet written; or, for the model, why the edits failed. `inShort`: this reason without any
 * content of files.
 */
type AppliedEdits =
  | { files: WorkInProgressVfs; words?: never; inShort?: never }
  | { files?: never; words: string; inShort: string }

/** At most this many complaints are given. */
const MAX_COMPLAINTS = 5
/** At most this many edits of a file are made in one call. */
const MAX_EDITS_AT_ONCE = 100

/** A call of a tool. `edits`: the numbers of the edits that it makes. `edit`: the first of them. */
type Call = { name: string; arguments: unknown; edits: number[]; edit: FileEdit }

/** Applies edits to the files of a commit, in order. Nothing in the repository changes. */
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
    // The edits after a failed one are tried, too, so that the model can fix several mistakes together: only a few,
    // since they may fail just because of the first.
    if (complaints.length === MAX_COMPLAINTS) break
  }
  if (complaints.length === 0) return { files }
  const head = `Nothing was changed, since ${many(complaints.length, 'edit')} could not be made.`
  return { words: [head, ...complaints].join('\n'), inShort: `${head.slice(0, -1)}: ${failed.join('; ')}.` }
}

/**
 * Why an edit can't create a file of this name: on some systems it would name another file (plans have the same rule).
 * Undefined where it can.
 */
async function whyNoName(files: WorkInProgressVfs, edit: FileEdit): Promise<string | undefined> {
  const name = edit.kind === 'rename' ? edit.to : edit.path
  if (!/^[A-Za-z]:[\\/]|\\/.test(name)) return undefined
  // An existing file may have a backslash in its name, or a name that is not UTF-8.
  const path = await pathFrom(files, name).catch(() => undefined)
  if (path !== undefined && (await files.entryAt(path))) return undefined
  return `${JSON.stringify(name)} has a backslash or a drive: name it from the top, with "/" between names.`
}

/** Combines consecutive edits of a file into one call, so that its complaints cover all of them. */
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
