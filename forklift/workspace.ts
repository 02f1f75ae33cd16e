/** What fills the workspace, and what would make it differ from its commit before the agent has touched it. */
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Shell } from 'zx/core'
import { Failure } from '../core/failure.ts'
import { OWN_CONFIG } from '../core/git/environment.ts'
import { bytesOf, fields, mergeTree, type Oid, quoteInC, type Room } from '../core/git/plumbing.ts'
import { run } from '../core/git/run.ts'
import { allOf } from '../core/shell.ts'
import { visiblePath } from '../core/text.ts'
import type { Report } from './report.ts'

/**
 * Makes one pack of all that is wanted (ids, a line each). The files of HEAD are checked out meanwhile, read from where
 * the pack is made of.
 */
export async function fill(workspace: string, wanted: string, room: Room, report: Report): Promise<void> {
  const objects = join(workspace, '.git/objects')
  const env = { ...OWN_CONFIG, GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteInC(room.objects) }
  const where = { cwd: workspace, env, ...(room.signal && { signal: room.signal }) }
  const pack = ['pack-objects', '--revs', report.counting, '--delta-base-offset', `${objects}/pack/pack`]
  const settings = ['-c', 'core.logAllRefUpdates=false', '-c', 'checkout.workers=0']
  const checkOut = [...settings, 'checkout', report.counting, '--force']
  await allOf([
    report.follow(onWords => run(where, pack, { input: wanted, onWords })),
    report.follow(onWords => run(where, checkOut, { onWords })),
  ])
}

/**
 * A file whose content contradicts its attributes (line ends, mostly) looks changed as soon as it is checked out: git
 * would refuse to merge, or rewrite it unasked. Such files are taken as they are.
 */
export async function takeUntidyFilesAsTheyAre(workspace: string, sh: Shell): Promise<void> {
  const telling = '[[:space:]](text|crlf|ident)([[:space:]]|$)|eol=|encoding=|^\\[attr\\]'
  const mayBeUntidy = await sh({ nothrow: true })`git grep --quiet -E ${telling} -- ${':(glob)**/.gitattributes'}`
  if (mayBeUntidy.exitCode !== 0) return
  // By another index, so that every file is read: this one believes what it saw when it wrote the file, and a container
  // sees other owners and times.
  const look = (git: Shell) => git`
    export GIT_INDEX_FILE=.git/every-file
    git read-tree HEAD; git diff --name-only -z; rm "$GIT_INDEX_FILE"`
  const untidy = fields(await bytesOf(look, sh))
  if (untidy.length === 0) return
  const asItIs = '-text -ident !working-tree-encoding'
  const lines = untidy.map(path => `${quoteInC(`/${path.replace(/[\\*?[]/g, '\\$&')}`)} ${asItIs}\n`)
  await appendFile(join(workspace, '.git/info/attributes'), lines.join(''), 'latin1')
  const list = Buffer.from(untidy.join('\0'), 'latin1')
  await sh({ input: list, stdio: 'pipe' })`xargs -0 rm -f --; git checkout --quiet --force`
}

/** On a disk that takes A and a for the same name, a commit that has both can't be checked out whole. */
export async function namesStayApart(sh: Shell, room: Room, start: Oid, upstream: Oid): Promise<void> {
  const folds = await sh({ nothrow: true })`git config --type=bool core.ignoreCase`
  if (folds.stdout.trim() !== 'true') return
  for (const tree of [start, (await mergeTree(room, start, upstream)).tree]) {
    const paths = fields(await bytesOf(git => git`git ls-tree -r -z --name-only ${tree}`, room.sh)).map(visiblePath)
    const alike = [...Map.groupBy(paths, path => path.normalize().toLowerCase()).values()].find(some => some.length > 1)
    if (!alike) continue
    throw new Failure(
      `On this disk ${alike.join(' and ')} are one file, as only the case differs: set XDG_STATE_HOME to a folder on a disk that tells them apart.`,
    )
  }
}
