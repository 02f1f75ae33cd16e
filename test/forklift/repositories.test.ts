/**
 * All kinds of repositories: each works, byte for byte, or is refused with a sentence. Tested elsewhere: shallow and
 * partial clones (preflight), the SHA-256 format and linked worktrees (run), lock files (faults), Git LFS that is
 * missing or fails (large-files), and the review of submodules (review).
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWN_CONFIG } from '../../core/git/environment.ts'
import { takeUntidyFilesAsTheyAre } from '../../forklift/workspace.ts'
import { bare, commit, type Files, git, gitWith, parentsOf, show, tryGit } from '../support/git.ts'
import {
  DOCKER,
  type Ended,
  exists,
  expectExit,
  makeWorld,
  ORIGIN_URL,
  PROJECT,
  type RunOptions,
  snapshot,
  UPSTREAM_URL,
  type World,
  type WorldOptions,
} from '../support/world.ts'

setDefaultTimeout(180_000)

const lines = (end: string, changes: Record<number, string> = {}): string =>
  Array.from({ length: 20 }, (_, at) => `${changes[at + 1] ?? `line ${at + 1}`}${end}`).join('')

/** Files that a careless checkout, commit or merge would change. Both sides edit most of them, without conflicts. */
const DELICATE: NonNullable<WorldOptions['files']> = (() => {
  const attributes =
    '* text=auto\n*.bat text eol=crlf\n*.sh text eol=lf\n*.utf16 text working-tree-encoding=UTF-16LE-BOM\n*.id ident\n*.raw -text\n*.box filter=box\n'
  const edited = (at: number, word: string): Files => ({
    'run.bat': lines('\n', { [at]: word }),
    'run.sh': lines('\n', { [at]: word }),
    'windows.txt': lines('\r\n', { [at]: word }),
    'both.txt': lines('\n', { [at]: word, 10: 'one\r\nof both\rkinds' }),
    'wide.utf16': lines('\n', { [at]: `${word} ä €` }),
    'who.id': lines('\n', { [at]: word, 10: '$Id$' }),
    'bytes.raw': lines('\r\n', { [at]: word }),
    'lid.box': lines('\n', { [at]: word }),
    'tool/deep/er/run': { mode: '100755', content: lines('\n', { [at]: word }) },
    [`only-${word}/new.txt`]: `${word}\r\n`,
  })
  return {
    base: {
      ...edited(99, 'base'),
      '.gitattributes': attributes,
      'link.txt': { mode: '120000', content: 'tool/deep/er/run' },
      'no-newline.txt': 'no newline',
      'tool/.gitignore': '*.o\nignored.txt\n',
      'tool/ignored.txt': 'committed all the same\n',
    },
    fork: edited(2, 'fork'),
    upstream: {
      ...edited(18, 'upstream'),
      'link.txt': { mode: '120000', content: 'nowhere/at all' },
      'no-newline.txt': 'still none',
      'tool/ignored.txt': 'changed\n',
      'umlaut-\u00e4-a\u0308.txt': 'composed and decomposed\n',
    },
  }
})()

/** Records the workspace before the agent merges, for {@link expectAWholeWorkspace}. */
const LOOK = `
export GIT_CONFIG_NOSYSTEM=1
{ git status --porcelain --ignored; git ls-files -t | grep -v '^H ' || true; } >"$state/odd.txt"
git write-tree >"$state/tree.txt"
git fsck --full --strict >"$state/fsck.txt" 2>&1 || echo "exit $?" >>"$state/fsck.txt"
find .git/objects -type f | sed -E 's/[0-9a-f]{40,64}/X/' | sort >"$state/objects.txt"
git rev-list --count --all >"$state/commits.txt"
`

const theTree = (repo: string, commit: string): Promise<string> => git(repo, 'rev-parse', `${commit}^{tree}`)

/** Git's own merge in a new repository without user configuration. */
async function theMerge(world: World): Promise<string> {
  const judge = await bare(world.path('judge.git'))
  const [origin, upstream] = [world.branch, world.upstreamBranch]
  await git(judge, 'fetch', '--quiet', world.origin, `refs/heads/${origin}:refs/heads/origin`)
  await git(judge, 'fetch', '--quiet', world.upstream, `refs/heads/${upstream}:refs/heads/upstream`)
  return await git(judge, 'merge-tree', '--write-tree', 'origin', 'upstream')
}

