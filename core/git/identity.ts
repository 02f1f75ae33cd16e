/** The name and email address that git commits with. */
import type { Person } from './mailmap.ts'
import type { Repository } from './repository.ts'
import { run } from './run.ts'

/** The identity for commits; undefined if git has none. */
export async function identityOf(repository: Repository): Promise<Person | undefined> {
  const { code, stdout } = await run(repository, ['var', 'GIT_AUTHOR_IDENT'], { ok: [0, 128] })
  const [, name = '', email = ''] = /^(.*) <(.*)> \d+ [+-]\d+$/m.exec(stdout.toString()) ?? []
  return code === 0 ? { name, email } : undefined
}
