/**
 * What a save of the desk costs beside `git add` and `git commit` in a checkout, on a repository of many files: one
 * file and ten. Run by hand: `bun bench/desk-save.ts [files]`. It measures and prints; nothing here passes or fails.
 */
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openRepository } from '../core/git/repository.ts'
import { openWork } from '../forge/desk/work.ts'
import { edit, PERSON } from '../test/support/desk.ts'
import { gitWith, PLAIN } from '../test/support/git.ts'
import { median } from './measure.ts'

const FILES = Number(process.argv[2] ?? 50_000)
const REFS = 3_000
const ROUNDS = 15

const pathOf = (file: number): string => `part${file % 23}/area${Math.floor(file / 23) % 29}/file${file}.txt`

/** A bare repository of so many files and branches, in one commit. */
async function makeRepository(path: string): Promise<void> {
  await gitWith('/', ['init', '-q', '--bare', '-b', 'main', path])
  const who = 'Ada <ada@example.org> 1700000000 +0000'
  const files = Array.from({ length: FILES }, (_, at) => {
    const text = `${`line of file ${at}\n`.repeat(60)}`
    return `M 100644 inline ${pathOf(at)}\ndata ${text.length}\n${text}\n`
  })
  const refs = Array.from({ length: REFS }, (_, at) => `reset refs/heads/topic-${at}\nfrom refs/heads/main\n\n`)
  const head = `commit refs/heads/main\ncommitter ${who}\ndata 5\nBegin\n`
  await gitWith(path, ['fast-import', '--quiet'], `${head}${files.join('')}\n${refs.join('')}`)
  await gitWith(path, ['repack', '-adq'])
  await gitWith(path, ['pack-refs', '--all'])
}

const milliseconds = async (task: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await task()
  return performance.now() - begun
}

const folder = await mkdtemp(join(tmpdir(), 'desk-save-'))
try {
  const path = join(folder, 'repository.git')
  await makeRepository(path)
  const checkout = join(folder, 'checkout')
  await gitWith(folder, ['clone', '-q', path, checkout])
  const inCheckout = (...args: string[]) => gitWith(checkout, args, undefined, PERSON)
  const repository = await openRepository(path, { env: { ...PLAIN, ...PERSON } })
  const opened = performance.now()
  await using work = await openWork(repository, { state: join(folder, 'state'), onNews: () => undefined })
  console.log(`open the work: ${(performance.now() - opened).toFixed(0)} ms`)
  console.log(`list ${REFS} branches, first: ${(await milliseconds(() => work.branches())).toFixed(0)} ms`)
  console.log(`list ${REFS} branches, again: ${(await milliseconds(() => work.branches())).toFixed(0)} ms`)
  for (const count of [1, 10]) {
    const paths = Array.from({ length: count }, (_, at) => pathOf(at * 4001))
    const editors = await Promise.all(paths.map(it => edit(work, 'main', it)))
    const [desk, git, typing]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < ROUNDS; round++) {
      for (const editor of editors) typing.push(await milliseconds(() => editor.type(`round ${round}\n`)))
      desk.push(await milliseconds(() => work.save('main', paths)))
      for (const it of paths) await appendFile(join(checkout, it), `round ${round}\n`)
      git.push(
        await milliseconds(async () => {
          await inCheckout('add', '--', ...paths)
          await inCheckout('commit', '-q', '-m', `edit ${round}`)
        }),
      )
    }
    const [one, other] = [median(desk), median(git)]
    const ratio = (one / other).toFixed(2)
    console.log(`save ${count}: ${one.toFixed(1)} ms; git add && git commit: ${other.toFixed(1)} ms; ratio ${ratio}`)
    console.log(`a keystroke: ${median(typing).toFixed(3)} ms`)
  }
  // Drafts, written each second while somebody types.
  const editor = await edit(work, 'main', pathOf(7))
  const flushes: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await editor.type('x')
    flushes.push(await milliseconds(() => work.flush()))
  }
  console.log(`write a draft: ${median(flushes).toFixed(1)} ms`)
  console.log(`look for moved refs, none: ${(await milliseconds(() => work.look())).toFixed(2)} ms`)
  const looks: number[] = []
  for (let round = 0; round < 50; round++) looks.push(await milliseconds(() => work.look()))
  console.log(`look for moved refs, nothing new: ${median(looks).toFixed(2)} ms`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
