/** A model's answer to a step of a task. */
import type { ScriptedCall } from './model-server.ts'

/** The tool calls that send an answer: one for each of its edits, then the call of `answer` with the rest. */
export function callsOf(sent: object): ScriptedCall[] {
  const { edits, ...answer } = sent as { edits?: unknown }
  // Edits that are not a list are sent as they are, within the answer.
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
