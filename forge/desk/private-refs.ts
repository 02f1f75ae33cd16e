/**
 * Keeps the refs of the forge from leaving this repository by accident, by the repository's own configuration:
 *
 * - `transfer.hideRefs`: a clone or fetch from this repository, `--mirror` included, does not see them, and a push into
 *   it, `--mirror` included, neither changes nor deletes them.
 * - `remote.NAME.push` of each remote that `git push` mirrors this repository to: all refs as before, but these.
 *
 * Git has no setting that keeps refs out of `git bundle --all`, or out of `git push --mirror` to any other remote;
 * docs/desk.md says what to write instead.
 */
import { addConfig } from '../../core/git/config.ts'
import { asText, fields, type Repository } from '../../core/git/repository.ts'
import { run } from '../../core/git/run.ts'
import { OWN_REFS } from './refs.ts'

const HIDDEN = OWN_REFS.replace(/\/$/, '')
/** The refspecs of a mirror push without the forge's refs. */
const MIRRORED = ['+refs/*:refs/*', `^${OWN_REFS}*`]

/**
 * Adds the settings described at the top of this file where they are missing. Throws a GitError if the configuration
 * can't be written.
 */
export async function keepRefsPrivate(repository: Repository): Promise<void> {
  const keys = '^(transfer\\.hiderefs|remote\\..*\\.(mirror|push))$'
  const { stdout } = await run(repository, ['config', '-z', '--get-regexp', keys], { ok: [0, 1] })
  const values = new Map<string, string[]>()
  for (const field of fields(stdout)) {
    const [key = '', value = 'true'] = field.split(/\n(.*)/s)
    values.set(key, [...(values.get(key) ?? []), value])
  }
  if (!values.get('transfer.hiderefs')?.includes(HIDDEN)) await addConfig(repository, 'transfer.hideRefs', HIDDEN)
  for (const [key, [mirror = '']] of values) {
    if (!key.endsWith('.mirror') || !/^(true|yes|on|1|push)$/i.test(mirror)) continue
    const push = key.replace(/mirror$/, 'push')
    // The user has configured what is pushed to this remote.
    if (values.has(push)) continue
    for (const refspec of MIRRORED) await addConfig(repository, asText(push), refspec)
  }
}
