/** Checks of a task in a real container: they see only the files of one commit, and leave nothing behind. */
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { commit } from '../support/git.ts'
import { type Judge, makeJudge } from '../support/judge.ts'
import { docker, gateway } from './box.ts'

let judge: Judge
beforeAll(async () => {
  judge = await makeJudge()
})
afterAll(() => judge[Symbol.asyncDispose]())

async function attempt(files: Record<string, string>) {
  const { path } = judge.place
  const base = await commit(path, 'main', { 'a.txt': 'one\n' })
  return { base, head: await commit(path, 'work', files, { parents: [base] }) }
}

test('a check sees the files of the attempt, no repository, no network and no key', async () => {
  const server = Bun.serve({ hostname: await gateway(), port: 0, fetch: () => new Response('reached') })
  try {
    const looks = `ls -A; cat a.txt; git log 2>&1; env; curl --silent --max-time 5 ${server.url}; echo "curl $?"; exit 9`
    const { isGood, report } = await judge.validate(await attempt({ 'a.txt': 'two\n' }), {
      checks: [{ command: looks }],
    })
    const [check] = report.checks
    expect([isGood, check?.came, check?.words]).toEqual([false, 'bad', 'ended with 9'])
    expect(check?.tail).toMatch(/^a\.txt\ntwo\nfatal: not a git repository/)
    expect(check?.tail).toEndWith('curl 7')
    expect(check?.tail).not.toMatch(/API_KEY|DOCKER_HOST|reached/)
  } finally {
    await server.stop(true)
  }
})

test('what a check leaves in its folder, links and closed folders too, is gone for the next one', async () => {
  const dirty =
    'ln -s / root; mkdir deep; touch deep/x; chmod 000 deep; echo no > a.txt; mkfifo pipe; git init --quiet sub'
  const clean = await attempt({ 'a.txt': 'two\n' })
  expect((await judge.validate(clean, { checks: [{ command: dirty }] })).isGood).toBe(true)
  const seen = await judge.validate(clean, { checks: [{ command: 'test "$(ls -A)" = a.txt && grep -q two a.txt' }] })
  expect([seen.isGood, seen.words]).toEqual([true, 'All checks passed.'])
  await using slot = await judge.slots.take(clean.head)
  expect(await readdir(slot.folder)).toEqual(['a.txt'])
})

test('a check can’t write the next one of its own attempt, nor pass by what its first run left', async () => {
  const { path } = judge.place
  const base = await commit(path, 'contract', { 'check.sh': 'exit 1\n' })
  const head = await commit(path, 'fakes', { 'a.sh': "echo 'exit 0' > check.sh; touch left\n" }, { parents: [base] })
  const leaves = 'test -e was-here || { touch was-here; exit 1; }'
  const checks = [{ command: 'sh a.sh' }, { command: 'test ! -e left' }, { command: leaves }]
  const { isGood, report } = await judge.validate({ base, head }, { checks, contract: 'sh check.sh' })
  expect([isGood, report.checks.map(it => it.came)]).toEqual([false, ['good', 'good', 'bad', 'bad']])
})

test('prepared files are there for each check, and are prepared again after a check changed them', async () => {
  const forge = '# Checks\n- prepare: `mkdir built; date +%s%N > built/it; cp built/it ../workspace/built/same`\n'
  const { head } = await attempt({ 'FORGE.md': forge })
  const next = await commit(judge.place.path, 'prepared', { 'new.txt': 'x\n' }, { parents: [head] })
  const isWhole = 'cmp built/it built/same && test "$(ls)" = "$(printf \'FORGE.md\\na.txt\\nbuilt\\nnew.txt\')"'
  const checks = [`${isWhole}; touch more built/more`, `${isWhole} && echo spoilt > built/it`, `true && ${isWhole}`]
  const wish = { checks: checks.map(command => ({ command })), contract: isWhole }
  const { isGood, report } = await judge.validate({ base: head, head: next }, wish)
  expect([isGood, report.checks.map(it => it.came)]).toEqual([true, ['good', 'good', 'good', 'good']])
})

test('a check that does not end is ended, and counts as failed', async () => {
  const hangs = 'trap "" TERM; sleep 1000 & sleep 1000'
  const { isGood, report } = await judge.validate(await attempt({ 'a.txt': 'two\n' }), {
    checks: [{ command: hangs, seconds: 2 }],
  })
  expect([isGood, report.checks[0]?.words]).toEqual([false, expect.stringMatching(/^was stopped after \d+ seconds$/)])
  expect((await docker('ps', '--all', '--quiet', '--filter', 'name=forge-command-')).stdout).toBe('')
})

test('the changes of a formatter in the image become a commit', async () => {
  const mend = "python3 -c \"import pathlib; p = pathlib.Path('new.txt'); p.write_text(p.read_text().strip() + '\\n')\""
  const { head } = await attempt({ 'FORGE.md': `# Checks\n- mend: \`${mend}\`\n` })
  const next = await commit(judge.place.path, 'next', { 'new.txt': '  words   ' }, { parents: [head] })
  const { isGood, head: mended } = await judge.validate({ base: head, head: next }, {})
  expect([isGood, await judge.place.git('show', `${mended}:new.txt`)]).toEqual([true, 'words'])
})