/** Checks that the workspace has all of the fork, that nothing looks changed, and that its objects are in one pack. */
async function expectAWholeWorkspace(world: World): Promise<void> {
  const { state } = await world.lastRun()
  const read = (name: string) => readFile(join(state, name), 'utf8')
  expect(await read('odd.txt')).toBe('')
  expect(await read('tree.txt')).toBe(`${await theTree(world.origin, world.branch)}\n`)
  expect(await read('fsck.txt')).toBe('')
  const objects = (await read('objects.txt')).trimEnd().split('\n')
  expect(objects.filter(file => !file.endsWith('.rev'))).toEqual([
    '.git/objects/pack/pack-X.idx',
    '.git/objects/pack/pack-X.pack',
  ])
}

/** Checks that the run opens a pull request with git's own merge, and leaves the user's repository unchanged. */
async function expectTheMerge(world: World, options: RunOptions = {}): Promise<Ended> {
  await world.agent(`${LOOK}merge`)
  const run = await world.run([], options)
  expectExit(run, 0)
  await expectAWholeWorkspace(world)
  expect(world.pull.draft).toBe(false)
  expect(await parentsOf(world.origin, world.pull.headSha)).toEqual([
    (await world.tip('origin')) ?? '',
    (await world.tip('upstream')) ?? '',
  ])
  expect(await theTree(world.origin, world.pull.headSha)).toBe(await theMerge(world))
  expect(await git(world.origin, 'fsck', '--full', '--strict')).toBe('')
  return run
}

const withRemotes = async (world: World, cwd: string): Promise<string> => {
  const known = await world.git('remote', { cwd })
  await world.git('remote', known.includes('origin') ? 'set-url' : 'add', 'origin', ORIGIN_URL, { cwd })
  await world.git('remote', 'add', 'upstream', UPSTREAM_URL, { cwd })
  return cwd
}

/** Makes a clone with the given options. */
const cloned = async (world: World, ...options: string[]): Promise<string> => {
  const place = world.path('home/clone')
  await world.git('clone', '--quiet', ...options, place, { cwd: world.home })
  return await withRemotes(world, place)
}

/** Makes repositories that borrow objects, each from the one before, the first from the checkout. */
async function chainOf(world: World, length: number, pathTo: (place: string) => string): Promise<string> {
  let lender = join(world.checkout, '.git')
  for (let at = 1; at <= length; at++) {
    const place = world.path(`home/link${at}`)
    await world.git('init', '--quiet', place, { cwd: world.home })
    await writeFile(join(place, '.git/objects/info/alternates'), `${pathTo(join(lender, 'objects'))}\n`)
    lender = join(place, '.git')
  }
  return await withRemotes(world, world.path(`home/link${length}`))
}

const config = async (world: World, settings: Record<string, string>, ...where: string[]): Promise<void> => {
  for (const [name, value] of Object.entries(settings)) await world.git('config', ...where, name, value)
}

