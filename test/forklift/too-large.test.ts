/**
 * A few kilobytes of git objects can stand for more data than fits on any machine: such results are refused, quickly.
 */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { git } from '../support/git.ts'
import { type Ended, expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(120_000)

/** Ten levels of twenty identical folders: 20^10 files, in ten objects. */
const BOMB = `
blob=$(echo boom | git hash-object -w --stdin)
tree=$(printf '100644 blob %s\\tf\\n' "$blob" | git mktree)
for level in 1 2 3 4 5 6 7 8 9 10; do
  tree=$(for at in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf '040000 tree %s\\t%s\\n' "$tree" "$at"; done | git mktree)
done
bomb=$tree`

/** Commits on the agent's merge a tree with one more entry. It is made without an index, which could not hold it. */
const ADD = `
add() { # NAME, in place of a checkout of it
  tree=$({ git ls-tree HEAD; printf '040000 tree %s\\t%s\\n' "$bomb" "$1"; } | git mktree)
  git update-ref refs/heads/main "$(git commit-tree -p HEAD -m 'More files' "$tree")"
}`

/** Checks that a run ends with a code, within the time limit for reading untrusted objects. */
async function refused(world: World, code: number): Promise<Ended> {
  const begun = performance.now()
  const run = await world.run()
  expectExit(run, code)
  expect(run.stdout + run.stderr).not.toMatch(/^\s+at /m)
  expect(performance.now() - begun).toBeLessThan(60_000)
  expect(await world.branches()).toEqual([])
  expect(world.github.pulls).toEqual([])
  return run
}

test('an agent’s tree of endlessly many files is refused, and no later run tries it again', async () => {
  await using world = await makeWorld()
  await world.agent(`good; ${BOMB}; ${ADD}; add bomb`)
  const run = await refused(world, 3)
  expect(run.last).toMatch(/differs in [\d,]+ paths, and at most 50,000 are looked at/)
  const again = await refused(world, 3)
  expect(again.last).toContain('This result was refused before')
  expect(await world.agentRuns()).toBe(1)
})

test('an agent’s 160,000 junk files are refused', async () => {
  await using world = await makeWorld()
  await world.agent(`good; ${BOMB.replace(' 5 6 7 8 9 10; do\n', '; do\n')}; ${ADD}; add junk`)
  const run = await refused(world, 3)
  expect(run.last).toMatch(/differs in 328,423 paths, and at most 50,000 are looked at/)
})

test('upstream’s tree of endlessly many files is reported before a container starts', async () => {
  await using world = await makeWorld()
  const tip = await world.tip('upstream')
  const script = `cd "$1"; ${BOMB}
    tree=$({ git ls-tree ${tip}; printf '040000 tree %s\\tbomb\\n' "$bomb"; } | git mktree)
    git update-ref refs/heads/main "$(git -c user.name=U -c user.email=u@u commit-tree -p ${tip} -m More "$tree")"`
  const made = Bun.spawn(['bash', '-euc', script, '-', world.upstream], { stdio: ['ignore', 'ignore', 'inherit'] })
  expect(await made.exited).toBe(0)
  const run = await refused(world, 1)
  expect(run.last).toMatch(/too large to be judged: it differs in [\d,]+ paths/)
  expect(await world.agentRuns()).toBe(0)
})

test('folders two thousand deep are refused, and a hundred are not', async () => {
  const nested = (depth: number) => `good
    printf 'commit refs/heads/main\nauthor A <a@a> 1 +0000\ncommitter A <a@a> 1 +0000\ndata 4\nDeep\n' >"$state/stream"
    printf 'from refs/heads/main^0\nM 100644 inline %sf\ndata 4\ndeep\n' "$(printf 'd/%.0s' $(seq ${depth}))" >>"$state/stream"
    git fast-import --quiet <"$state/stream"`
  await using fine = await makeWorld()
  await fine.agent(nested(100))
  expectExit(await fine.run(), 0)
  await using world = await makeWorld()
  await world.agent(nested(2_100))
  const run = await refused(world, 3)
  expect(run.last).toContain('more than 2000 folders inside of each other')
})

test('a file that unpacks to more than is read is refused', async () => {
  await using world = await makeWorld()
  await world.agent('good; head -c 105000000 /dev/zero | tr "\\0" x >big; git add big; git commit --quiet -m big')
  const run = await refused(world, 3)
  expect(run.last).toContain('big has 105,000,000 bytes, and at most 100 MiB are read')
})

test('files that unpack to more than is read together are refused before they are unpacked', async () => {
  await using world = await makeWorld()
  await world.agent(`good
    id=${'7'.repeat(40)}; mkdir -p .git/objects/77
    python3 -c 'import sys, zlib; sys.stdout.buffer.write(zlib.compress(b"blob 3000000000\\0x"))' >".git/objects/77/$(echo "$id" | cut -c3-)"
    tree=$({ git ls-tree HEAD; printf '100644 blob %s\\tlarge\\n' "$id"; } | git mktree --missing)
    git update-ref refs/heads/main "$(git commit-tree -p HEAD -m 'A large file' "$tree")"`)
  const run = await refused(world, 3)
  expect(run.last).toMatch(/its new files and commits have 3,000,\d{3},\d{3} bytes, and at most 2,048 MiB are read/)
})

test('a commit with 100,000 parents and a file name of 4,000 bytes are a result like any other', async () => {
  await using world = await makeWorld()
  await world.agent(`good
    seq 100000 | awk '{ printf "reset refs/p\\ncommit refs/p\\nmark :%d\\ncommitter A <a@a> %d +0000\\ndata 0\\n", $1, $1 }' |
      git fast-import --quiet --force --export-marks="$state/marks"
    name=$(printf 'n%.0s' $(seq 4000))
    tree=$({ git ls-tree HEAD; printf '100644 blob %s\t%s\n' "$(git rev-parse HEAD:news.txt)" "$name"; } | git mktree)
    { printf 'tree %s\nparent %s\n' "$tree" "$(git rev-parse HEAD)"; cut -d ' ' -f 2 "$state/marks" | sed 's/^/parent /'
      printf 'author A <a@a> 1 +0000\ncommitter A <a@a> 1 +0000\n\nMany parents\n'; } >"$state/many"
    git update-ref refs/heads/main "$(git hash-object -t commit -w "$state/many")"`)
  expectExit(await world.run(), 0)
  const { headSha, body } = world.pull
  expect((await git(world.origin, 'ls-tree', '--name-only', headSha)).split('\n')).toContain('n'.repeat(4000))
  expect(body.length).toBeLessThan(65_536)
})

test('a refusal can’t dress up as the host’s full disk', async () => {
  await using world = await makeWorld()
  await world.agent(`good
    printf '[submodule "../No space left on device"]\\n\\tpath = a\\n\\turl = https://example.com/a\\n' >.gitmodules
    git add .gitmodules; git commit --quiet -m 'Add a submodule'`)
  const run = await refused(world, 3)
  expect(run.last).toMatch(/^.*Refused: .*gitmodules/)
  const again = await refused(world, 3)
  expect(again.last).toContain('This result was refused before')
  expect(await world.agentRuns()).toBe(1)
})
