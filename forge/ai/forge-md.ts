/**
 * Reads the checks that FORGE.md lists under a heading "Checks": a list, each item with a command between backticks. A
 * word before the command may name its kind: `prepare:` for what has to run before the checks (e.g. the installation of
 * packages), `mend:` for a formatter, which may change files before the checks. The rest of the file is for the
 * planner.
 */
import { type Objects, readStart } from '../../core/git/objects.ts'
import type { Oid } from '../../core/git/repository.ts'
import { entryAt } from '../../core/git/trees.ts'

export type ForgeMd = {
  checks: string[]
  prepare: string[]
  mend: string[]
  /** The whole file, for the planner; at most 64 KiB. */
  text: string
}

export const FORGE_MD = 'FORGE.md'
const MAX_FORGE_MD_BYTES = 64 << 10
const MAX_COMMAND_CHARS = 2000

/** Reads FORGE.md at a commit; empty where it does not exist. */
export async function readForgeMd(objects: Objects, commit: Oid): Promise<ForgeMd> {
  const entry = await entryAt(objects, commit, FORGE_MD)
  if (!entry?.mode.startsWith('100')) return { checks: [], prepare: [], mend: [], text: '' }
  return parseForgeMd((await readStart(objects.repository, entry.oid, MAX_FORGE_MD_BYTES)).toString())
}

export function parseForgeMd(text: string): ForgeMd {
  const found: ForgeMd = { checks: [], prepare: [], mend: [], text }
  let isInside = false
  let fence: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const [, mark] = /^ {0,3}(```+|~~~+)/.exec(line) ?? []
    if (mark && (fence === undefined || line.trim().startsWith(fence))) fence = fence === undefined ? mark : undefined
    if (fence !== undefined) continue
    const [, heading] = /^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$/.exec(line) ?? []
    if (heading !== undefined) isInside = /^checks$/i.test(heading)
    if (!isInside) continue
    const [, kind, command] = /^\s*(?:[-*+]|\d+[.)])\s+(?:(prepare|mend):\s*)?`([^`]+)`/i.exec(line) ?? []
    if (!command || command.length > MAX_COMMAND_CHARS) continue
    found[kind?.toLowerCase() === 'prepare' ? 'prepare' : kind ? 'mend' : 'checks'].push(command.trim())
  }
  return found
}

/** The text of the file without its checks: the project's conventions. */
export function proseOf(text: string): string {
  const lines: string[] = []
  let isInside = false
  let fence: string | undefined
  for (const line of text.split(/\r?\n/)) {
    const [, mark] = /^ {0,3}(```+|~~~+)/.exec(line) ?? []
    if (mark && (fence === undefined || line.trim().startsWith(fence))) fence = fence === undefined ? mark : undefined
    const [, heading] = fence === undefined ? (/^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$/.exec(line) ?? []) : []
    if (heading !== undefined) isInside = /^checks$/i.test(heading)
    if (!isInside) lines.push(line)
  }
  return lines.join('\n').trim()
}