/** Ways in which a user's repository may be stored. Each gives the folder to run Forklift in. */
const KINDS: [string, (world: World) => Promise<string>][] = [
  [
    'a worktree of a bare repository',
    async world => {
      const place = world.path('home/bare.git')
      await world.git('clone', '--quiet', '--bare', world.origin, place, { cwd: world.home })
      await withRemotes(world, place)
      await world.git('worktree', 'add', '--quiet', '../tree', 'main', { cwd: place })
      return world.path('home/tree')
    },
  ],
  [
    'a worktree of a mirror',
    async world => {
      const place = world.path('home/mirror.git')
      await world.git('clone', '--quiet', '--mirror', world.origin, place, { cwd: world.home })
      await withRemotes(world, place)
      await world.git('worktree', 'add', '--quiet', '../tree', 'main', { cwd: place })
      return world.path('home/tree')
    },
  ],
  [
    'a worktree with a configuration of its own',
    async world => {
      await config(world, { 'extensions.worktreeConfig': 'true' })
      await world.git('worktree', 'add', '--quiet', '--no-checkout', '-b', 'topic', '../tree')
      const cwd = world.path('home/tree')
      await world.git('sparse-checkout', 'set', 'tool', { cwd })
      await world.git('config', '--worktree', 'core.autocrlf', 'true', { cwd })
      await world.git('checkout', '--quiet', { cwd })
      return cwd
    },
  ],
  [
    'a clone whose .git is elsewhere',
    async world => cloned(world, `--separate-git-dir=${world.path('dot git')}`, world.origin),
  ],
  [
    'a submodule of another project',
    async world => {
      await git(world.home, 'init', '--quiet', 'super')
      const cwd = world.path('home/super')
      await world.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', world.origin, 'lib/fork', {
        cwd,
      })
      return await withRemotes(world, join(cwd, 'lib/fork'))
    },
  ],
  [
    'a repository whose objects are a symbolic link',
    async world => {
      const objects = join(world.checkout, '.git/objects')
      await rename(objects, world.path('objects elsewhere'))
      await symlink(world.path('objects elsewhere'), objects)
      return world.checkout
    },
  ],
  ['a clone --shared', async world => cloned(world, '--shared', world.checkout)],
  ['a clone --reference', async world => cloned(world, '--reference', world.checkout, world.origin)],
  [
    'objects borrowed from odd names',
    async world => {
      const lender = world.path('home/a:b "c" #d\\e')
      await rename(world.checkout, lender)
      await git(world.home, 'clone', '--quiet', '--no-checkout', lender, world.checkout)
      const quoted = join(lender, '.git/objects').replace(/["\\]/g, '\\$&')
      await writeFile(join(world.checkout, '.git/objects/info/alternates'), `# comment\n"${quoted}"\n`)
      return await withRemotes(world, world.checkout)
    },
  ],
  ['a chain of three that borrow by relative paths', async world => chainOf(world, 3, to => relativeTo(world, to))],
  // The longest chain that git itself follows.
  ['a chain of six that borrow by absolute paths', async world => chainOf(world, 6, to => to)],
  [
    'a sparse checkout of one folder',
    async world => {
      await world.git('sparse-checkout', 'set', 'tool/deep')
      expect(await exists(join(world.checkout, 'only-fork'))).toBe(false)
      return world.checkout
    },
  ],
  [
    'a sparse checkout by patterns, with a sparse index',
    async world => {
      await world.git('sparse-checkout', 'init', '--cone', '--sparse-index')
      await world.git('sparse-checkout', 'set', '--no-cone', '/tool/', '!/tool/deep/')
      expect(await exists(join(world.checkout, 'README.md'))).toBe(false)
      return world.checkout
    },
  ],
  [
    'many packs, loose objects, and every cache there is',
    async world => {
      await world.git('fetch', '--quiet', 'upstream')
      await world.git('repack', '--quiet', '-adb')
      for (const name of ['one', 'two', 'three']) {
        await world.push('origin', { [`${name}.txt`]: name })
        await world.git('-c', 'fetch.unpackLimit=1', 'fetch', '--quiet', 'origin')
      }
      await world.git('multi-pack-index', 'write', '--bitmap')
      await world.git('commit-graph', 'write', '--reachable', '--split', '--changed-paths')
      await world.push('upstream', { 'loose.txt': 'loose' })
      await world.git('-c', 'fetch.unpackLimit=1000', 'fetch', '--quiet', 'upstream')
      const packs = await readdir(join(world.checkout, '.git/objects/pack'))
      expect(packs.filter(name => name.endsWith('.pack'))).toHaveLength(4)
      return world.checkout
    },
  ],
  [
    'an index in pieces and of a new kind',
    async world => {
      await config(world, { 'index.version': '4', 'core.untrackedCache': 'true', 'feature.manyFiles': 'true' })
      await world.git('update-index', '--split-index', '--index-version', '4')
      return world.checkout
    },
  ],
  [
    'a shell inside a folder that git ignores',
    async world => {
      await mkdir(join(world.checkout, 'tool/out.o'))
      return join(world.checkout, 'tool/out.o')
    },
  ],
]

const relativeTo = (world: World, objects: string): string => objects.replace(world.home, '../../..')

test.concurrent.each(KINDS)('%s: the merge is whole and right', async (_, make) => {
  await using world = await makeWorld({ story: 'clean', files: DELICATE })
  const cwd = await make(world)
  await expectTheMerge(world, { cwd })
})

/** Configuration that users, or some systems for them, have set. */
const MANNERS: [string, (world: World) => Promise<void>][] = [
  [
    'Windows line ends',
    world => config(world, { 'core.autocrlf': 'true', 'core.eol': 'crlf', 'core.safecrlf': 'true' }),
  ],
  ['Unix line ends', world => config(world, { 'core.autocrlf': 'input', 'core.safecrlf': 'warn' })],
  [
    'a file system that knows no modes, links or cases, as on Windows or a Mac',
    async world => {
      await config(world, { 'core.fileMode': 'false', 'core.symlinks': 'false', 'core.ignoreCase': 'true' })
      await config(world, { 'core.precomposeUnicode': 'true', 'core.protectNTFS': 'true', 'core.protectHFS': 'true' })
    },
  ],
  [
    'filters that must succeed and fail, and attributes for all files',
    async world => {
      await config(world, { 'filter.box.clean': 'false', 'filter.box.smudge': 'false', 'filter.box.required': 'true' })
      await config(world, { 'merge.ours.driver': 'true', 'diff.box.textconv': 'false', 'diff.box.command': 'false' })
      await writeFile(world.path('attributes'), '* filter=box merge=ours diff=box eol=crlf text\n')
      await config(world, { 'core.attributesFile': world.path('attributes') }, '--global')
      await writeFile(join(world.checkout, '.git/info/attributes'), '* filter=box merge=ours diff=box eol=crlf text\n')
    },
  ],
  [
    'hooks that forbid everything',
    async world => {
      await mkdir(world.path('hooks'))
      for (const name of 'pre-commit commit-msg pre-merge-commit post-checkout post-merge pre-push pre-auto-gc'.split(
        ' ',
      ))
        await writeFile(world.path('hooks', name), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
      await config(world, { 'core.hooksPath': world.path('hooks') }, '--global')
    },
  ],
  [
    'merges and diffs that are done otherwise',
    async world => {
      await config(world, { 'merge.renames': 'false', 'merge.renormalize': 'true', 'merge.default': 'union' })
      await config(world, {
        'diff.algorithm': 'patience',
        'diff.ignoreSubmodules': 'all',
        'log.diffMerges': 'first-parent',
      })
      await config(world, { 'pack.packSizeLimit': '1m', 'pack.threads': '1', 'core.bigFileThreshold': '1' }, '--global')
      await config(world, { 'submodule.recurse': 'true', 'fetch.prune': 'true', 'fetch.parallel': '0' }, '--global')
      await config(world, { 'transfer.fsckObjects': 'true', 'fetch.writeCommitGraph': 'true' }, '--global')
    },
  ],
]

test.concurrent.each(MANNERS)('%s in the person’s configuration: no byte changes', async (_, set) => {
  await using world = await makeWorld({ story: 'clean', files: DELICATE })
  await set(world)
  await expectTheMerge(world)
})

test.concurrent('grafts and replaced commits of the person’s own do not change what is merged', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.git('fetch', '--quiet', 'upstream')
  const [origin = '', upstream = ''] = [await world.tip('origin'), await world.tip('upstream')]
  // Grafts and replaced commits both claim that upstream is merged already; the latter also claim another tree.
  await writeFile(join(world.checkout, '.git/info/grafts'), `${origin} ${upstream}\n`)
  const empty = await world.git('mktree', '--missing')
  await world.git('replace', upstream, await world.git('commit-tree', empty, '-m', 'Nothing', '-p', origin))
  await expectTheMerge(world)
})

test.concurrent('a work tree that is elsewhere, inside of another repository: that one is left alone', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const other = world.path('home/other')
  await git(world.home, 'init', '--quiet', 'other')
  for (const name of ['origin', 'upstream']) await git(other, 'remote', 'add', name, world.path('nowhere', name))
  await mkdir(join(other, 'tree'))
  const before = await snapshot(other)
  await world.git('config', 'core.worktree', join(other, 'tree'))
  await expectTheMerge(world)
  expect(await snapshot(other)).toBe(before)
})

