/**
 * `bun bench/git.ts`: measures core/git beside the bare git commands, on a repository of 50,000 files, 50,000 commits
 * and 3,000 refs. Prints a table; nothing passes or fails. All files are in a temporary folder that is removed.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { commit, commitChanges } from '../core/git/commits.ts'
import { type History, onlyInReflogs, openHistory, touching } from '../core/git/history.ts'
import { mergeTrees } from '../core/git/merges.ts'
import { type Objects, openObjects } from '../core/git/objects.ts'
import { listRefs, moveRefs } from '../core/git/refs.ts'
import { type Oid, openRepository, type Repository } from '../core/git/repository.ts'
import { listFiles } from '../core/git/trees.ts'
import { bare, git, PLAIN } from '../test/support/git.ts'
import { randomFrom } from '../test/support/random.ts'
import { type Cost, inTurns, time } from './measure.ts'

const FILES = 50_000
const COMMITS = 50_000
const REFS = 3_000
const REFLOG = 20_000
/**
 * The two commits on top of the history change this many files in common, at different lines, so that they can be
 * merged.
 */
const SHARED = 20
const TURNS = { rounds: 15, seconds: 20 }
const PERSON = { name: 'A. Person', email: 'person@nowhere.example' }

const pathOf = (file: number): string =>
  `part${file % 23}/area${Math.floor(file / 23) % 29}/place${Math.floor(file / 667) % 5}/file${file}.txt`
const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`
const content = (file: number, first: string, last = ''): string =>
  `${first}\n${`line of file ${file}\n`.repeat(20)}${last}\n`

async function makeRepository(folder: string): Promise<string> {
  const path = await bare(join(folder, 'repo.git'))
  const child = Bun.spawn(['git', 'fast-import', '--quiet'], {
    cwd: path,
    env: { PATH: process.env.PATH, HOME: '/nonexistent', ...PLAIN },
    stdin: 'pipe',
    stdout: 'ignore',
    stderr: 'inherit',
  })
  const random = randomFrom(1)
  let when = 1_700_000_000
  const write = (branch: string, mark: number, parents: string, files: Iterable<[number, string]>): void => {
    when += 30 + random.below(900)
    const who = `${PERSON.name} <p${mark % 50}@nowhere.example> ${when} +0000`
    const head = `commit refs/heads/${branch}\nmark :${mark}\nauthor ${who}\ncommitter ${who}\n`
    child.stdin.write(`${head}${data(`Change ${mark}\n\nWhy it was made.`)}${parents}`)
    for (const [file, text] of files) child.stdin.write(`M 100644 inline ${pathOf(file)}\n${data(text)}`)
  }
  const all = Array.from({ length: FILES }, (_, file): [number, string] => [file, content(file, 'first')])
  write('main', 1, '', all)
  for (let at = 2; at <= COMMITS; at++) {
    const isMerge = at > 20 && at % 5 === 0
    const parents = `from :${at - 1}\n${isMerge ? `merge :${at - 3 - random.below(12)}\n` : ''}`
    const some = Array.from({ length: 3 }, (): [number, string] => {
      const file = SHARED + random.below(FILES - SHARED)
      return [file, content(file, `change ${at}`)]
    })
    write('main', at, parents, some)
    if (at % 100 === 0) await child.stdin.flush()
  }
  const shared = (first: string, last: string) =>
    Array.from({ length: SHARED }, (_, file): [number, string] => [file, content(file, first, last)])
  write('ours', COMMITS + 1, `from :${COMMITS}\n`, shared('ours', ''))
  write('theirs', COMMITS + 2, `from :${COMMITS}\n`, shared('first', 'theirs'))
  for (let at = 0; at < REFS; at++)
    child.stdin.write(`reset refs/heads/topic/${at}\nfrom :${1 + random.below(COMMITS)}\n\n`)
  await child.stdin.end()
  if ((await child.exited) !== 0) throw new Error('git fast-import failed')
  await git(path, 'repack', '-adq')
  await git(path, 'pack-refs', '--all')
  return path
}

/** Writes a reflog of HEAD that goes through the commits, with some commits that no ref reaches. */
async function makeReflog(path: string, objects: Objects): Promise<void> {
  const known = (await git(path, 'rev-list', '-n', String(REFLOG), 'main')).split('\n')
  const tree = await git(path, 'rev-parse', 'main^{tree}')
  const lost = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      commit(objects, {
        tree,
        parents: [known[at] ?? ''],
        message: `Lost ${at}`,
        author: PERSON,
        committer: PERSON,
      }),
    ),
  )
  const line = (oid: Oid, at: number) =>
    `${known[at - 1] ?? oid} ${oid} ${PERSON.name} <${PERSON.email}> ${1_700_000_000 + at} +0000\tcommit: ${at}\n`
  await mkdir(join(path, 'logs'))
  await writeFile(join(path, 'logs/HEAD'), [...known, ...lost].map(line).join(''))
}

const rows: string[] = []
const milliseconds = (value: number): string => (value < 10 ? value.toFixed(2) : value.toFixed(0))

async function row(what: string, ours: () => Promise<unknown>, command: string, bareGit: () => Promise<Cost>) {
  console.error(what)
  const wall = async (): Promise<Cost> => {
    const begun = performance.now()
    await ours()
    return { wall: performance.now() - begun, cpu: 0 }
  }
  // A first run, so that the files are in the disk cache.
  await ours()
  const cost = await inTurns(TURNS, { ours: wall, bare: bareGit })
  const cells = [milliseconds(cost.ours.wall), `\`${command}\``, milliseconds(cost.bare.wall)]
  rows.push(`| ${[what, ...cells, (cost.ours.wall / cost.bare.wall).toFixed(2)].join(' | ')} |`)
}

