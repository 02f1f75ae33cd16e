/**
 * `make bench BENCH=history`: measures the blame of a file with many commits, and the rewording of an older commit in a
 * large repository, beside git's own commands. Prints a table; nothing passes or fails.
 */
import { join } from 'node:path'
import { blame } from '../core/git/blame.ts'
import { openObjects } from '../core/git/objects.ts'
import { openRepository } from '../core/git/repository.ts'
import { openWork } from '../forge/desk/work.ts'
import { ask, PERSON } from '../test/support/desk.ts'
import { bare, git, PLAIN } from '../test/support/git.ts'
import { makeFolder } from '../test/support/repository.ts'
import { type Cost, inTurns, time } from './measure.ts'
import { importHistory } from './repositories.ts'

const ROUNDS = { rounds: 11, seconds: 60 }
const BLAMED = { lines: 2_000, commits: 1_000 }
const LARGE = { name: 'large', files: 50_000, commits: 200, bytesPerFile: 2_000 }
/** The reworded commit, counted from the newest one. */
const REWORDED = 30

const ENV = { ...process.env, ...PLAIN, ...PERSON }
const rows: string[] = []

function row(what: string, desk: Cost, words: string, other: Cost, goal: string): void {
  const cells = [what, `${desk.wall.toFixed(0)} ms`, words, `${other.wall.toFixed(0)} ms`]
  rows.push(`| ${[...cells, (desk.wall / other.wall).toFixed(2), goal].join(' | ')} |`)
}

/** The wall-clock time of a task in this process. */
async function timed(task: () => Promise<unknown>): Promise<Cost> {
  const begun = performance.now()
  await task()
  return { wall: performance.now() - begun, cpu: Number.NaN }
}

/** Writes a file of many lines, and commits that each change a few of them. */
async function importLines(repository: string): Promise<void> {
  const child = Bun.spawn(['git', 'fast-import', '--quiet'], { cwd: repository, env: ENV, stdin: 'pipe' })
  const lines = Array.from({ length: BLAMED.lines }, (_, at) => `line ${at} of the file, as it was at first`)
  for (let at = 0; at < BLAMED.commits; at++) {
    for (let some = 0; some < 4; some++)
      lines[(at * 7919 + some * 499) % lines.length] = `line of commit ${at}, ${some}`
    const text = `${lines.join('\n')}\n`
    const words = `Change ${at}`
    child.stdin.write(
      `commit refs/heads/main\ncommitter A <a@example.org> ${1_700_000_000 + at * 60} +0000\ndata ${words.length}\n${words}\nM 100644 inline file.txt\ndata ${text.length}\n${text}\n`,
    )
    await child.stdin.flush()
  }
  await child.stdin.end()
  if ((await child.exited) !== 0) throw new Error('git fast-import failed')
  await git(repository, 'repack', '-adq')
}

async function measureBlame(folder: string): Promise<void> {
  const path = await bare(join(folder, 'blamed'))
  await importLines(path)
  await using objects = openObjects(await openRepository(path, { env: PLAIN }))
  const tip = await git(path, 'rev-parse', 'main')
  const { desk, bare: byGit } = await inTurns(ROUNDS, {
    desk: () => timed(() => blame(objects, tip, 'file.txt')),
    bare: () => time(['git', 'blame', 'main', '--', 'file.txt'], { cwd: path, env: ENV }),
  })
  row('blame of 2,000 lines and 1,000 commits', desk, '`git blame`', byGit, '< 1.2')
}

async function measureReword(folder: string): Promise<void> {
  const path = await bare(join(folder, 'large'))
  console.error('making a repository of 50,000 files')
  await importHistory(path, LARGE)
  await git(path, 'repack', '-adq')
  const checkout = join(folder, 'checkout')
  await git(path, 'worktree', 'add', '-q', '--detach', checkout, 'main')
  const start = await git(path, 'rev-parse', 'main')
  const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
  await using work = await openWork(repository, { state: join(folder, 'state'), onNews: () => undefined })
  let round = 0
  const env = {
    ...ENV,
    GIT_SEQUENCE_EDITOR: "sed -i '1s/^pick/reword/'",
    GIT_EDITOR: 'sh -c \'echo Reworded >"$1"\' -',
  }
  const { desk, bare: byGit } = await inTurns(ROUNDS, {
    desk: async () => {
      const commit = await git(path, 'rev-parse', `main~${REWORDED - 1}`)
      const rewriting = { do: 'reword', commit } as const
      const step = { step: 'rewrite', branch: 'main', rewriting, message: `Reworded ${round++}` } as const
      // The desk's page shows a preview before it rewords, so the preview is measured, too.
      return await timed(async () => {
        const { before } = await ask(work, 'preview', { step })
        await ask(work, 'do', { step, before })
      })
    },
    bare: async () => {
      await git(checkout, 'checkout', '-q', '--detach', start)
      return await time(['git', 'rebase', '-q', '-i', `${start}~${REWORDED}`], { cwd: checkout, env })
    },
  })
  row(`reword of the ${REWORDED}th commit of 50,000 files, with its preview`, desk, '`git rebase -i`', byGit, '< 0.5')
}

await using folder = await makeFolder()
await measureBlame(folder.path)
await measureReword(folder.path)
console.log(['| | the desk | bare | time | ratio | goal |', '|---|---:|---|---:|---:|---:|', ...rows].join('\n'))
