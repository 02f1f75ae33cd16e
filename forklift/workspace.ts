/**
 * Fills the workspace, and makes sure that it does not differ from its commit before the agent has changed anything.
 */
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Failure } from '../core/failure.ts'
import { mergeTrees } from '../core/git/merges.ts'
import { asBytes, fields, type Oid } from '../core/git/repository.ts'
import { holds, read, run, type Where } from '../core/git/run.ts'
import { quoteInC, type Scratch } from '../core/git/scratch.ts'
import { visiblePath } from '../core/text.ts'
import { allOf } from '../core/together.ts'
import type { Report } from './terminal.ts'

/**
 * Packs all wanted objects (ids, one a line), and checks out HEAD at the same time. The checkout reads from the scratch
 * repository, since the pack is not there yet.
 */
export async function fill(workspace: Where, wanted: string, scratch: Scratch, report: Report): Promise<void> {
  const pack = join(workspace.cwd, '.git/objects/pack/pack')
  const env = { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoteInC(scratch.objects) }
  const copy = ['pack-objects', '--revs', report.counting, '--delta-base-offset', pack]
  const settings = ['-c', 'core.logAllRefUpdates=false', '-c', 'checkout.workers=0']
  const checkOut = [...settings, 'checkout', report.counting, '--force']
  await allOf([
    report.follow(onWords => run(workspace, copy, { input: wanted, env, onWords })),
    report.follow(onWords => run(workspace, checkOut, { env, onWords })),
  ])
}

/**
 * Marks files whose content contradicts their attributes (mostly line ends) as unchanged. They look changed right after
 * checkout, so git would refuse to merge, or rewrite them unasked.
 */
export async function takeUntidyFilesAsTheyAre(workspace: Where): Promise<void> {
  const telling = '[[:space:]](text|crlf|ident)([[:space:]]|$)|eol=|encoding=|^\\[attr\\]'
  if (!(await holds(workspace, ['grep', '--quiet', '-E', telling, '--', ':(glob)**/.gitattributes']))) return
  // The index lets git skip files whose owner and times are unchanged. In the container these differ, so git reads
  // every file there: a new index does the same here.
  const index = join(workspace.cwd, '.git/every-file')
  const env = { GIT_INDEX_FILE: index }
  await run(workspace, ['read-tree', 'HEAD'], { env })
  const untidy = fields((await run(workspace, ['diff', '--name-only', '-z'], { env })).stdout)
  await rm(index, { force: true })
  if (untidy.length === 0) return
  const asItIs = '-text -ident !working-tree-encoding'
  const lines = untidy.map(path => `${quoteInC(`/${path.replace(/[\\*?[]/g, '\\$&')}`)} ${asItIs}\n`)
  await appendFile(join(workspace.cwd, '.git/info/attributes'), lines.join(''), 'latin1')
  const top = asBytes(`${workspace.cwd}/`)
  for (const path of untidy) await rm(Buffer.from(top + path, 'latin1'), { force: true })
  await run(workspace, ['checkout', '--quiet', '--force'])
}

/**
 * Throws where the disk ignores case and a commit has paths that differ only in case: they can't be checked out whole.
 */
export async function namesStayApart(workspace: Where, scratch: Scratch, start: Oid, upstream: Oid): Promise<void> {
  if ((await read(workspace, ['config', '--type=bool', 'core.ignoreCase'], { ok: [0, 1] })) !== 'true') return
  for (const tree of [start, (await mergeTrees(scratch, start, upstream)).tree]) {
    const listed = await run(scratch, ['ls-tree', '-r', '-z', '--name-only', tree])
    const paths = fields(listed.stdout).map(visiblePath)
    const alike = [...Map.groupBy(paths, path => path.normalize().toLowerCase()).values()].find(some => some.length > 1)
    if (!alike) continue
    throw new Failure(
      `On this disk ${alike.join(' and ')} are one file, as only the case differs: set XDG_STATE_HOME to a folder on a disk that tells them apart.`,
    )
  }
}
