/**
 * Measures the tasks' map of the code: of the files that a commit touched, how many of the others are among the first
 * 20 that the map tells for one of them, at the commit before. `bun bench/map.ts [--code FOLDER] REPOSITORY…`: the last
 * 30 commits of each that changed 2 to 12 code files. `--code`: another version of this repository, to compare with.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { asBytes } from '../core/git/repository.ts'
import { isCode } from '../forge/code/languages.ts'
import { git } from '../test/support/git.ts'

const MAX_COMMITS = 30
const FILES = { least: 2, most: 12 }
const FIRST = 20

type Change = { commit: string; files: readonly string[] }
/** Of `others`, `found` are among the first files of the map. */
type Count = { others: number; found: number }

/** The last commits that changed some code files, which all were there before. */
async function changesIn(place: string): Promise<Change[]> {
  const flags = ['--no-merges', '--no-renames', '--name-status', '--format=%x01%H', '--max-count=3000']
  const log = await git(place, 'log', ...flags, 'HEAD')
  return log
    .split('\x01')
    .slice(1)
    .map(entry => {
      const [commit = '', ...lines] = entry.trim().split('\n')
      const files = lines.flatMap(line => (line.startsWith('M\t') ? [line.slice(2)] : []))
      return { commit, files: files.filter(path => isCode(asBytes(path))) }
    })
    .filter(({ files }) => files.length >= FILES.least && files.length <= FILES.most)
    .slice(0, MAX_COMMITS)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { code: { type: 'string', default: join(import.meta.dir, '..') } },
})
// The measured modules may be another version of the same files.
const load = async (path: string) => await import(join(resolve(values.code), path))
const { openObjects } = await load('core/git/objects.ts')
const { openRepository } = await load('core/git/repository.ts')
const { openCodeMap } = await load('forge/tasks/context/map.ts')

async function measure(place: string, folder: string): Promise<Count> {
  const repository = await openRepository(place)
  await using objects = openObjects(repository)
  using map = openCodeMap(objects, { folder })
  const count = { others: 0, found: 0 }
  // The oldest first: the map of a tree is made from that of the tree before.
  for (const { commit, files } of (await changesIn(place)).reverse()) {
    const tree = (await git(place, 'rev-parse', `${commit}^^{tree}`)).trim()
    for (const file of files) {
      const near: { path: string }[] = await map.near(tree, [asBytes(file)])
      const first = new Set(near.slice(0, FIRST).map(({ path }) => path))
      const others = files.filter(path => path !== file)
      count.others += others.length
      count.found += others.filter(path => first.has(asBytes(path))).length
    }
  }
  return count
}

const counts: Count[] = []
for (const place of positionals) {
  const folder = await mkdtemp(join(tmpdir(), 'forge-bench-'))
  try {
    const count = await measure(place, folder)
    counts.push(count)
    console.log(`${basename(place)}: ${count.found} of ${count.others} (${shareOf(count)} %)`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
const mean = counts.reduce((sum, count) => sum + shareOf(count), 0) / counts.length
console.log(`mean of the repositories: ${mean.toFixed(1)} %`)

function shareOf({ others, found }: Count): number {
  return Math.round((100 * found) / Math.max(1, others))
}
