/** After a run the workspace is untrusted: nothing in it is run, followed, believed, or waited for. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { git } from '../support/git.ts'
import { exists, expectExit, makeWorld, type World } from '../support/world.ts'

setDefaultTimeout(60_000)

/**
 * Runs Forklift with an agent that merges well and then sets a trap. If the trap's code ran, the file `owned` would be
 * there.
 */
async function after(world: World, trap: string) {
  await world.agent(`owned=${JSON.stringify(world.path('owned'))}\n${trap}`)
  const run = await world.run([], { env: { FORKLIFT_TIMEOUT_SECONDS: '60' } })
  expect(await exists(world.path('owned'))).toBe(false)
  expect(run.stderr).not.toMatch(/^\s+at /m)
  return run
}

const refused = async (trap: string, code = 3): Promise<World> => {
  const world = await makeWorld()
  const run = await after(world, trap)
  try {
    expectExit(run, code)
    expect(await world.branches()).toEqual([])
    expect(world.github.pulls).toEqual([])
  } catch (error) {
    await world[Symbol.asyncDispose]()
    throw error
  }
  return world
}

const accepted = async (trap: string): Promise<World> => {
  const world = await makeWorld()
  const run = await after(world, trap)
  try {
    expectExit(run, 0)
    expect(world.pull.state).toBe('open')
  } catch (error) {
    await world[Symbol.asyncDispose]()
    throw error
  }
  return world
}

test('the configuration of the workspace runs nothing', async () => {
  await using _ = await accepted(`good
    printf '#!/bin/sh\\ntouch "%s"\\n' "$owned" >.git/evil; chmod +x .git/evil
    for name in core.fsmonitor core.sshCommand core.gitProxy core.askPass core.editor core.pager diff.external \\
      gpg.program credential.helper uploadpack.packObjectsHook core.alternateRefsCommand filter.evil.clean \\
      filter.evil.smudge filter.evil.process diff.evil.textconv merge.evil.driver; do
      git config "$name" "$PWD/.git/evil"
    done
    mkdir -p .git/hooks .git/info
    for hook in pre-commit post-checkout post-index-change reference-transaction pre-push fsmonitor-watchman; do
      cp .git/evil ".git/hooks/$hook"
    done
    echo '* filter=evil diff=evil merge=evil' >.git/info/attributes`)
})

test('an attribute that the result brings runs nothing', async () => {
  await using _ = await accepted(`good
    printf '#!/bin/sh\\ntouch "%s"\\n' "$owned" >.git/evil; chmod +x .git/evil
    git config include.path evil.config
    git config -f .git/evil.config diff.evil.textconv "$PWD/.git/evil"
    echo '*.txt diff=evil' >.gitattributes; git add .gitattributes; git commit -qm 'Add attributes'`)
})

test('.git is a symbolic link to another repository', async () => {
  await using _ = await refused('good; mv .git "$state/moved"; ln -s "$state/moved" .git')
})

test('.git is a file that names another repository', async () => {
  await using _ = await refused('good; mv .git "$state/moved"; echo "gitdir: $state/moved" >.git')
})

test('.git is gone', async () => {
  await using _ = await refused('good; rm -rf .git')
})

test('objects are borrowed from elsewhere', async () => {
  await using _ = await refused(
    'good; echo "$state/objects" >.git/objects/info/alternates || { mkdir -p .git/objects/info; echo /x >.git/objects/info/alternates; }',
  )
})

test('objects are a symbolic link', async () => {
  await using _ = await refused('good; mv .git/objects "$state/objects"; ln -s "$state/objects" .git/objects')
})

test('one folder of objects is a symbolic link', async () => {
  await using _ = await refused('good; mv .git/objects/pack "$state/pack"; ln -s "$state/pack" .git/objects/pack')
})

test('a pipe lies among the objects', async () => {
  await using _ = await refused('good; mkfifo .git/objects/pack/pack-0000000000000000000000000000000000000000.idx')
})

test('the branch is a pipe', async () => {
  await using _ = await refused('good; rm .git/refs/heads/main; mkfifo .git/refs/heads/main')
})

test('the branch is a symbolic link', async () => {
  await using _ = await refused('good; mv .git/refs/heads/main "$state/ref"; ln -s "$state/ref" .git/refs/heads/main')
})

test('a folder of refs is a symbolic link', async () => {
  await using _ = await refused('good; mv .git/refs/heads "$state/heads"; ln -s "$state/heads" .git/refs/heads')
})

