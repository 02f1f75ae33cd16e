/** Adds, changes and removes remotes, by git itself. */
import { Failure } from '../../../core/failure.ts'
import { asText, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import { visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { whyNoName } from '../branches/ref-names.ts'
import { readRemotes, remoteNamed, verifyUtf8, withSecret } from './remotes.ts'

type Room = Pick<BranchServices, 'objects' | 'say'>

/** Adds a remote. Throws a {@link Failure} if the name is taken, or if it or the address is not accepted. */
export async function addRemote(room: Room, name: string, url: string): Promise<void> {
  const { repository } = room.objects
  const why = whyNoName('refs/remotes/', name)
  if (why !== undefined) throw new Failure(`${visiblePath(name)} can't be the name of a remote: ${why}.`)
  verifyUtf8(name)
  const { all } = await readRemotes(repository)
  if (all.some(remote => remote.name === name))
    throw new Failure(`There is a remote ${visiblePath(name)} already: choose another name.`)
  await change(room, ['add', '--', asText(name), verifiedAddress(url)])
}

/** Gives a remote another address. */
export async function changeRemoteUrl(room: Room, name: string, url: string): Promise<void> {
  await verifyThere(room.objects.repository, name)
  await change(room, ['set-url', '--', asText(name), verifiedAddress(url)])
}

/** Removes a remote with its remote branches here. Branches that track one of these lose their upstream. */
export async function removeRemote(room: Room, name: string): Promise<void> {
  await verifyThere(room.objects.repository, name)
  await change(room, ['remove', '--', asText(name)])
}

async function verifyThere(repository: Repository, name: string): Promise<void> {
  remoteNamed(await readRemotes(repository), name)
}

async function change({ objects, say }: Room, args: readonly string[]): Promise<void> {
  await run(objects.repository, ['-c', 'core.hooksPath=/dev/null', 'remote', ...args])
  say({ say: 'repository' })
}

/** The protocols of git itself. Others start a program of their name, `git-remote-NAME`. */
const PROTOCOLS = /^(https?|ssh|git|file|git\+ssh|ssh\+git):\/\//i

/**
 * An address as git gets it. Throws a {@link Failure} for one that would start a program or be an option of one, or
 * that has a secret, which git would keep in plain text. No message has the address in it.
 */
function verifiedAddress(typed: string): string {
  const url = typed.trim()
  if (url === '') throw new Failure('The address is empty: enter a URL or a folder.')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  if (/[\x00-\x1f\x7f]/.test(url)) throw new Failure('The address has a control character in it: take it out.')
  if (/^([a-z+]+:\/\/)?([^/@]*@)?-/i.test(url))
    throw new Failure('An address, or the host in it, can’t begin with a dash: git would take it for an option.')
  if (/^[a-z0-9][a-z0-9+.-]*::/i.test(url) || (/^[^/:]+:\/\//.test(url) && !PROTOCOLS.test(url)))
    throw new Failure('The address names no protocol of git’s own (https, ssh, git, file): use one of these.')
  if (withSecret(url))
    throw new Failure(
      'The address has a name, a password or a key in it, which git would keep as plain text: leave it out, and sign in with git in a terminal.',
    )
  return url
}
