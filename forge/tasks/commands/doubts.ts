/**
 * Finds what the checks of a result do not show, but the user should know before merging it: from signed facts and the
 * files themselves, never from the word of a model or the journal.
 */
import { changesIn, diffTrees } from '../../../core/git/diffs.ts'
import { visiblePath } from '../../../core/text.ts'
import { readForgeMd } from '../../ai/forge-md.ts'
import { nameOfCheck } from '../checks/check-name.ts'
import { tasksIn, type ValidationReport } from '../checks/validate.ts'
import type { BelievedFacts, FactOf } from '../checks/verdicts.ts'
import { filesOfCheck } from '../plan/own-files.ts'
import type { Result } from './checked.ts'
import { openStore, type RunPlace } from './place.ts'

/** What is doubtful about a result although its checks passed, as sentences: first what concerns the contract. */
export async function doubtsOf(place: RunPlace, result: Result, { facts }: BelievedFacts): Promise<string[]> {
  const { task, plan } = result
  const checked = facts.filter(
    (it): it is FactOf<'checked'> => it.fact === 'checked' && it.isGood && (task === undefined || it.task === task),
  )
  const reports = await Promise.all(checked.map(it => reportOf(place, result, it)))
  const found = reports.flatMap(report => report?.checks ?? [])
  const names = (isIt: (check: ValidationReport['checks'][number]) => boolean | undefined) => [
    ...new Set(found.filter(isIt).map(({ name }) => name)),
  ]
  const claimOf = (command: string) => {
    const claims = plan.contract.filter(({ how }) => how.kind === 'command' && how.command === command)
    return claims.length > 0 ? `${claims.map(({ id }) => id).join(', ')}: its check` : 'A check'
  }
  return [
    ...names(({ heldBefore }) => heldBefore).map(
      name =>
        `${claimOf(name)} passed before anything was done, so it does not show that it was [${nameOfCheck(name)}]`,
    ),
    ...names(({ came }) => came === 'flaky').map(
      name => `${claimOf(name)} is flaky: it failed, and passed when it was run again [${nameOfCheck(name)}]`,
    ),
    ...names(({ came }) => came === 'not new').map(
      name => `${claimOf(name)} fails, as it did before [${nameOfCheck(name)}]`,
    ),
    ...(await ownFilesIn(place, result)),
  ]
}

async function reportOf(
  place: RunPlace,
  { run }: Result,
  { report }: FactOf<'checked'>,
): Promise<ValidationReport | undefined> {
  try {
    return (await openStore(place, run).readJson({ kind: 'validation', oid: report })) as ValidationReport
  } catch {
    // A missing report says nothing here; whether the result was checked is reported elsewhere.
    return undefined
  }
}

/**
 * Sentences about files that a check consists of and that the result has changed: the check may pass only because of
 * that.
 */
async function ownFilesIn({ objects }: RunPlace, { task, plan, base, tip }: Result): Promise<string[]> {
  const of = plan.tasks.find(({ id }) => id === task)
  const parts = tasksIn(plan, of)
  const claimed = plan.contract.filter(({ id }) => parts.some(({ claims }) => claims.includes(id)))
  const { checks, prepare } = await readForgeMd(objects, base)
  const commands = [
    ...claimed.flatMap(({ how }) => (how.kind === 'command' ? [how.command] : [])),
    ...parts.flatMap(({ validation }) => validation.checks.flatMap(it => (typeof it === 'string' ? [] : [it.command]))),
    ...checks,
    ...prepare,
  ]
  const changes = changesIn(await diffTrees(objects.repository, base, tip))
  const changed = new Map([...changes].map(([path, before]) => [visiblePath(path), before ? 'changed' : 'new']))
  return [...new Set(commands)].flatMap(command => {
    const own = filesOfCheck(command).filter(path => changed.has(path))
    return own.map(path => `${path} is ${changed.get(path)} here, and is what a check runs [${nameOfCheck(command)}]`)
  })
}
