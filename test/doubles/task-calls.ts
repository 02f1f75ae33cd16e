/** An answer to a step of a task, as a model sends it. */
import type { ScriptedCall } from './model-server.ts'

/** An answer as a model sends it: its edits are calls of their own, in front of it. */
export function callsOf(sent: object): ScriptedCall[] {
  const { edits, ...answer } = sent as { edits?: unknown }
  // What is no list is no edits, and is sent as it is.
  if (edits !== undefined && !Array.isArray(edits)) return [{ name: 'answer', arguments: { answer: sent } }]
  const calls = (edits ?? []).map(callOf)
  return [...calls, { name: 'answer', arguments: { answer } }]
}

function callOf({ kind, ...edit }: { kind: string } & Record<string, unknown>): ScriptedCall {
  const { path, search, replace, to } = edit
  switch (kind) {
    case 'replace':
      return { name: 'search_replace', arguments: { path, edits: [{ search, replace }] } }
    case 'append':
      return { name: 'append_to_file', arguments: edit }
    case 'delete':
      return { name: 'delete_file', arguments: edit }
    case 'rename':
      return { name: 'rename_file', arguments: { from: path, to } }
    default:
      return { name: 'write_file', arguments: edit }
  }
}
