/** `forge resolve --open`: writes what a run has resolved of a merge to a ref, from which the desk continues. */
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { commit } from '../../../core/git/commits.ts'
import { asBytes, type Oid, type Path } from '../../../core/git/repository.ts'
import { entryAt, type TreeChange, writeTree } from '../../../core/git/trees.ts'
import { many, visible } from '../../../core/text.ts'
import {
  type MergeOnDesk,
  mergeBranch,
  mergeOnDeskMessage,
  mergeRef,
  type OpenedMerge,
} from '../../formats/merge-on-desk.ts'
import { findResult } from '../runs/done.ts'
import { mergedBy } from '../runs/merging.ts'
import { readRunInput } from '../runs/plans.ts'
import { howMade, partsDone, pathsIn } from '../runs/resolved.ts'
import { setRef } from '../steps/commits.ts'
import { openApproved } from './approved.ts'
import type { CommandContext } from './context.ts'
import { mergedMessage } from './landing.ts'
import { findRun, openStore, type RunPlace } from './place.ts'

const FORGE = { name: 'Forge', email: 'forge@localhost.invalid' }

export async function openMerging(
  place: RunPlace,
  word: string,
  { isJson }: { isJson: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { objects } = place
  const run = await findRun(place, word, context)
  const store = openStore(place, run)
  const { base } = await readRunInput(store)
  const merged = await mergedBy(objects, base)
  if (!merged || merged.parts.length === 0)
    throw new Failure(`The run ${run} resolves no merge: forge show ${run} says what it does.`)
  const done = await partsDone(objects, store, merged)
  const result = (await findResult(objects, run))?.tip
  const changes = new Map<Path, TreeChange>()
  const by: MergeOnDesk['by'] = {}
  for (const { part, head, model } of done)
    for (const path of pathsIn(part)) {
      changes.set(asBytes(path), await entryAt(objects, result ?? head, asBytes(path)))
      if (model !== undefined) by[path] = model
    }
  const isDone = new Set(done.map(({ part }) => part.task))
  const open = [
    ...merged.parts.filter(({ task }) => !isDone.has(task)).flatMap(pathsIn),
    ...merged.left.flatMap(({ paths }) => paths),
  ]
  const approved = openApproved(place, run, context)
  const how = await howMade(store, merged, done, (task, answer) => approved.hasAnswer(task, answer))
  const { into, name, forklift } = merged
  const told: MergeOnDesk = {
    ...{ run, into, name, message: mergedMessage(run, merged, how), open, by },
    ...(forklift && {
      forklift: {
        run: forklift.run,
        stamp: forklift.stamp,
        ...(forklift.stuck !== undefined && { stuck: forklift.stuck }),
      },
    }),
  }
  await keep(place, { told, tree: await writeTree(objects, base, changes), sides: [merged.ours, merged.theirs] })
  const opened: OpenedMerge = { run, branch: mergeBranch(told), left: open.length }
  if (isJson) context.out(JSON.stringify(opened))
  else
    context.out(`${leftInWords(open.length)} Open the desk with forge, there Tasks, ${visible(run)}, Finish by hand.`)
  return EXIT.done
}

const leftInWords = (count: number): string =>
  count === 0 ? 'All conflicts are resolved.' : `${many(count, 'file')} in conflict ${count === 1 ? 'is' : 'are'} left.`

async function keep(
  { objects }: RunPlace,
  { told, tree, sides }: { told: MergeOnDesk; tree: Oid; sides: Oid[] },
): Promise<void> {
  const who = { ...FORGE, date: { seconds: Math.floor(Date.now() / 1000), zone: '+0000' } }
  const message = mergeOnDeskMessage(told)
  const made = await commit(objects, { tree, parents: sides, message, author: who, committer: who })
  await setRef(objects, mergeRef(told.run), made, { message: 'forge: what is resolved, for the desk' })
}
