/**
 * Landing: all changes of a branch become one commit on another, without the branch's conversation. The branch's own
 * commits are kept at `refs/forge/kept/`.
 */

import { identityOf } from '../../../core/git/identity.ts'
import type { Person } from '../../../core/git/mailmap.ts'
import { isRefName, type Objects } from '../../../core/git/objects.ts'
import type { Move } from '../../../core/git/refs.ts'
import type { Oid, Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { withTrailers } from '../../../core/git/trailers.ts'
import { entryAt } from '../../../core/git/trees.ts'
import { many, visible, visiblePath } from '../../../core/text.ts'
import { SESSION } from '../../ai/session.ts'
import { groupsOf, isClean } from '../conflicts/conflicts.ts'
import type { Source } from '../contract/steps.ts'
import { KEPT } from '../refs.ts'
import { commonTo, countBetween, mergeSourceInto } from './merge.ts'
import { filesInConflict, type Planned, type StepPlan, type StepTarget, type Stop, treeOfCommit } from './plan.ts'

/** Plans a landing. Throws a {@link Failure} if the two share no history. */
export async function planLand(
  objects: Objects,
  source: Source,
  target: StepTarget,
  message?: string,
): Promise<StepPlan> {
  const { repository } = objects
  const { branch, tip } = target
  const before = await treeOfCommit(objects, tip)
  const bases = await commonTo(repository, source, target)
  const does = `land ${visiblePath(source.words)} on ${visiblePath(branch)}`
  const plan = { branch, before: tip, kind: 'land', does, onto: tip, warnings: [] }
  const nothing = {
    ...plan,
    is: 'nothing',
    words: 'nothing to do',
    chain: [],
    tree: before,
    commits: 0,
    also: [],
  } as const
  if (bases.includes(source.commit)) return nothing
  const [merge, commits, kept, usual] = await Promise.all([
    mergeSourceInto(objects, source, target),
    countBetween(repository, tip, source.commit),
    keptMove(objects, source),
    message === undefined ? messageFor(objects, source, target) : message,
  ])
  const shared = { ...plan, tree: merge.tree, commits, message: usual }
  if (!isClean(merge)) {
    const state: Stop['state'] = { does: 'land', message: usual, todo: [], keep: kept.ref }
    const words = { ours: branch, theirs: source.words }
    const stop = { merge, ours: tip, theirs: source.commit, words, state }
    return { ...shared, is: 'conflicts', words: filesInConflict(groupsOf(merge).length), chain: [], stop, also: [] }
  }
  if (merge.tree === before) return nothing
  const chain: Planned[] = [{ is: 'new', tree: merge.tree, others: [], message: usual }]
  return { ...shared, is: 'clean', words: 'lands cleanly', chain, also: [kept] }
}

/** The ref that keeps the tip of a landed branch. */
async function keptMove(objects: Objects, { commit, branch, words }: Source): Promise<Move> {
  const short = commit.slice(0, 8)
  const name = branch ?? words
  const wanted = commit.startsWith(name) ? `${KEPT}${short}` : `${KEPT}${name}-${short}`
  const ref = isRefName(wanted) ? wanted : `${KEPT}${short}`
  return { ref, from: (await objects.info(ref))?.oid, to: commit }
}

/** At most this many commits are listed in the message; the rest is only counted. */
const MAX_LISTED_COMMITS = 100
const MAX_SUBJECTS_BYTES = 1 << 20
/** At most this many authors are named in the message. */
const MAX_CO_AUTHORS = 50

/** The trailers that a turn or a save adds to its message for the desk. */
const OWN_TRAILER = /^Forge-(Model|Turn|Undoes): .*\n?/gm

/**
 * The message of a landing: that of the only commit, or a list of subjects; and the authors of the commits besides the
 * user, which is the author of the new commit.
 */
async function messageFor(objects: Objects, source: Source, { tip }: StepTarget): Promise<string> {
  const { repository } = objects
  const [commits, session, own] = await Promise.all([
    commitsBetween(repository, tip, source.commit),
    entryAt(objects, source.commit, SESSION),
    identityOf(repository),
  ])
  const name = visiblePath(source.branch ?? source.words)
  const trailers = coAuthors(commits, own).map(person => `Co-authored-by: ${person}`)
  if (session) trailers.push(`Forge-Session: ${name} ${source.commit.slice(0, 12)}`)
  const messages = commits.map(({ message }) => message).filter(message => message !== '')
  const [only = ''] = messages
  const usual = messages.length === 1 ? only.replace(OWN_TRAILER, '').trimEnd() : listOf(messages, source)
  return await withTrailers(repository, `${usual}\n`, trailers)
}

function listOf(messages: readonly string[], { words }: Source): string {
  const subjects = messages.map(message => message.split('\n', 1)[0] ?? '')
  const listed = [...new Set(subjects)].slice(0, MAX_LISTED_COMMITS).map(subject => `- ${subject}\n`)
  const rest =
    subjects.length > MAX_LISTED_COMMITS ? `- and ${many(subjects.length - MAX_LISTED_COMMITS, 'commit')} more\n` : ''
  return `Land ${visiblePath(words)}\n\n${listed.join('')}${rest}`
}

/** A commit's author as "name <address>", as .mailmap has them, and its message. */
interface Landed {
  author: string
  message: string
}

const CO_AUTHOR = /^Co-authored-by: *(.*<.*>) *$/gim
const addressOf = (person: string): string => person.slice(person.lastIndexOf('<') + 1, -1).toLowerCase()

/** The authors of commits, and those that their messages name, each once by their address; the user is left out. */
function coAuthors(commits: readonly Landed[], own: Person | undefined): string[] {
  const people = commits.flatMap(({ author, message }) => [
    author,
    ...[...message.matchAll(CO_AUTHOR)].map(([, person = '']) => person),
  ])
  const byAddress = new Map(people.map(person => [addressOf(person), visible(person)]))
  byAddress.delete(own?.email.toLowerCase() ?? '')
  return [...byAddress.values()].slice(0, MAX_CO_AUTHORS)
}

async function commitsBetween(repository: Repository, old: Oid, tip: Oid): Promise<Landed[]> {
  const args = ['log', '--reverse', '--topo-order', '--no-merges', '--encoding=UTF-8', '-z', '--format=%aN <%aE>%n%B']
  const { stdout } = await run(repository, [...args, tip, `^${old}`, '--'], { limit: MAX_SUBJECTS_BYTES })
  return stdout
    .toString()
    .split('\0')
    .filter(Boolean)
    .map(text => {
      const [author = '', ...lines] = text.split('\n')
      return { author, message: lines.join('\n').trim() }
    })
}
