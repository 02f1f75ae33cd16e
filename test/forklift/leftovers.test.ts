/** The workspace of a run can be opened with git, which runs nothing of the agent's; and it can always be removed. */
import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeWhatTheAgentWrote } from '../../forklift/disk-space.ts'
import { isSafeToLookAt, keepGitSettings, makeSafeToLookAt, removeFolders } from '../../forklift/leftovers.ts'
import { git, tryGit } from '../support/git.ts'
import { expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/** A program that records that it ran, and git settings that would run it from many commands. */
const TRAPS = `
  evil=$workspace/evil; owned='OWNED'
  printf '#!/bin/sh\\ntouch "%s"\\n[ -t 0 ] || timeout 1 cat\\n' "$owned" >"$evil"; chmod +x "$evil"
  trap_in() { # GIT_DIR
    for name in core.fsmonitor core.pager core.editor core.sshCommand diff.external diff.evil.textconv diff.evil.command \\
      filter.evil.clean filter.evil.smudge filter.evil.process merge.evil.driver pager.log interactive.diffFilter \\
      gpg.program credential.helper core.alternateRefsCommand; do
      git --git-dir="$1" config "$name" "$evil"
    done
    git --git-dir="$1" config core.hooksPath "$1/hooks"
    git --git-dir="$1" config alias.look "!$evil"
    git --git-dir="$1" config log.showSignature true
    git --git-dir="$1" config core.worktree "$workspace"
    mkdir -p "$1/hooks" "$1/info"
    for hook in post-checkout post-index-change reference-transaction pre-commit fsmonitor-watchman post-commit; do
      cp "$evil" "$1/hooks/$hook"
    done
    echo '* filter=evil diff=evil merge=evil' >"$1/info/attributes"
  }`

/** Runs an agent whose result is refused. Gives its workspace, and a check that nothing of the agent's has run. */
async function refusedRun(world: World, left: string) {
  const owned = world.path('owned')
  await world.agent(`good; git reset --quiet --hard "$upstream"; echo more >>greeting.txt
    ${TRAPS.replace('OWNED', owned)}
    ${left}`)
  const run = await world.run()
  expectExit(run, 3)
  return { ...(await world.lastRun()), said: run.stdout, hasRun: () => existsSync(owned) }
}

/** Runs the commands with which a person looks around in a folder. `-p` starts a pager without a terminal. */
async function lookAround(world: World, folder: string): Promise<void> {
  const look = [
    'git status; git -p log -1; git diff HEAD; git log -p --show-signature -2; git add --all; git commit -qm mine',
    'git look; git -p diff; git show --ext-diff --textconv; git checkout -q -- .; git stash; git submodule status; git gc -q',
    'git diff --submodule=diff HEAD~1; git fetch .; git blame greeting.txt; git branch -a',
  ]
  const child = Bun.spawn(['script', '--quiet', '--command', look.join('\n'), '/dev/null'], {
    cwd: folder,
    env: { ...world.env, PAGER: 'cat', TERM: 'dumb', GIT_EDITOR: 'true' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await child.exited
}

test('git runs no program of the agent’s configuration in the workspace, and shows the agent’s commits', async () => {
  await using world = await makeWorld()
  const run = await refusedRun(
    world,
    `trap_in "$workspace/.git"
    git config include.path ../more.config; git config extensions.worktreeConfig true
    echo "[core] fsmonitor = $evil" | tee more.config >.git/config.worktree
    echo "$workspace/elsewhere" >.git/commondir; mkdir -p elsewhere; cp -r .git/config .git/hooks elsewhere
    rm -f .git/COMMIT_EDITMSG; mkfifo .git/refs/heads/pipe .git/COMMIT_EDITMSG
    echo '* diff=evil filter=evil' >.gitattributes`,
  )
  await lookAround(world, run.workspace)
  expect(run.hasRun()).toBe(false)
  expect(await git(run.workspace, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main')
  expect(await git(run.workspace, 'config', '--local', '--list', '--name-only')).not.toMatch(
    /evil|alias|include|worktree/,
  )
  expect(await git(run.workspace, 'log', '-1', '--format=%s', 'upstream/main')).not.toBe('')
  expect(readdirSync(join(run.workspace, '.git')).sort()).not.toContain('hooks')
})

test('a person sees the commits themselves, also where the agent has packed a ref that replaces one', async () => {
  await using world = await makeWorld()
  const run = await refusedRun(
    world,
    `evil_commit=$(git commit-tree -m evil HEAD^{tree}); fine_commit=$(git commit-tree -m fine HEAD^{tree})
    git update-ref "refs/heads/$branch" "$evil_commit"; git pack-refs --all
    printf '%s refs/replace/%s\\n' "$fine_commit" "$evil_commit" >>.git/packed-refs`,
  )
  expect(await git(run.workspace, 'log', '-1', '--format=%s', run.metadata.branch as string)).toBe('evil')
  expect(await git(run.workspace, 'rev-parse', 'refs/remotes/upstream/main')).toBe((await world.tip('upstream')) ?? '')
})

test("a checkout of the agent's index writes nothing into .git, and a person is told that it was put aside", async () => {
  await using world = await makeWorld()
  const run = await refusedRun(
    world,
    `printf '[core]\\n\\trepositoryFormatVersion = 0\\n\\tfsmonitor = %s\\n' "$evil" >config
    git update-index --add --cacheinfo "100644,$(git hash-object -w config),-git/config"
    # Git does not look whether the sum at the end of an index is right.
    LC_ALL=C sed -i 's|-git/config|.git/config|' .git/index`,
  )
  expect(run.said).toContain('git reset in the workspace makes a new one')
  await lookAround(world, run.workspace)
  await lookAround(world, run.workspace)
  expect(run.hasRun()).toBe(false)
  expect(statSync(run.workspace).uid).toBe(process.getuid?.() ?? 0)
})

test('objects that are borrowed from elsewhere are not borrowed by the person who looks', async () => {
  for (const borrow of ['echo ../../objects >.git/objects/info/alternates', 'ln -s /etc .git/objects/info/x']) {
    await using world = await makeWorld()
    const run = await refusedRun(world, `mkdir -p .git/objects/info; ${borrow}`)
    expect((await tryGit(run.workspace, ['rev-parse', '--git-dir'])).code).not.toBe(0)
  }
})

test('without that, the same traps run: the test would notice', async () => {
  await using world = await makeWorld()
  const run = await refusedRun(
    world,
    'cp -r .git "$state/kept"; trap_in "$state/kept"; mv "$state/kept/HEAD" "$state/kept/h"',
  )
  const kept = join(run.state, 'kept')
  await Bun.$`mv ${kept}/h ${kept}/HEAD`
  await lookAround(world, kept)
  expect(run.hasRun()).toBe(true)
})

test('no folder beside the repository opens as another one: submodules, bare ones, links, other version controls', async () => {
  await using world = await makeWorld()
  const run = await refusedRun(
    world,
    `for folder in sub deep/er/sub "$state/there" .git/refs/sub; do
      git init -q "$folder"; trap_in "$PWD/$folder/.git" 2>/dev/null || trap_in "$folder/.git"
    done
    git init -q --bare bare; trap_in "$PWD/bare"
    git init -q --bare split; trap_in "$PWD/split"; mkdir thin; cp split/HEAD thin; echo ../split >thin/commondir
    git init -q --bare linked; trap_in "$PWD/linked"; rm linked/HEAD; ln -s refs/heads/main linked/HEAD
    mkdir pointer; echo "gitdir: $workspace/bare" >pointer/.git; mkdir symbolic; ln -s ../bare symbolic/.git
    mkdir -p .git/modules closed/sub; cp -r bare .git/modules/sub; cp -r sub/.git closed/sub; chmod 0 closed/sub closed
    mkdir -p plain mercurial/.hg; echo 'not a repository' >plain/HEAD`,
  )
  const folders = ['sub', 'deep/er/sub', 'bare', 'thin', 'linked', 'pointer', 'symbolic', 'closed/sub', 'bare/refs']
  for (const folder of [...folders, 'sub/.git.disabled', '.git/refs', '.git/refs/sub']) {
    if (!existsSync(join(run.workspace, folder))) throw new Error(`${folder} is not there`)
    await lookAround(world, join(run.workspace, folder))
    expect([folder, run.hasRun()]).toEqual([folder, false])
  }
  const aside = readdirSync(run.state).find(name => name.startsWith('git-of-the-agent-')) ?? ''
  for (const folder of ['there', join(aside, 'git'), join(aside, 'git/modules/sub')])
    await lookAround(world, join(run.state, folder))
  expect(run.hasRun()).toBe(false)
  expect(readdirSync(join(run.workspace, 'mercurial'))).toEqual(['.hg.disabled'])
  expect(readdirSync(join(run.workspace, 'plain'))).toEqual(['HEAD'])
})

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) Bun.spawnSync(['sh', '-c', 'chmod -R u+rwx "$0"; rm -rf "$0"', folder])
})

/** Makes a run directory with a git workspace, as before its agent starts. */
async function makeRun() {
  const path = mkdtempSync(join(tmpdir(), 'forklift-left-'))
  folders.push(path)
  for (const folder of ['workspace', 'harness-state/logs']) mkdirSync(join(path, folder), { recursive: true })
  await git(join(path, 'workspace'), 'init', '--quiet', '--template=')
  mkdirSync(join(path, 'workspace/.git/info'))
  writeFileSync(join(path, 'workspace/.git/info/exclude'), '/STUCK.md\n')
  await keepGitSettings({ path })
  return { path, workspace: join(path, 'workspace') }
}

test('names that are in use, too long or too many don’t prevent that', async () => {
  const run = await makeRun()
  for (const folder of ['a/.git/objects', 'a/.git/refs', 'a/.git.disabled/full']) {
    mkdirSync(join(run.workspace, folder), { recursive: true })
  }
  for (const at of Array(3000).keys()) mkdirSync(join(run.workspace, `many/${at}/.git/refs`), { recursive: true })
  for (const at of ['a', 'many/0', 'many/2999']) {
    mkdirSync(join(run.workspace, at, '.git/objects'), { recursive: true })
    writeFileSync(join(run.workspace, at, '.git/HEAD'), 'ref: refs/heads/main\n')
  }
  const deep =
    'for at in {1..40}; do mkdir -p "$(printf %0200d)" && cd "$(printf %0200d)"; done; mkdir .git; touch .git/HEAD'
  Bun.spawnSync(['bash', '-c', deep], { cwd: run.workspace })
  expect(await makeSafeToLookAt(run)).toBe(undefined)
  expect(await isSafeToLookAt(run)).toBe(true)
  for (const at of ['a', 'many/0', 'many/2999'])
    expect(await git(join(run.workspace, at), 'rev-parse', '--show-toplevel')).toBe(run.workspace)
  const { stdout } = Bun.spawnSync(['find', run.workspace, '-name', 'HEAD'])
  expect(stdout.toString()).toBe(`${run.workspace}/.git/HEAD\n`)
})

test('a .git that is no folder is put aside', async () => {
  const run = await makeRun()
  Bun.spawnSync(['sh', '-c', 'mv .git ../harness-state/x; ln -s ../harness-state/x .git'], { cwd: run.workspace })
  expect(await makeSafeToLookAt(run)).toBe(undefined)
  expect(existsSync(join(run.workspace, '.git'))).toBe(false)
  expect((await tryGit(join(run.path, 'harness-state/x'), ['rev-parse', '--git-dir'])).code).not.toBe(0)
})

// Starting a process for each folder, to make it accessible, took too long, even as root.
test('twenty thousand closed folders go at once, and a run that is interrupted does not wait for them', async () => {
  const run = await makeRun()
  const close = (name: string) =>
    Bun.spawnSync(
      ['bash', '-c', `mkdir -p ${name}/{1..200}/{1..100}; find ${name} -mindepth 1 -depth -type d -exec chmod 0 {} +`],
      {
        cwd: run.workspace,
      },
    )
  close('many')
  chmodSync(run.workspace, 0)
  const began = performance.now()
  await removeWhatTheAgentWrote(run)
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(readdirSync(run.path).sort()).toEqual(['git-settings', 'harness-state'])
  mkdirSync(run.workspace)
  close('again')
  expect(await removeFolders([run.workspace], AbortSignal.abort())).toBe(false)
  expect(existsSync(run.workspace)).toBe(true)
  expect(await removeFolders([run.workspace])).toBe(true)
  rmSync(run.path, { recursive: true })
})
