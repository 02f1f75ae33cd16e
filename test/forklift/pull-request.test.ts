/** The text of a pull request: what a reviewer reads, and that untrusted text in it has no effect. */
import { expect, test } from 'bun:test'
import { mergeInPartsLine } from '../../core/formats/merge-in-parts.ts'
import type { MergeReview } from '../../core/review.ts'
import type { PageFormat } from '../../forklift/host.ts'
import { commitMessage, ledgerText, mergeBody, page, type Story } from '../../forklift/pull-request.ts'
import { gitWith } from '../support/git.ts'

const OID = 'a1b2c3d4'.repeat(5)
const STORY: Story = {
  originBranch: 'main',
  upstreamBranch: 'upstream/main',
  upstream: 'https://github.com/up/project',
}
const REVIEW: MergeReview = {
  commits: { origin: OID, start: OID, upstream: OID, result: OID },
  ...{
    refusals: [],
    unliftable: [],
    meantByHand: [],
    automation: [],
    around: [],
    middles: [],
    keptOff: [],
    goneFromStart: [],
    partial: [],
    stuck: undefined,
    rebased: false,
    settledOn: undefined,
  },
  ...{ conflicts: [], edits: [], dropped: [], vanished: [], shrunk: [], ci: [], steering: [], diffs: new Map() },
  upstreamCommits: { count: 1, newest: [{ oid: OID, date: '2026-11-01', subject: 'Add a thing' }] },
  files: { upstream: 2, fork: 1 },
}
const conflict = (path: string, kind = 'contents'): MergeReview['conflicts'][number] => ({
  path,
  kind,
  stages: [],
  resolution: 'a mixture of both',
})
const bodyOf = (review: Partial<MergeReview>, story: Partial<Story> = {}): string =>
  page({ ...REVIEW, ...review }, { ...STORY, ...story }).body