test.concurrent('refs in the newer format: it works where git knows it, else there is a sentence', async () => {
  await using world = await makeWorld({ story: 'clean' })
  const place = world.path('home/newer')
  if ((await tryGit(world.home, ['init', '--quiet', '--ref-format=reftable', place])).code === 0) {
    return void (await expectTheMerge(world, { cwd: await withRemotes(world, place) }))
  }
  await config(world, { 'core.repositoryFormatVersion': '1', 'extensions.refStorage': 'reftable' })
  expect((await stopped(world)).toLowerCase()).toContain('refstorage')
})

/** Runs Forklift, which has to fail before anything is paid for or pushed. Gives the last line. */
async function stopped(world: World, options: RunOptions = {}): Promise<string> {
  const run = await world.run([], options)
  expectExit(run, 1)
  expect(run.stderr).not.toMatch(/^\s+at /m)
  expect(await world.agentRuns()).toBe(0)
  expect(await world.branches()).toEqual([])
  return run.last
}

test.concurrent.each(['a bare repository', 'the folder .git'])(
  '%s is not a checkout, and a message says so',
  async where => {
    await using world = await makeWorld()
    const cwd = where === 'the folder .git' ? join(world.checkout, '.git') : await bare(world.path('home/bare.git'))
    if (where !== 'the folder .git') await withRemotes(world, cwd)
    expect(await stopped(world, { cwd })).toMatch(/checkout/)
  },
)

test.concurrent('the repository that the objects were borrowed from is gone: one sentence', async () => {
  await using world = await makeWorld()
  const cwd = await cloned(world, '--shared', world.checkout)
  await rename(world.checkout, world.path('home/moved away'))
  expect(await stopped(world, { cwd })).toMatch(/object|alternate/)
})

