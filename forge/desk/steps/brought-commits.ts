/** The commits that a step brings, for its preview. */
import { fields, type Oid, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { MAX_BROUGHT_COMMITS } from '../contract/steps.ts'

/** The newest commits of a range of `git rev-list`. */
export async function broughtCommits(
  repository: Repository,
  range: readonly string[],
): Promise<{ oid: Oid; subject: string }[]> {
  const how = ['-z', '--format=%H %s', '--encoding=UTF-8', `--max-count=${MAX_BROUGHT_COMMITS}`]
  const { stdout } = await run(repository, ['log', ...how, ...range, '--'])
  return fields(stdout).map(field => {
    const [oid = '', subject = ''] = Buffer.from(field, 'latin1').toString().split(/ (.*)/s)
    return { oid, subject }
  })
}
