/** What a step is told of its part of a merge: both sides' commits that touched its files, and what can be chosen. */
import { parseCommit, textOf } from '../../../core/git/commits.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { short, sizeInWords, visible } from '../../../core/text.ts'
import type { Oid } from '../contract.ts'
import type { Choice, MergedRun, MergePart, OpenChoice } from '../runs/merging.ts'

/** At most this many characters of each commit's message, and of the messages of a side. */
const MAX_MESSAGE = 1200
const MAX_SIDE = 10_000
/** At most this many characters of FORK.md, and of the questions of Forklift's agent. */
const MAX_FORK_MD = 16_000
const MAX_STUCK = 6000

/** The text about a part of a merge; the same for the same part. */
export async function mergeWords(objects: Objects, merged: MergedRun, part: MergePart): Promise<string> {
  const { into, name, forkMd, forklift } = merged
  const [ours, theirs] = await Promise.all([part.ours, part.theirs].map(oids => messagesOf(objects, oids)))
  const choices = await Promise.all(part.choices.map(choice => choiceInWords(objects, choice)))
  return [
    `${visible(name)} is merged into ${visible(into)}: in the marks, "ours" is ${visible(into)}, and "theirs" is ${visible(name)}.`,
    choices.length > 0 && `Conflicts without markers, and what can be taken:\n${choices.join('\n')}`,
    ours && `Commits of ours that changed these files:\n${ours}`,
    theirs && `Commits of theirs that changed these files:\n${theirs}`,
    forkMd && `What the fork says of itself (FORK.md):\n${short(forkMd, MAX_FORK_MD)}`,
    forklift?.stuck && `Where an agent got stuck at this merge before:\n${short(forklift.stuck, MAX_STUCK)}`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

async function messagesOf(objects: Objects, oids: readonly Oid[]): Promise<string> {
  const found = await Promise.all(oids.map(oid => objects.read(oid, { limit: 1 << 20 })))
  let left = MAX_SIDE
  const told: string[] = []
  for (const [at, object] of found.entries()) {
    if (object?.type !== 'commit' || !object.bytes) continue
    const { message, encoding } = parseCommit(object.bytes)
    const text = textOf(message, encoding).trim()
    const words = `- ${(oids[at] ?? '').slice(0, 12)} ${short(text, MAX_MESSAGE).replaceAll('\n', '\n  ')}`
    left -= words.length
    if (left < 0) break
    told.push(words)
  }
  return told.join('\n')
}

async function choiceInWords(objects: Objects, { id, kind, choices }: OpenChoice): Promise<string> {
  const lines = await Promise.all(
    choices.map(async ({ take, files }) => {
      const told = await Promise.all(files.map(file => fileInWords(objects, file)))
      return `  ${take}: ${told.join('; ')}`
    }),
  )
  return [`${id} (${visible(kind)})`, ...lines].join('\n')
}

async function fileInWords(objects: Objects, { path, entry }: Choice['files'][number]): Promise<string> {
  if (!entry) return `no ${visible(path)}`
  const { mode, oid } = entry
  if (mode === '160000') return `${visible(path)} is a submodule at ${oid.slice(0, 12)}`
  const object = await objects.read(oid, { limit: 4096 })
  if (mode === '120000') return `${visible(path)} is a link to ${visible(object?.bytes?.toString() ?? '')}`
  const executable = mode === '100755' ? ', executable' : ''
  return `${visible(path)} (${sizeInWords(object?.size ?? 0)}${executable}, blob ${oid.slice(0, 12)})`
}