test.concurrent('FORK.md is committed, but left out by a sparse checkout: the agent gets it', async () => {
  await using world = await makeWorld({ forkMd: 'Keep both greetings.\n' })
  await world.git('sparse-checkout', 'set', '--no-cone', '/long.txt')
  expect(await exists(join(world.checkout, 'FORK.md'))).toBe(false)
  expectExit(await world.run(), 0)
  expect(await readFile(join((await world.lastRun()).state, 'fork-context.md'), 'utf8')).toBe('Keep both greetings.\n')
})

test.concurrent('every folder is reached by a symbolic link, as /tmp and /var are on a Mac', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await symlink(world.root, world.path('link'))
  const env = {
    HOME: world.path('link/home'),
    TMPDIR: world.path('link/tmp'),
    XDG_STATE_HOME: world.path('link/state'),
  }
  await world.agent('merge')
  expectExit(await world.run([], { cwd: world.path('link/home/fork'), env }), 0)
  expect(await theTree(world.origin, world.pull.headSha)).toBe(await theMerge(world))
})

/** Makes one commit on a server's main branch, with submodules at the given commits. */
async function pushModules(repo: string, modules: Record<string, string | null>, parents: string[]): Promise<string> {
  const who = 'Una <una@upstream.example> 1800000000 +0000'
  const names = Object.entries(modules).flatMap(([path, oid]) => (oid ? [path] : []))
  const text = names.map(path => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ../${path}.git\n`).join('')
  const [first, ...others] = parents
  const stream = [
    `commit refs/heads/main\ncommitter ${who}\ndata 7\nModules\nfrom ${first}\n`,
    ...others.map(parent => `merge ${parent}\n`),
    ...Object.entries(modules).map(([path, oid]) => (oid ? `M 160000 ${oid} ${path}\n` : `D ${path}\n`)),
    `M 100644 inline .gitmodules\ndata ${text.length}\n${text}\n`,
  ]
  await gitWith(repo, ['fast-import', '--quiet', '--force'], stream.join(''))
  return await git(repo, 'rev-parse', 'refs/heads/main')
}

test.concurrent('submodules: changed by either side, by both, added and removed', async () => {
  await using world = await makeWorld({ story: 'current' })
  const at = (digit: string) => digit.repeat(40)
  const modules = { 'sub/ours': at('1'), 'sub/theirs': at('2'), 'sub/both': at('3'), 'sub/gone': at('4') }
  const base = await pushModules(world.upstream, modules, [(await world.tip('upstream')) ?? ''])
  await git(world.origin, 'fetch', '--quiet', world.upstream, 'main')
  const fork = await pushModules(world.origin, modules, [(await world.tip('origin')) ?? '', base])
  await pushModules(world.origin, { ...modules, 'sub/ours': at('5'), 'sub/both': at('6') }, [fork])
  const theirs = { ...modules, 'sub/theirs': at('7'), 'sub/both': at('8'), 'sub/gone': null, 'sub/new': at('9') }
  await pushModules(world.upstream, theirs, [base])
  await config(world, { 'submodule.recurse': 'true', 'push.recurseSubmodules': 'check', 'diff.submodule': 'log' })
  await world.agent(
    `${LOOK}merge || git update-index --cacheinfo 160000,${at('8')},sub/both; git commit --quiet --no-edit`,
  )
  expectExit(await world.run(), 0)
  await expectAWholeWorkspace(world)
  const published = await git(world.origin, 'ls-tree', '-r', world.pull.headSha)
  expect(published.split('\n').filter(line => line.startsWith('160000'))).toEqual([
    `160000 commit ${at('8')}\tsub/both`,
    `160000 commit ${at('9')}\tsub/new`,
    `160000 commit ${at('5')}\tsub/ours`,
    `160000 commit ${at('7')}\tsub/theirs`,
  ])
  expect(await show(world.origin, world.pull.headSha, '.gitmodules')).toBe(
    await show(world.upstream, 'main', '.gitmodules'),
  )
  expect(world.pull.draft).toBe(false)
  expect(world.pull.body).toContain('sub/both')
})

/** Files with line ends that their attributes forbid: git considers them changed right after checkout. */
const untidy = (changes: Record<number, string> = {}): Files => ({
  'app.sln': lines('\r\n', changes),
  'crlf.txt': lines('\r\n', changes),
})
const FORBID = { '.gitattributes': '*.sln text eol=crlf\n*.txt text\n' }

test.concurrent('files with line ends that their attributes forbid are merged like others', async () => {
  const files = { base: { ...FORBID, ...untidy() }, fork: untidy({ 2: 'fork' }), upstream: untidy({ 18: 'upstream' }) }
  await using world = await makeWorld({ story: 'clean', files })
  await expectTheMerge(world)
})

test.concurrent('files with line ends that their attributes forbid stay as they are beside a conflict', async () => {
  await using world = await makeWorld({ files: { base: { ...FORBID, ...untidy() } } })
  expectExit(await world.run(), 0)
  const blobs = (commit: string) => git(world.origin, 'rev-parse', `${commit}:app.sln`, `${commit}:crlf.txt`)
  expect(await blobs(world.pull.headSha)).toBe(await blobs('main'))
  expect(world.pull.draft).toBe(false)
})

/** Whether this machine's disk is case-sensitive. */
const keepsCase = !(await exists(import.meta.path.toUpperCase()))
const CASES = {
  base: { 'Case.txt': 'upper\n' },
  fork: { 'docs/a.txt': 'a\n' },
  upstream: { 'case.txt': 'lower\n', 'Docs/b.txt': 'b\n' },
}

test.concurrent.skipIf(!keepsCase)('names that differ by case only are kept apart', async () => {
  await using world = await makeWorld({ story: 'clean', files: CASES })
  await config(world, { 'core.ignoreCase': 'true' })
  await expectTheMerge(world)
})

test.concurrent('names that differ by case only, on a disk that takes them for one: told before the agent is paid for', async () => {
  await using world = await makeWorld({ story: 'clean', files: CASES })
  const real = Bun.which('git')
  // `git init` records properties of the disk in the configuration.
  await world.tool('git', `'${real}' "$@" || exit; [[ $1 != init ]] || '${real}' config core.ignoreCase true`)
  const told = await stopped(world)
  expect(told).toMatch(/case/)
  expect(told).toMatch(/case\.txt/i)
})

/** Stand-ins for the commands of macOS that Forklift may use: GNU options are errors, and no other commands exist. */
async function theToolsOfAMac(world: World): Promise<string> {
  const folder = world.path('mac')
  await mkdir(folder)
  const same = 'bash sh env git bun cat sleep mkdir ln cp mv ls cut tr wc true'.split(' ')
  for (const name of same) await symlink(Bun.which(name) ?? '', join(folder, name))
  const strict = `
fail() { echo "\${0##*/}: illegal option: $1" >&2; exit 64; }
operands=''
for argument in "$@"; do
  case $argument in
    --?*) fail "$argument" ;;
    -*) [[ -z $operands ]] || fail "$argument after the operands" ;;
    *) operands=yes ;;
  esac
  [[ -z $operands || $name != @(find|xargs) ]] || break
