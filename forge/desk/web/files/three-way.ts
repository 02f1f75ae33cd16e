/** A draft and the branch's new text, merged over what both began with: what fits, and where a person must choose. */
import { Chunk } from '@codemirror/merge'
import { Text } from '@codemirror/state'
import { hunkOf } from '../review/hunks.ts'

const DIFF = { scanLimit: 1_000, timeout: 200 }

export type Region =
  | { kind: 'fits'; lines: string[] }
  | { kind: 'conflict'; base: string[]; draft: string[]; tip: string[] }

/** Lines from..to of the base became these. */
interface Hunk {
  from: number
  to: number
  lines: string[]
}

export function mergeThree(base: string, draft: string, tip: string): Region[] {
  const lines = base.split('\n')
  const ours = hunksOf(base, draft)
  const theirs = hunksOf(base, tip)
  const regions: Region[] = []
  let at = 0
  while (ours.length > 0 || theirs.length > 0) {
    const group = takeGroup(ours, theirs)
    regions.push({ kind: 'fits', lines: lines.slice(at, group.from) })
    regions.push(settle(lines, group))
    at = group.to
  }
  regions.push({ kind: 'fits', lines: lines.slice(at) })
  return joined(regions)
}

function hunksOf(before: string, after: string): Hunk[] {
  const one = Text.of(before.split('\n'))
  const other = Text.of(after.split('\n'))
  const lines = after.split('\n')
  return Chunk.build(one, other, DIFF).map(chunk => {
    const { fromA, toA, fromB, toB } = hunkOf(one, other, chunk)
    return { from: fromA, to: toA, lines: lines.slice(fromB, toB) }
  })
}

interface Group {
  from: number
  to: number
  ours: Hunk[]
  theirs: Hunk[]
}

/** The next hunks of either side that touch each other. */
function takeGroup(ours: Hunk[], theirs: Hunk[]): Group {
  const from = Math.min(ours[0]?.from ?? Number.POSITIVE_INFINITY, theirs[0]?.from ?? Number.POSITIVE_INFINITY)
  const group: Group = { from, to: from, ours: [], theirs: [] }
  for (;;) {
    const our = takeIfTouching(ours, group)
    const their = takeIfTouching(theirs, group)
    if (our) group.ours.push(our)
    if (their) group.theirs.push(their)
    if (!our && !their) return group
    group.to = Math.max(group.to, our?.to ?? 0, their?.to ?? 0)
  }
}

function takeIfTouching(hunks: Hunk[], group: Group): Hunk | undefined {
  const next = hunks[0]
  return next && next.from <= group.to ? hunks.shift() : undefined
}

function settle(base: string[], group: Group): Region {
  const before = base.slice(group.from, group.to)
  const draft = applied(base, group, group.ours)
  const tip = applied(base, group, group.theirs)
  if (group.ours.length === 0) return { kind: 'fits', lines: tip }
  if (group.theirs.length === 0 || draft.join('\n') === tip.join('\n')) return { kind: 'fits', lines: draft }
  return { kind: 'conflict', base: before, draft, tip }
}

/** The base's lines of a group, with one side's hunks in them. */
function applied(base: string[], { from, to }: Group, hunks: Hunk[]): string[] {
  const lines: string[] = []
  let at = from
  for (const hunk of hunks) {
    lines.push(...base.slice(at, hunk.from), ...hunk.lines)
    at = hunk.to
  }
  return [...lines, ...base.slice(at, to)]
}

function joined(regions: Region[]): Region[] {
  const all: Region[] = []
  for (const region of regions) {
    const last = all.at(-1)
    if (region.kind === 'fits' && region.lines.length === 0) continue
    if (region.kind === 'fits' && last?.kind === 'fits') {
      all[all.length - 1] = { kind: 'fits', lines: [...last.lines, ...region.lines] }
    } else all.push(region)
  }
  return all
}