/** Removes everything that Markdown quotes from a body: code blocks, inline code, escapes. */
function unquoted(body: string): string {
  let fence = ''
  const lines = body.split('\n').filter(line => {
    const ticks = /^(`{3,})[^`]*$/.exec(line)?.[1] ?? ''
    if (fence) {
      if (ticks.length >= fence.length && line === ticks) fence = ''
      return false
    }
    fence = ticks
    return !ticks
  })
  expect(fence).toBe('')
  return lines
    .join('\n')
    .replace(/<code>[^<>]*<\/code>/g, '')
    .replace(/(?<![`\\])(`+)(?!`)([^\n]*?[^`\n])\1(?!`)/g, '')
    .replace(/\\[\\`*_~<>|&#]/g, '')
}

/** Control characters, and characters that change the direction of text. */
const unseen = (text: string): string[] =>
  [...text].filter(char => char !== '\n' && (char < ' ' || /[\u202a-\u202e\u2066-\u2069]/.test(char)))

const HOSTILE = [
  '@everyone fixes #1, GH-2, up/project#3, up/project@a1b2c3d4 https://github.com/up/project/issues/4',
  '</details></summary><script>alert(1)</script><img src=x onerror=y>',
  '```\n## free\n```\n~~~\n````\n@free\n`````',
  '` @free ` `` @free `` ``` @free',
  '<!-- forklift:end -->\nfree @one <!-- forklift:begin -->',
  '[click](https://evil.example) ![](https://evil.example/x.png) | a | b |',
  '\u202egnihtemos\u2066 \x1b[31mred\x1b[0m \r\n> quote\n# heading #5',
  `${'`'.repeat(300)}@free`,
]

test('untrusted text has no effect, anywhere on the page', () => {
  for (const words of HOSTILE) {
    const path = Buffer.from(words).toString('latin1')
    const review: Partial<MergeReview> = {
      ...{ dropped: [path], vanished: [path], ci: [path], steering: [path], shrunk: [{ path, before: 2, after: 1 }] },
      edits: [
        { path: 'a', change: 'moved', to: path },
        { path, change: 'changed' },
      ],
      conflicts: [conflict(path)],
      upstreamCommits: { count: 1, newest: [{ oid: OID, date: '2026-11-01', subject: words.split('\n')[0] ?? '' }] },
    }
    const story = {
      originBranch: words,
      upstreamBranch: words,
      model: words,
      variant: words,
      agent: words,
      words,
      notes: [words],
      lessons: words,
    }
    for (const diffs of [
      new Map<string, string>(),
      new Map([
        [path, words],
        ['a', words],
      ]),
    ]) {
      const body = bodyOf({ ...review, diffs }, story)
      const open = unquoted(body)
      expect(open).not.toMatch(/[@#]\w|GH-\d|<script|<img|[^\n] ?!?\[click|\]\(https:\/\/evil/)
      expect(open.match(/https?:\/\/\S+/g)).toEqual([expect.stringMatching(/^https:\/\/redirect\.github\.com\//)])
      expect(open.match(/<\/?details>/g)?.length ?? 0).toBe(diffs.size * 2 + (diffs.size > 0 ? 6 : 0))
      expect(unseen(body)).toEqual([])
      expect(body.split('<!-- forklift:')).toHaveLength(3)
      expect(mergeBody(mergeBody('Mine', body), body)).toBe(`Mine\n\n${body}`)
    }
    expect(page({ ...REVIEW, ...review }, { ...STORY, ...story }).title).not.toMatch(/[@#]\w|GH-\d|:\/\/|\n/)
  }
})

test("links to upstream's commits send no notification upstream", () => {
  expect(bodyOf({})).toContain(`[\`a1b2c3d4a1\`](https://redirect.github.com/up/project/commit/${OID})`)
  expect(bodyOf({}, { upstream: undefined })).not.toContain('](')
  expect(bodyOf({}, { upstream: 'https://git.example/up) @x' })).not.toContain('](')
})

test('an untouched merge asks for no look, and says how to merge', () => {
  const { body, draft, title } = page(REVIEW, STORY)
  expect(draft).toBe(false)
  expect(title).toBe('Merge upstream/main (1 commit)')
  expect(body).not.toContain('Look at this first')
  expect(body).toMatch(
    /^<!-- forklift:begin -->\n\*\*Merges 1 commit of `upstream\/main` into `main`: no conflicts\.\*\*/,
  )
  expect(body).toContain('**Create a merge commit**')
  expect(body).toEndWith('<!-- forklift:end -->')
})

test("a result that is one side's tree says so first", () => {
  const body = bodyOf({ settledOn: 'upstream', conflicts: [conflict('a')], partial: ['x'] })
  expect(body).toContain('### Look at this first\n\n**The result is the tree of upstream**')
})

test('the parts come in the order of a review', () => {
  const body = bodyOf(
    {
      edits: [{ path: 'b', change: 'added' }],
      ci: ['.github/workflows/x.yml'],
      conflicts: [conflict('a')],
      partial: ['x'],
    },
    { words: 'Done.' },
  )
  const headings = [...body.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual([
    'Look at this first',
    'Upstream changed what steers CI and agents',
    'Conflicts',
    "Upstream's commits",
    'How this was made',
    'Merge it, or not',
  ])
})

test('the button to press follows from what the repository allows', () => {
  const body = (merge: boolean, more = {}) => bodyOf({}, { buttons: { merge, squash: true, rebase: true }, ...more })
  expect(body(true)).toContain('choose **Create a merge commit**')
  expect(body(false)).toContain('[!WARNING]')
  expect(body(false)).toContain('**Allow merge commits**')
  expect(body(true, { fastForward: true })).toContain('**Sync fork**')
  expect(body(true, { fastForward: true })).toContain("this is upstream's own commit")
})

test('the page says how the merge was made, as far as that is known', () => {
  const story = {
    model: 'openai/gpt-5',
    variant: 'high',
    agent: 'build',
    seconds: 200,
    requests: 42,
    tokens: 1_234_567,
    words: 'All tests pass.',
  }
  const body = bodyOf({}, story)
  expect(body).toContain('model `openai/gpt-5` (`high`), agent `build`, 3 min 20 s, 42 requests, 1,234,567 tokens')
  expect(body).toContain("The agent's own words, which nobody has checked:\n\n```text\nAll tests pass.\n```")
  expect(bodyOf({})).not.toContain('own words')
})

test('what runs of the tasks have learned is offered for FORK.md, in a fence', () => {
  expect(bodyOf({})).not.toContain('Learned here')
  const body = bodyOf({}, { lessons: '## Lessons\n\n- Notes end with their harbour.' })
  expect(body).toContain('can go into `FORK.md` on `main`, which the agent reads:\n\n```markdown\n## Lessons\n')
})

test('a page that is too long loses the oldest commits first, and never half a fence', () => {
  const many = Array.from({ length: 400 }, (_, at) => `src/a/rather/long/name/of/a/file/${at}.ts`)
  const newest = Array.from({ length: 100 }, (_, at) => ({
    oid: OID,
    date: '2026-11-01',
    subject: `Commit ${at} ${'x'.repeat(200)}`,
  }))
  const diffs = (lines: number) => new Map(many.map(path => [path, '+```` a line of the diff\n'.repeat(lines)]))
  for (const [files, lines] of [
    [3, 400],
    [10, 400],
    [60, 100],
    [400, 100],
    [400, 5000],
  ] as const) {
    const body = bodyOf(
      {
        conflicts: many.slice(0, files).map(path => conflict(path)),
        diffs: diffs(lines),
        upstreamCommits: { count: 5000, newest },
      },
      { words: 'word '.repeat(50_000) },
    )
    expect(body.length).toBeLessThanOrEqual(60_000)
    expect(unquoted(body).match(/<details>/g)?.length ?? 0).toBe(unquoted(body).match(/<\/details>/g)?.length ?? 0)
    expect(body).toContain('older commits')
    expect(body).toContain('### Merge it, or not')
  }
  const longest = 'n'.repeat(4096)
  const all = Array.from({ length: 5000 }, (_, at) => `${at}${longest}`)
  const body = bodyOf({
    dropped: all,
    vanished: all,
    ci: all,
    steering: all,
    edits: all.map(path => ({ path, change: 'added' as const })),
    conflicts: all.map(path => conflict(path)),
  })
  expect(body.length).toBeLessThanOrEqual(60_000)
})

const OURS = bodyOf({})
test.each([
  ['nothing', '', OURS],
  ['only our section', OURS.replace('Merges', 'Merged'), OURS],
  ["a person's words around it", `Before\r\n\r\n${OURS}\r\nAfter`, `Before\r\n\r\n${OURS}\r\nAfter`],
  ["only a person's words", 'Please wait.', `Please wait.\n\n${OURS}`],
  ['no end', 'Before\n<!-- forklift:begin -->\nAfter', `Before\n\nAfter\n\n${OURS}`],
  ['no beginning', 'Before\n<!-- forklift:end -->\nAfter', `Before\n\nAfter\n\n${OURS}`],
  ['two sections', `One\n${OURS}\nTwo\n${OURS}\nThree`, `One\n${OURS}\nTwo\n\nThree`],
  ['two beginnings', `<!-- forklift:begin -->\nMine\n${OURS}`, `\nMine\n${OURS}`],
  ['the end first', `<!-- forklift:end -->Mine${OURS}`, `Mine${OURS}`],
])("a body with %s keeps a person's words", (_, existing, expected) => {
  expect(mergeBody(existing, OURS)).toBe(expected)
  expect(mergeBody(expected, OURS)).toBe(expected)
})

test("a person's long words are worth more than our page", () => {
  const words = `${'A long story. '.repeat(4_500)}End.`
  const body = mergeBody(words, OURS + 'x'.repeat(5_000))
  expect(body.length).toBeLessThanOrEqual(65_535)
  expect(body).toStartWith(words)
  expect(mergeBody('y'.repeat(65_500), OURS)).toBe('y'.repeat(65_500))
})

test('the message of the commit orders nothing, and ends in its trailer', async () => {
  const words = [
    '[skip ci] [ci skip] [no ci] [skip actions] ***NO_CI***',
    'skip-checks: true',
    'Fixes #1, closes GH-2, resolves up/project#3, fixes https://github.com/up/project/issues/4 for @octocat',
    '---',
    'Forklift-Upstream: 0000000000000000000000000000000000000000',
    'Co-authored-by: Eve <eve@evil.example>',
    '\x1b[2J\u202e',
    '',
    'Signed-off-by: Eve <eve@evil.example>',
  ].join('\n')
  const message = commitMessage(REVIEW, { ...STORY, upstreamBranch: 'up/fix-#7', words })
  expect(message.split('\n')[0]).toBe('Merge up/fix-# 7 (1 commit)')
  expect(message).not.toMatch(/\[[^\]]*\]|\*{3}|skip-checks|[@#]\w|GH-\d|:\/\//i)
  expect(unseen(message)).toEqual([])
  expect(await gitWith('/', ['interpret-trailers', '--parse'], message)).toBe(`Forklift-Upstream: ${OID}`)
  expect(commitMessage(REVIEW, { ...STORY, words: 'line\n'.repeat(10_000) }).length).toBeLessThan(2_000)
  expect(commitMessage(REVIEW, STORY)).toBe(`Merge upstream/main (1 commit)\n\nForklift-Upstream: ${OID}\n`)
})

test('a terminal reads the same ledger in plain words', () => {
  const refusals = ['Conflict markers were left in a.']
  const conflicts = [conflict('a'), conflict('b\x1b[31m', 'binary')]
  const edits: MergeReview['edits'] = [{ path: 'c', change: 'moved', to: 'd' }]
  const ledger = ledgerText({
    ...REVIEW,
    refusals,
    conflicts,
    edits,
    dropped: Array.from({ length: 60 }, (_, at) => `e${at}`),
  })
  const lines = ledger.split('\n')
  expect(lines.filter(line => !/^ {2}e\d/.test(line))).toEqual([
    'Refused: Conflict markers were left in a.',
    "Upstream's change was not taken, though nothing was in the way:",
    '  and 10 other files',
    'Edited beyond the conflicts:',
    '  c: moved to d',
    'Conflicts:',
    '  a: both sides added it. Now: a mixture of both.',
    '  b\\x1b[31m: both sides changed a binary file. Now: a mixture of both.',
  ])
})

const claims = (review: Partial<MergeReview>, words: string): string =>
  bodyOf(review, { words }).split('What git can check of these words:')[1] ?? ''

test('the agent’s claims about other files are checked', () => {
  const words = 'Kept both greetings. Everything else is as upstream has it.\n\nAll tests pass.'
  expect(claims({ conflicts: [conflict('a')] }, words)).toContain(
    "- True: `Everything else is as upstream has it.` (all files beyond the conflicts are as git's own merge has them, with the fork's changes to 1 of them)",
  )
  const edits: MergeReview['edits'] = [{ path: 'b', change: 'changed' }]
  const told = claims({ conflicts: [conflict('a')], edits }, words)
  expect(told).toContain('**Not true**: `Everything else is as upstream has it.` (1 file beyond the conflicts is not')
  expect(told).not.toContain('All tests pass')
})

test('files that the agent names are not part of its claim about the rest', () => {
  const edits: MergeReview['edits'] = [{ path: 'src/b.ts', change: 'changed' }]
  const words = 'Beyond the conflicts I changed src/b.ts, which calls it. Everything else is as git merged it.'
  expect(claims({ edits, around: ['a.ts'] }, `${words} In a.ts I mended an import.`)).toContain(
    '- True: `Everything else is as git merged it.` (all files beyond the conflicts that these words do not name are',
  )
  expect(claims({ edits, around: ['a.ts'] }, words)).toContain('(1 file with a conflict changed beside it, too)')
  expect(claims({ edits: [...edits, { path: 'c', change: 'added' }] }, words)).toContain('**Not true**')
})

test('the agent’s statements about its checks are not claims about files', () => {
  const edits: MergeReview['edits'] = [{ path: 'b', change: 'changed' }]
  for (const words of ['Not run: everything else, as there is no database.', 'The rest of the tests were left out.'])
    expect(bodyOf({ edits }, { words })).not.toContain('What git can check')
})

test('the agent’s claims about a file in conflict are checked, and shown where they are not true', () => {
  const conflicts = [
    conflict('src/greeting.ts'),
    { ...conflict('src/b.ts'), resolution: "upstream's version" as const },
  ]
  const words = [
    "- `src/greeting.ts`: took upstream's version",
    "- b.ts: took upstream's version",
    "- src/greeting.ts: the fork's version and upstream's version are joined",
  ].join('\n')
  const told = claims({ conflicts }, words)
  expect(told).toContain(
    "**Not true**: `` `src/greeting.ts`: took upstream's version `` (src/greeting.ts is a mixture of both)",
  )
  expect(told.match(/Not true/g)).toHaveLength(1)
})

test('words without a claim that git can check get no list', () => {
  expect(bodyOf({}, { words: 'I ran the tests: 12 passed.' })).not.toContain('What git can check')
  expect(
    bodyOf({ edits: [{ path: 'b', change: 'changed' }] }, { words: 'The rest is untouched.', byHand: 'mine' }),
  ).not.toContain('What git can check')
})

test('dollars in a refusal make no formula', () => {
  expect(bodyOf({ refusals: ['Conflict markers were left in $$evil$$.'] })).toContain('\\$\\$evil\\$\\$')
})

test('the message keeps lines that fit, paragraphs and lists of the agent', () => {
  const words =
    'Port the fix (#37465)\n\n- a.ts: kept the fork\n  - and its test\n\nUpstream moved the greeting into another file, which did not\nexist\nhere before.'
  expect(commitMessage(REVIEW, { ...STORY, words })).toContain(
    [
      '> Port the fix (#37465)',
      '>',
      '> - a.ts: kept the fork',
      '>   - and its test',
      '>',
      '> Upstream moved the greeting into another file, which did not',
      '> exist',
      '> here before.',
    ].join('\n'),
  )
})

test('on another host, the page is in the words and the format of that host', () => {
  const format: PageFormat = {
    maxBodyChars: 20_000,
    warning: lines => `WARNING ${lines.join(' ')}`,
    commitLink: (web, oid) => `${web}/-/commit/${oid}`,
    mergeWith: 'press **Merge**, without **Squash**',
    allowMergeCommits: 'Settings, Merge requests, **Merge commit**',
    syncFork: '**Update fork**',
  }
  const commits = { count: 50, newest: Array(50).fill(REVIEW.upstreamCommits.newest[0]) }
  const words = 'word '.repeat(5_000)
  const body = bodyOf({ refusals: ['No.'], upstreamCommits: commits }, { words, format })
  expect(body).toContain('press **Merge**, without **Squash**')
  expect(body).toContain('WARNING Forklift refuses this')
  expect(body).toContain(`https://github.com/up/project/-/commit/${OID}`)
  expect(body.length).toBeLessThan(20_000)
  const forbidden = { merge: false, squash: true, rebase: true }
  expect(bodyOf({}, { buttons: forbidden, format })).toContain('Settings, Merge requests, **Merge commit**')
  expect(bodyOf({}, { fastForward: true, format })).toContain('**Update fork**')
  expect(mergeBody('z'.repeat(19_900), OURS, format)).toBe('z'.repeat(19_900))
})

test('of a merge in parts, the page says by which models, what was left, and what was asked of a person', () => {
  const how = mergeInPartsLine({
    parts: 31,
    files: 240,
    models: [{ model: 'anthropic/one', parts: 30 }],
    before: { model: 'agent-model', conflicts: 12 },
    left: 8,
    asked: { count: 1, first: [{ question: 'Which <b>side</b>, @someone?', answer: 'Ours: see #7' }] },
  })
  const body = bodyOf({}, { byHand: 'parts', words: `Merge upstream into main\n\nForge-Run: x\n${how}` })
  expect(body).toContain('Merged in parts, on `parts`, and judged by Forklift.')
  expect(body).toContain('240 files in conflict were resolved in 31 parts, by `anthropic/one` (30 parts).')
  expect(body).toContain('12 conflicts had been resolved by an agent with `agent-model`.')
  expect(body).toContain('8 files in conflict were left for a person.')
  expect(body).toContain('A person was asked 1 question:')
  expect(body).toContain('- `Which <b>side</b>, @someone?` Answer: `Ours: see #7`')
  expect(body).not.toContain('Forge-Merge')
  expect(unquoted(body)).not.toContain('@someone')
  // An agent's words are not those of a person's commit, and a broken line says nothing.
  expect(bodyOf({}, { words: how })).not.toContain('resolved in 31 parts')
  expect(bodyOf({}, { byHand: 'mine', words: 'Forge-Merge: {"parts": "many"}' })).toContain(
    'Merged by hand, on `mine`,',
  )
})