done
case $name in
  find) [[ $1 != -* ]] || fail 'no path'; [[ " $* " != *' -'@(printf|regextype|executable|readable)' '* ]] || fail "$*" ;;
  sed) [[ $1 != -[izsru]* ]] || fail "$1" ;;
  head) [[ $1 == -[cn] && $2 != *[!0-9]* ]] || fail "$*" ;;
  xargs)
    [[ $1 != -[rdax]* ]] || fail "$1"
    # One that got nothing runs nothing.
    input=$(mktemp) && cat >"$input" && trap 'rm -f "$input"' EXIT
    [[ -s $input ]] || exit 0
    PATH=$caller "$real" "$@" <"$input"
    exit
    ;;
esac
exec "$real" "$@"
`
  for (const name of ['sed', 'head', 'find', 'xargs', 'rm', 'chmod', 'chown', 'grep']) {
    const real = `#!${Bun.which('bash')}\nname=${name} real='${Bun.which(name)}' caller=$PATH PATH='${process.env.PATH}'`
    await writeFile(join(folder, name), `${real}${strict}`, { mode: 0o755 })
  }
  await world.tool('docker', `PATH='${world.env.PATH}' exec '${DOCKER}' "$@"`)
  return `${world.path('bin')}:${folder}`
}

test.concurrent('the host needs no GNU tools, no setsid and no xargs that runs for nothing', async () => {
  await using world = await makeWorld()
  const env = { PATH: await theToolsOfAMac(world) }
  expectExit(await world.run(['--check'], { env }), 0)
  const run = await world.run([], { env })
  expectExit(run, 0)
  expect(run.stdout + run.stderr).not.toContain('illegal')
  expect(world.pull.body).toContain('greeting.txt')
  await world.push('upstream', { 'more.txt': 'more\n' })
  await world.agent('trap "exit 2" TERM; sleep 60 & wait')
  expectExit(await world.run([], { env: { ...env, FORKLIFT_TIMEOUT_SECONDS: '1' } }), 2)
})

