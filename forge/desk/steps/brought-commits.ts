/** The commits that a step brings, or that leave a branch by it, for its preview. */
import { fields, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { type Brought, type Lost, MAX_BROUGHT_COMMITS } from '../contract/steps.ts'

/** The commits of a range of `git rev-list`: the newest ones, and the number of all. */
export async function broughtCommits(repository: Repository, range: readonly string[]): Promise<Brought> {
  const { count, newest } = await lostCommits(repository, range)
  return { count, newest: newest.map(({ oid, subject }) => ({ oid, subject })) }
}

/** Some commits, given oldest first: the newest ones, and the number of all. */
export async function namedCommits(repository: Repository, commits: readonly Oid[]): Promise<Brought> {
  const newest = commits.slice(-MAX_BROUGHT_COMMITS).reverse()
  if (newest.length === 0) return { count: 0, newest: [] }
  const { newest: named } = await broughtCommits(repository, ['--no-walk=unsorted', ...newest])
  return { count: commits.length, newest: named }
}

/** The commits of a range of `git rev-list`, with their authors: the newest ones, and the number of all. */
export async function lostCommits(repository: Repository, range: readonly string[]): Promise<Lost> {
  const how = ['-z', '--format=%H%n%aN%n%s', '--encoding=UTF-8', `--max-count=${MAX_BROUGHT_COMMITS}`]
  const { stdout } = await run(repository, ['log', ...how, ...range, '--'])
  const newest = fields(stdout).map(field => {
    const [oid = '', author = '', subject = ''] = Buffer.from(field, 'latin1').toString().split('\n')
    return { oid, subject, author }
  })
  if (newest.length < MAX_BROUGHT_COMMITS) return { count: newest.length, newest }
  const counted = await run(repository, ['rev-list', '--count', ...range, '--'])
  return { count: Number(counted.stdout), newest }
}
