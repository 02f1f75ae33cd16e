/** A push of one tag to a remote, which never overwrites a tag there. */
import { Failure } from '../../../core/failure.ts'
import { asText } from '../../../core/git/repository.ts'
import { GitError } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import type { Preview, Step } from '../contract/steps.ts'
import { Stopped } from './plannings.ts'
import { readRemotes, remoteNamed, verifyUtf8 } from './remotes.ts'
import { refOf } from './tag.ts'
import { shown, type Transfers, whyFailed } from './transfer.ts'
import { hooksFor } from './warnings.ts'

export type PushTagStep = Extract<Step, { step: 'push tag' }>

/** The preview of a push of a tag. Throws a {@link Failure} if there is no such tag or remote. */
export async function previewPushTag(room: BranchServices, { name, remote }: PushTagStep): Promise<Preview> {
  const { objects } = room
  if (!(await objects.info(refOf(name)))) throw new Failure(`There is no tag ${visiblePath(name)}.`)
  remoteNamed(await readRemotes(objects.repository), remote)
  const hooks = await hooksFor(objects.repository, 'push')
  const warnings = hooks.length > 0 ? [`Hooks of this repository do not run: ${hooks.join(', ')}.`] : []
  const words = `pushes the tag ${visiblePath(name)} to ${visiblePath(remote)}`
  return { is: 'clean', conflicts: 0, words, commits: 0, conflictsIn: [], warnings }
}

/** Pushes a tag, and returns the result in words. Throws a {@link Failure} in one sentence. */
export async function pushTag(
  transfers: Transfers,
  { name, remote: to }: PushTagStep,
  signal: AbortSignal,
): Promise<string> {
  const { objects } = transfers.room
  const ref = refOf(name)
  const words = visiblePath(name)
  const tag = await objects.info(ref)
  if (!tag) throw new Failure(`There is no tag ${words}.`)
  const remotes = await readRemotes(objects.repository)
  const remote = remoteNamed(remotes, to)
  verifyUtf8(ref)
  const there = visiblePath(remote.name)
  const flags = ['--porcelain', '--progress', '--no-verify', '--no-follow-tags', '--no-recurse-submodules']
  const args = ['push', ...flags, '--', asText(remote.name), `${tag.oid}:${asText(ref)}`]
  try {
    return await transfers.begin('Pushing', async () => {
      const { code, stdout, stderr, remote: said } = await transfers.run(args, { remotes, signal, ok: [0, 1] })
      const printed = stdout.toString()
      const [, rejected] = /^!\t[^\t]*\t(.*)$/m.exec(printed) ?? []
      if (rejected !== undefined && /already exists/.test(rejected))
        throw new Failure(
          `${there} has another tag ${words} already, and it was not overwritten: to push this one, rename it (Rename the tag… in its menu).`,
        )
      if (rejected !== undefined)
        throw new Failure(`${there} rejected the tag ${words} (${shown(remotes, rejected)}): nothing was pushed.`)
      if (code !== 0) throw new GitError('push', code, stderr, printed)
      if (/^=\t/m.test(printed)) return `${there} has the tag ${words} already.`
      return [`Pushed the tag ${words} to ${there}.`, ...said].join(' ')
    })
  } catch (error) {
    if (error instanceof Stopped) throw new Failure(`The push was stopped: a fetch tells whether ${there} has the tag.`)
    throw whyFailed(error, remotes, remote.name)
  }
}