test.each([
  ['words', 'echo "; touch x" >.git/refs/heads/main'],
  ['another ref', 'echo "ref: refs/remotes/upstream/main" >.git/refs/heads/main'],
  ['nothing', ': >.git/refs/heads/main'],
  ['an object that is not there', 'echo 1234567890123456789012345678901234567890 >.git/refs/heads/main'],
  ['a file', 'id=$(git rev-parse HEAD:greeting.txt); echo "$id" >.git/refs/heads/main'],
  ['a tree', 'id=$(git rev-parse "HEAD^{tree}"); echo "$id" >.git/refs/heads/main'],
  ['a tag', 'git tag --annotate --message t t; id=$(git rev-parse t); echo "$id" >.git/refs/heads/main'],
  ['a very long line', 'head -c 50000000 /dev/zero | tr "\\0" a >.git/refs/heads/main'],
])('the branch names %s', async (_, trap) => {
  await using _world = await refused(`good; ${trap}`)
})

test('a branch in packed-refs is found', async () => {
  await using _ = await accepted('good; git pack-refs --all --prune')
})

test('packed-refs is a pipe', async () => {
  await using _ = await refused('good; rm .git/refs/heads/main; rm -f .git/packed-refs; mkfifo .git/packed-refs')
})

test('HEAD, index and worktree of the workspace do not matter', async () => {
  await using _ = await accepted(
    'good; git checkout --quiet --detach "$start"; rm -f .git/index; rm -rf ./*; echo x >.git/HEAD',
  )
})

test('a pipe in place of a file of git hangs nothing', async () => {
  await using _ = await accepted(
    'good; for name in config HEAD index info/attributes shallow; do mkdir -p .git/info; rm -f ".git/$name"; mkfifo ".git/$name"; done',
  )
})

/** A commit with the tree of a good merge, but without upstream in its history. */
const LONELY = `good
    tree=$(git rev-parse "HEAD^{tree}")
    lonely=$(git commit-tree "$tree" -p "$start" -m lonely)
    forged=$(git commit-tree "$tree" -p "$start" -p "$upstream" -m forged)
    git update-ref refs/heads/main "$lonely"`

test('a good tree without upstream in its history is refused', async () => {
  await using _ = await refused(LONELY)
})

test('replace refs do not make an unmerged branch look merged', async () => {
  await using _ = await refused(
    `${LONELY}\n git replace "$lonely" "$forged"; git merge-base --is-ancestor "$upstream" "$lonely"`,
  )
})

test('grafts do not make an unmerged branch look merged', async () => {
  const graft = 'mkdir -p .git/info; echo "$lonely $start $upstream" >.git/info/grafts'
  await using _ = await refused(`${LONELY}\n ${graft}; git merge-base --is-ancestor "$upstream" "$lonely"`)
})

/** Adds a second parent to a commit in .git/objects/info/commit-graph, which git trusts without reading the commit. */
const FORGE = `
  const [graph, commit, parent] = process.argv.slice(2)
  const bytes = require('fs').readFileSync(graph)
  const chunks = {}
  for (let at = 8; at < 8 + bytes[6] * 12; at += 12) chunks[bytes.toString('latin1', at, at + 4)] = Number(bytes.readBigUInt64BE(at + 4))
  const count = bytes.readUInt32BE(chunks.OIDF + 255 * 4)
  const position = id => Array.from({ length: count }, (_, at) => bytes.toString('hex', chunks.OIDL + at * 20, chunks.OIDL + at * 20 + 20)).indexOf(id)
  bytes.writeUInt32BE(position(parent), chunks.CDAT + position(commit) * 36 + 24)
  require('fs').writeFileSync(graph, bytes)
`

test('a forged commit-graph does not make an unmerged branch look merged', async () => {
  await using _ = await refused(`${LONELY}
    git update-ref refs/heads/main "$(git commit-tree "$tree" -p "$lonely" -m top)"
    git commit-graph write --reachable; chmod u+w .git/objects/info/commit-graph
    cat >"$state/forge.cjs" <<'FORGE'${FORGE}FORGE
    bun "$state/forge.cjs" .git/objects/info/commit-graph "$lonely" "$upstream"
    git merge-base --is-ancestor "$upstream" main`)
})

test('a shallow file does not cut the fork off', async () => {
  await using _ = await refused(`
    git update-ref refs/heads/main "$(git commit-tree "$upstream^{tree}" -p "$upstream" -m lonely)"
    echo "$upstream" >.git/shallow`)
})