/** Copies Forklift into the folder of a world. */
async function copyForklift(world: World): Promise<string> {
  const copy = world.path('forklift')
  for (const name of ['core', 'forklift', 'harness', 'forklift.ts', 'package.json', 'tsconfig.json'])
    await cp(join(PROJECT, name), join(copy, name), { recursive: true, verbatimSymlinks: true })
  await symlink(join(PROJECT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

test.concurrent('where the link to the agent names another one, --check says that the image is to be built again', async () => {
  await using world = await makeWorld()
  const copy = await copyForklift(world)
  const [agents, harness] = [join(copy, 'harness/agents'), join(copy, 'harness')]
  await cp(join(agents, 'opencode'), join(agents, 'another'), { recursive: true })
  const labels = () => Bun.$`${PROJECT}/docker/harness-digest.sh ${harness}`.text()
  const check = (label: string) =>
    world.run(['--check'], { as: join(copy, 'forklift.ts'), env: { FORKLIFT_TEST_LABEL: label.trim() } })
  const before = await labels()
  expect((await check(before)).stdout).not.toContain('make image')
  await rm(join(agents, 'chosen'))
  await symlink('another', join(agents, 'chosen'))
  expect((await check(before)).stdout).toContain('make image')
  expect((await check(await labels())).stdout).not.toContain('make image')
})

test.concurrent('files of the Finder in harness/ do not change its digest', async () => {
  await using world = await makeWorld()
  const copy = await copyForklift(world)
  await writeFile(join(copy, 'harness/.DS_Store'), 'Bud1')
  const run = await world.run(['--check'], { as: join(copy, 'forklift.ts') })
  expectExit(run, 0)
  expect(run.stdout).not.toContain('make image')
})

const digestOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex')
const largeFile = (server: string, oid: string): string =>
  join(server, 'lfs/objects', oid.slice(0, 2), oid.slice(2, 4), oid)

test.concurrent.skipIf(!Bun.which('git-lfs'))(
  'the real git-lfs brings every large file of upstream’s new commits to origin',
  async () => {
    const attributes = '*.psd filter=lfs diff=lfs merge=lfs -text\n*.iso filter=lfs -diff -merge -text\n'
    await using world = await makeWorld({
      github: false,
      story: 'clean',
      files: { base: { '.gitattributes': attributes } },
    })
    const upload = async (text: string) => {
      const file = largeFile(world.upstream, digestOf(text))
      await mkdir(join(file, '..'), { recursive: true })
      await writeFile(file, text)
      return `version https://git-lfs.github.com/spec/v1\noid sha256:${digestOf(text)}\nsize ${text.length}\n`
    }
    const contents = [
      'drawing 1',
      'drawing 2',
      'image 1',
      'image 2',
      'in a folder',
      'in a merge',
      'left out by a setting',
    ]
    const [psd1 = '', psd2 = '', iso1 = '', iso2 = '', deep = '', merged = '', out = ''] = await Promise.all(
      contents.map(upload),
    )
    for (const [path, pointer] of [
      ['art.psd', psd1],
      ['art.psd', psd2],
      ['disk.iso', iso1],
      ['disk.iso', iso2],
      ['deep/er/art.psd', deep],
      ['out/art.psd', out],
    ] as const)
      await world.push('upstream', { [path]: pointer })
    const side = await world.push('upstream', { 'side.txt': 'side\n' }, { branch: 'side' })
    const parents = [(await world.tip('upstream')) ?? '', side]
    await world.push('upstream', { 'art.psd': merged }, { parents, message: 'Merge side' })
    await world.push('upstream', { 'art.psd': null })
    await world.git('lfs', 'install', '--local')
    await config(world, { 'lfs.fetchExclude': 'out' })
    await world.agent('export GIT_CONFIG_NOSYSTEM=1; merge')
    expectExit(await world.run(), 0)
    const missing = await Promise.all(
      contents.map(async text => ((await exists(largeFile(world.origin, digestOf(text)))) ? [] : [text])),
    )
    expect(missing.flat()).toEqual([])
    const [branch = ''] = await world.branches()
    expect(await theTree(world.origin, branch)).toBe(await theMerge(world))
  },
)

/** CPU time of Forklift and its child processes, which depends little on the load of the machine. */
const SECOND = 1_000_000n

/** Makes `count` commits on top of a server's main branch, each changing one of fifty files. */
async function pushMany(repo: string, count: number): Promise<void> {
  const stream = Array.from({ length: count }, (_, at) => {
    const [who, text] = [`Una <una@upstream.example> ${1_800_000_000 + at} +0000`, `Change number ${at}`]
    const from = at === 0 ? 'from refs/heads/main^0\n' : ''
    const file = `M 100644 inline part${at % 50}/file.txt\ndata ${text.length}\n${text}\n`
    return `commit refs/heads/main\ncommitter ${who}\ndata ${text.length}\n${text}\n${from}${file}\n`
  })
  await gitWith(repo, ['fast-import', '--quiet'], stream.join(''))
}

test.concurrent('20,000 commits behind: one merge, a page that fits, and all of the history in one pack', async () => {
  await using world = await makeWorld()
  await pushMany(world.upstream, 20_000)
  await world.agent(`${LOOK}good`)
  const { child, ended } = world.start()
  const run = await ended
  expectExit(run, 0)
  expect(child.resourceUsage()?.cpuTime.total).toBeLessThan(SECOND * 10n)
  await expectAWholeWorkspace(world)
  expect(await readFile(join((await world.lastRun()).state, 'commits.txt'), 'utf8')).toBe('20003\n')
  expect(await parentsOf(world.origin, world.pull.headSha)).toHaveLength(2)
  expect(world.pull.title).toMatch(/20,?001/)
  expect(world.pull.body).toMatch(/20,?001 commits/)
  expect(world.pull.body).toContain('Change number 19999')
  expect(world.pull.body.length).toBeLessThan(20_000)
  expect(run.lines.length).toBeLessThan(10)
  expect((await world.run()).stdout).toBe('')
})

test.concurrent('20,000 branches and tags on both sides and here cost no time, and none is lost', async () => {
  await using world = await makeWorld({ story: 'clean' })
  await world.git('fetch', '--quiet', 'upstream')
  const root = await git(world.origin, 'rev-list', '--max-parents=0', 'main')
  const numbers = Array.from({ length: 10_000 }, (_, at) => String(at).padStart(5, '0'))
  const refs = (prefix: string) => numbers.map(number => `${root} refs/${prefix}${number}\n`).join('')
  for (const server of [world.origin, world.upstream])
    await writeFile(join(server, 'packed-refs'), `${refs('heads/topic-')}${refs('tags/v')}`)
  await world.git('pack-refs', '--all')
  const mine = join(world.checkout, '.git/packed-refs')
  const packed = await readFile(mine, 'utf8')
  const sides = ['origin', 'upstream'].map(name => refs(`remotes/${name}/topic-`)).join('')
  await writeFile(mine, `${packed.replace(/^#.*\n/, '')}${refs('tags/v')}${sides}`)
  const before = await world.git('for-each-ref')
  await world.agent(`git tag | wc -l >"$state/tags.txt"; ${LOOK}merge`)
  const { child, ended } = world.start()
  expectExit(await ended, 0)
  expect(child.resourceUsage()?.cpuTime.total).toBeLessThan(SECOND * 10n)
  await expectAWholeWorkspace(world)
  expect((await readFile(join((await world.lastRun()).state, 'tags.txt'), 'utf8')).trim()).toBe('10000')
  expect(await theTree(world.origin, world.pull.headSha)).toBe(await theMerge(world))
  const pushed = new RegExp(`^.*\\trefs/remotes/origin/${world.pull.head}\n`, 'm')
  expect((await world.git('for-each-ref')).replace(pushed, '')).toBe(before)
})

test('files that contradict their attributes are found, whatever the index says', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-untidy-'))
  try {
    await git(folder, 'init', '--quiet', '--initial-branch=main')
    await commit(join(folder, '.git'), 'main', {
      '.gitattributes': '*.crlf text\n*.c ident\n',
      'a [1].crlf': 'one\r\ntwo\n',
      'b.c': '/* $Id: b.c,v 1.1 $ */\n',
      'tidy.crlf': 'one\n',
    })
    await git(folder, 'checkout', '--quiet', '--force', 'main')
    // As after a slow checkout: the index is newer than the files, so git does not read them again.
    const later = Date.now() / 1000 + 60
    await utimes(join(folder, '.git/index'), later, later)
    await mkdir(join(folder, '.git/info'), { recursive: true })
    await takeUntidyFilesAsTheyAre({ cwd: folder, env: OWN_CONFIG })
    // Clears the owners and times in the index, as a container sees others than the host.
    await git(folder, 'read-tree', 'HEAD')
    expect(await git(folder, 'status', '--porcelain')).toBe('')
    expect(await readFile(join(folder, 'a [1].crlf'), 'utf8')).toBe('one\r\ntwo\n')
    expect(await readFile(join(folder, 'b.c'), 'utf8')).toContain('b.c,v 1.1')
    expect(await readFile(join(folder, '.git/info/attributes'), 'utf8')).not.toContain('tidy')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
