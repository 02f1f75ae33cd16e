/** Reads what runs of the tasks have learned in the fork, to offer it for FORK.md. */
import { FORK_LESSONS, PLAYBOOKS } from '../core/formats/fork-lessons.ts'
import type { Repository } from '../core/git/repository.ts'
import { run } from '../core/git/run.ts'

/** At most this many bytes are read. */
const MAX_BYTES = 64 << 10

/** The lessons as lines of Markdown, written by models; '' where there are none. */
export async function readForkLessons(repository: Repository): Promise<string> {
  const args = ['cat-file', 'blob', `${PLAYBOOKS}:${FORK_LESSONS}`]
  const { code, stdout } = await run(repository, args, { ok: [0, 128], limit: MAX_BYTES })
  return code === 0 ? stdout.toString().trim() : ''
}