test('a moved upstream ref does not fool the judgement', async () => {
  await using _ = await refused('git update-ref refs/remotes/upstream/main "$start"')
})

test('a tree with a .GIT entry never reaches the host', async () => {
  await using _ = await refused(`good
    blob=$(echo '[core] fsmonitor = touch x' | git hash-object -w --stdin)
    inner=$(printf '100644 blob %s\\tconfig\\n' "$blob" | git mktree)
    tree=$({ git ls-tree HEAD; printf '040000 tree %s\\t.GIT\\n' "$inner"; } | git mktree)
    git update-ref refs/heads/main "$(git commit-tree "$tree" -p HEAD -m evil)"`)
})

/** Writes a reverse index for the only pack, with positions far beyond its end. */
const REVERSE = `
  const [pack] = require('fs').globSync('.git/objects/pack/*.pack')
  const fs = require('fs')
  const bytes = fs.readFileSync(pack)
  const count = bytes.readUInt32BE(8)
  const body = Buffer.alloc(12 + 4 * count, 0xfe)
  body.write('RIDX', 'latin1')
  body.writeUInt32BE(1, 4)
  body.writeUInt32BE(1, 8)
  const rest = Buffer.concat([body, bytes.subarray(-20)])
  fs.rmSync(pack.replace(/pack$/, 'rev'), { force: true })
  fs.writeFileSync(pack.replace(/pack$/, 'rev'), Buffer.concat([rest, new Bun.CryptoHasher('sha1').update(rest).digest()]))
`

test('a workspace in which all objects are in one pack is taken', async () => {
  await using _ = await accepted('good; git repack -a -d -q -f')
})

test.each([
  ['reverse index', `cat >"$state/rev.cjs" <<'REV'${REVERSE}REV\n bun "$state/rev.cjs"`],
  ['index', 'for idx in .git/objects/pack/*.idx; do chmod u+w "$idx"; head -c 4000 /dev/urandom >"$idx"; done'],
  [
    'bitmap',
    'for pack in .git/objects/pack/*.pack; do head -c 4000 /dev/urandom >"$(dirname "$pack")/$(basename "$pack" .pack).bitmap"; done',
  ],
  ['index of several packs', 'head -c 4000 /dev/urandom >.git/objects/pack/multi-pack-index'],
])('no byte is read of a %s that the agent wrote', async (_name, trap) => {
  await using _ = await accepted(`good; git repack -a -d -q -f; ${trap}`)
})

test('more packs than git would leave are refused before they are read', async () => {
  await using _ = await refused(`good; git repack -a -d -q -f
    for at in $(seq 1100); do : >".git/objects/pack/pack-$at.pack"; done`)
})

test('a pack that lies about its objects is refused', async () => {
  await using _ = await refused(`good; git repack -a -d -q -f
    for pack in .git/objects/pack/*.pack; do chmod u+w "$pack"; printf 'xxxx' | dd of="$pack" bs=1 seek=400 conv=notrunc 2>/dev/null; done`)
})

test('a corrupt object is refused', async () => {
  await using _ = await refused(`good
    id=$(git rev-parse HEAD:greeting.txt); file=.git/objects/$(echo "$id" | cut -c1-2)/$(echo "$id" | cut -c3-)
    chmod u+w "$file"; echo garbage >"$file"`)
})

test('a file name with escape sequences reaches no terminal', async () => {
  const world = await makeWorld()
  await using _ = world
  await world.agent(
    `good; name=$(printf 'evil\\033]0;owned\\007.txt'); echo x >"$name"; git add --all; git commit --quiet -m "$(printf 'words \\033[2Jgone')"`,
  )
  const run = await world.run([], { terminal: 100 })
  expectExit(run, 0)
  expect(run.stdout).not.toContain('\u001b]0;')
  expect(run.stdout).not.toContain('\u001b[2J')
  expect(await git(world.origin, 'show', '-s', '--format=%B', world.pull.headSha)).not.toContain('\u001b')
  expect(world.pull.body).not.toContain('\u001b')
})

test('control characters that the container prints reach no terminal', async () => {
  const world = await makeWorld()
  await using _ = world
  await world.agent(`printf '\\033]0;owned\\007\\033[2J'; good`)
  const run = await world.run([], { terminal: 100 })
  expectExit(run, 0)
  expect(run.stdout).not.toContain('\u001b]0;')
  expect(run.stdout).not.toContain('\u001b[2J')
})