async function measure(folder: string): Promise<void> {
  console.error(`making ${FILES} files, ${COMMITS} commits, ${REFS} refs`)
  const path = await makeRepository(folder)
  const repository = await openRepository(path, { env: PLAIN })
  await using objects = openObjects(repository)
  await makeReflog(path, objects)
  const at = { cwd: path, env: { PATH: process.env.PATH, ...PLAIN, GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b' } }
  const words = (...args: string[]) => time(['git', ...args], at)
  const script = (text: string) =>
    time(['sh', '-euc', text], { ...at, env: { ...at.env, GIT_COMMITTER_NAME: 'A', GIT_COMMITTER_EMAIL: 'a@b' } })
  await reading(repository, objects, folder, words, script)
  await writing(repository, objects, folder, script)
  await merging(objects, words)
  await histories(repository, objects, words)
}

type Words = (...args: string[]) => Promise<Cost>
type Script = (text: string) => Promise<Cost>

async function reading(repository: Repository, objects: Objects, folder: string, words: Words, script: Script) {
  const { files } = await listFiles(objects, 'refs/heads/main', { limit: FILES })
  const some = files.filter((_, at) => at % 50 === 0).map(({ oid }) => oid)
  const list = join(folder, 'list')
  await writeFile(list, some.map(oid => `${oid}\n`).join(''))
  const [one = ''] = some
  await row(
    'open a repository',
    () => openRepository(repository.gitDir),
    'git rev-parse --git-dir',
    () => words('rev-parse', '--git-dir'),
  )
  await row(
    'read one blob',
    () => objects.read(one),
    'git cat-file blob',
    () => words('cat-file', 'blob', one),
  )
  await row(
    'read 1,000 blobs',
    () => Promise.all(some.map(oid => objects.read(oid))),
    'git cat-file --batch',
    () => script(`git cat-file --batch --buffer <${list} >/dev/null`),
  )
  await row(
    'list 50,000 files',
    () => listFiles(objects, 'refs/heads/main', { limit: FILES }),
    'git ls-tree -r',
    () => words('ls-tree', '-r', '-z', 'main'),
  )
  await row(
    'list 3,000 refs',
    () => listRefs(repository),
    'git for-each-ref',
    () => words('for-each-ref'),
  )
}

/** Commits ten files with new content on a branch. */
async function writing(repository: Repository, objects: Objects, folder: string, script: Script) {
  let count = 0
  const branch = 'refs/heads/written'
  await git(repository.gitDir, 'update-ref', branch, 'main')
  const paths = Array.from({ length: 10 }, (_, at) => pathOf(at * 4999))
  const ours = async () => {
    const from = (await objects.info(branch))?.oid ?? ''
    count++
    const changes = paths.map(path => [path, { mode: '100644', bytes: Buffer.from(`${path} ${count}`) }] as const)
    const to = await commitChanges(objects, {
      base: from,
      changes: new Map(changes),
      parents: [from],
      message: `Save ${count}`,
      author: PERSON,
      committer: PERSON,
    })
    await moveRefs(repository, [{ ref: branch, from, to }], { message: 'save' })
  }
  const work = join(folder, 'work')
  const index = join(folder, 'index')
  await mkdir(work)
  const changed = paths.map((_, at) => join(work, `${at}`))
  const plumbing = () => {
    count++
    return script(`export GIT_INDEX_FILE=${index}; from=$(git rev-parse ${branch}); rm -f ${index}; git read-tree $from
      for file in ${changed.join(' ')}; do echo "$file ${count}" >$file; done
      printf '%s\\n' ${changed.join(' ')} | git hash-object -w --no-filters --stdin-paths >${folder}/oids
      printf '%s\\n' ${paths.join(' ')} | paste ${folder}/oids - | sed 's/^/100644 /' | git update-index --index-info
      git update-ref -m save ${branch} $(git commit-tree $(git write-tree) -p $from -m "Save ${count}") $from`)
  }
  await row('commit 10 changed files to a branch', ours, 'git read-tree … update-ref', plumbing)
  const quick = () => {
    count++
    const files = paths.map(path => `M 100644 inline ${path}\n${data(`${path} ${count}`)}`)
    const stream = `commit ${branch}\ncommitter A <a@b> now\n${data('Save')}from ${branch}^0\n${files.join('')}\n`
    return script(`git fast-import --quiet --date-format=now <<'END'\n${stream}END`)
  }
  await row('commit 10 changed files to a branch', ours, 'git fast-import', quick)
}

async function merging(objects: Objects, words: Words) {
  const { repository } = objects
  const [ours = '', theirs = '', base = ''] = await Promise.all(
    ['ours', 'theirs', 'main'].map(name => git(repository.gitDir, 'rev-parse', name)),
  )
  const bareGit = () => words('merge-tree', '--write-tree', '-z', '--messages', ours, theirs)
  await row('merge two commits', () => mergeTrees(repository, ours, theirs, { objects }), 'git merge-tree', bareGit)
  const picked = () => mergeTrees(repository, ours, theirs, { base, objects })
  await row('the same with a base of its own', picked, 'git merge-tree', bareGit)
}

async function histories(repository: Repository, objects: Objects, words: Words) {
  const tips = async () => (await listRefs(repository)).map(({ oid, peeled }) => peeled ?? oid)
  const now = await tips()
  const load = async (use: (history: History) => Promise<unknown>) => {
    await using history = openHistory(objects, now)
    await use(history)
  }
  await row(
    'history: the first 100 rows',
    () => load(history => history.window(0, 100)),
    'git log --topo-order -n 100 --all',
    () => words('log', '--topo-order', '-n', '100', '--all', '--format=%H %P %an %at %s'),
  )
  await row(
    'history: all commits',
    () => load(history => history.complete),
    'git log --topo-order --all',
    () => words('log', '--topo-order', '--all', '--format=%H %P %an %at %s'),
  )
  await using history = openHistory(objects, now)
  await history.complete
  await row(
    'history: 100 rows in the middle',
    () => history.window(25_000, 25_100),
    'git log --topo-order --skip=25000',
    () => words('log', '--topo-order', '--skip=25000', '-n', '100', '--all', '--format=%H %P %an %at %s'),
  )
  const [tip = ''] = now
  const tree = (await objects.info(`${tip}^{tree}`))?.oid ?? ''
  const grow = async () => {
    const message = `${performance.now()}`
    const next = await commit(objects, { tree, parents: [tip], message, author: PERSON, committer: PERSON })
    await history.move([...now, next])
  }
  const all = () => words('log', '--topo-order', '--all', '--format=%H %P %an %at %s')
  await row('history: a new commit comes in (made, too)', grow, 'git log --topo-order --all', all)
  const path = pathOf(4321)
  const main = await git(repository.gitDir, 'rev-parse', 'main')
  await row(
    'what touched a file (all of it)',
    () => touching(repository, main, path, { count: 50 }),
    'git log -- FILE',
    () => words('log', '--format=%H', '-n', '51', main, '--', path),
  )
  await row(
    'what touched a folder (the newest 50)',
    () => touching(repository, main, 'part3', { count: 50 }),
    'git log -n 51 -- FOLDER',
    () => words('log', '--format=%H', '-n', '51', main, '--', 'part3'),
  )
  const lost = () => words('rev-list', '--reflog', '--not', '--all')
  await row('what only reflogs know', () => onlyInReflogs(objects), 'git rev-list --reflog --not --all', lost)
  const reached = new Set((await history.shape(0, COMMITS * 2)).map(({ oid }) => oid))
  const known = () => onlyInReflogs(objects, oid => reached.has(oid))
  await row('the same with a history at hand', known, 'git rev-list --reflog --not --all', lost)
  console.error(`history in memory: the process has ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB in all`)
}

const folder = await mkdtemp(join(tmpdir(), 'forklift-bench-'))
try {
  await measure(folder)
  console.log('| what | core/git, ms | bare | ms | ratio |')
  console.log('|---|---:|---|---:|---:|')
  console.log(rows.join('\n'))
} finally {
  await rm(folder, { recursive: true, force: true })
}
