/** The entries of `git stash list`: what was put away in the checkouts. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'

/** `name`: as git names it, such as stash@{0}, which is the newest one. */
export type Stash = { name: string; tip: Oid }

const STASH = 'refs/stash'
/** At most this many stashes, the newest, are listed. */
const MAX_STASHES = 100

/** The stashes, newest first. All but the newest are in the reflog alone. */
export async function listStashes(objects: Objects): Promise<Stash[]> {
  if (!(await objects.info(STASH))) return []
  const args = ['log', '--walk-reflogs', '--format=%H', `--max-count=${MAX_STASHES}`, STASH, '--']
  const { stdout } = await run(objects.repository, args, { ok: 'any' })
  const tips = stdout.toString().split('\n').filter(Boolean)
  return tips.map((tip, at) => ({ name: `stash@{${at}}`, tip }))
}
