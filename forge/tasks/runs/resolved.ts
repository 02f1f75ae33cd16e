/** What has come of a run that resolves a merge: which parts are done, by which models, and what a person was asked. */
import type { MergeInParts } from '../../../core/formats/merge-in-parts.ts'
import type { Objects } from '../../../core/git/objects.ts'
import { visible } from '../../../core/text.ts'
import type { Oid } from '../contract.ts'
import { trailersOf } from '../steps/commits.ts'
import { readDecisions } from './decisions.ts'
import { findDone } from './done.ts'
import { readJournal } from './journal.ts'
import type { MergedRun, MergePart } from './merging.ts'
import type { RunStore } from './store.ts'
import { parseStoredAnswer } from './stored-answer.ts'

/** A part with its result; `model`: the one that resolved it last, where that is known. */
export type DonePart = { part: MergePart; head: Oid; model: string | undefined }

/** The parts that have passed. */
export async function partsDone(objects: Objects, store: RunStore, merged: MergedRun): Promise<DonePart[]> {
  const all = await Promise.all(
    merged.parts.map(async part => {
      const head = (await findDone(objects, store.run, part.task))?.tip
      return head === undefined ? [] : [{ part, head, model: await modelOf(objects, store, head) }]
    }),
  )
  return all.flat()
}

/** The model that wrote the step of a commit; a formatter's commit on top of it is passed over. */
async function modelOf(objects: Objects, store: RunStore, head: Oid): Promise<string | undefined> {
  for (let at: Oid | undefined = head, steps = 0; at !== undefined && steps < 5; steps++) {
    const told: Awaited<ReturnType<typeof trailersOf>> = await trailersOf(objects, at)
    if (told?.run !== store.run) return undefined
    const answer = told.request === '' ? undefined : await store.find('answers', told.request)
    if (answer !== undefined) return parseStoredAnswer(await store.read({ kind: 'answer', oid: answer })).model
    at = told.parent
  }
  return undefined
}

/** How the merge was made, for its commit's message. `isOwn`: whether an answer was signed by the user. */
export async function howMade(
  store: RunStore,
  merged: MergedRun,
  done: readonly DonePart[],
  isOwn: (task: string, answer: Oid) => Promise<boolean>,
): Promise<MergeInParts> {
  const { parts, left, forklift } = merged
  const byModel = Map.groupBy(done, ({ model }) => model)
  const models = [...byModel].flatMap(([model, some]) => (model === undefined ? [] : [{ model, parts: some.length }]))
  const lines = await readJournal(store)
  const first: MergeInParts['asked']['first'] = []
  for (const { kind, task, count, answer } of await readDecisions(store)) {
    if (kind !== 'answer' || !(await isOwn(task, answer.oid))) continue
    const asks = lines.filter(line => line.what === 'asks' && (line.task ?? '') === task)
    const asked = asks[count - 1] ?? asks.at(-1)
    const said = await store.readText(answer).catch(() => '')
    const written = asked?.refs?.find(({ kind }) => kind === 'question')
    const question = (written && (await store.readText(written).catch(() => undefined))) ?? asked?.words ?? ''
    first.push({ question: onALine(question), answer: onALine(said) })
  }
  return {
    parts: done.length,
    files: filesIn(done.map(({ part }) => part)),
    models,
    ...(forklift && forklift.settled > 0 && { before: { model: forklift.by, conflicts: forklift.settled } }),
    left: left.reduce((sum, { paths }) => sum + paths.length, filesIn(parts) - filesIn(done.map(({ part }) => part))),
    asked: { count: first.length, first },
  }
}

const filesIn = (parts: readonly MergePart[]): number => parts.reduce((sum, part) => sum + pathsIn(part).length, 0)

const onALine = (text: string): string => visible(text.replace(/\s+/g, ' ').trim())

/** All files of a part. */
export const pathsIn = ({ texts, choices }: MergePart): string[] => [...texts, ...choices.flatMap(({ paths }) => paths)]
