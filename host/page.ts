/** The pull request's text, from what the review found. What strangers wrote is shown there, and can do nothing. */
import type { Oid, Path } from './git.ts'
import type { Conflict, Edit, Review } from './review.ts'
import { visible, visibleLines, visiblePath } from './terminal.ts'

/** What the page tells besides the review; undefined is what is not known. */
export type Story = {
  originBranch: string
  upstreamBranch: string
  /** Web addresses of the two repositories, such as https://github.com/me/project. */
  origin?: string | undefined
  upstream?: string | undefined
  model?: string | undefined
  variant?: string | undefined
  agent?: string | undefined
  seconds?: number | undefined
  requests?: number | undefined
  tokens?: number | undefined
  /** What the agent said at the end: untrusted. */
  words?: string | undefined
  /** The merge buttons that the repository allows. */
  buttons?: { merge: boolean; squash: boolean; rebase: boolean } | undefined
  /** The fork has no commits of its own: the result is upstream's commit itself. */
  fastForward?: boolean | undefined
  /** Web addresses of older pull requests of Forklift's that this one takes the place of. */
  leftBehind?: string[] | undefined
  /** Sentences of the host's own. */
  notes?: string[] | undefined
}

const BEGIN = '<!-- forklift:begin -->'
const END = '<!-- forklift:end -->'
/** What GitHub takes in a body, and how much of it is ours: the rest is for a person's words. */
const LIMIT = 65_535
const OURS = 60_000
/** How much is shown of each part: the first size that fits is taken, so that the least important goes first. */
const SIZES = [
  { commits: 50, diff: 12_000, words: 6_000, names: 200 },
  { commits: 10, diff: 12_000, words: 6_000, names: 200 },
  { commits: 10, diff: 4_000, words: 4_000, names: 200 },
  { commits: 10, diff: 1_000, words: 2_000, names: 100 },
  { commits: 5, diff: 0, words: 1_000, names: 100 },
  { commits: 0, diff: 0, words: 300, names: 10 },
]
type Size = (typeof SIZES)[number]

/** A file on the page, with a word about it. */
type Item = { path: Path; note?: string; to?: Path | undefined }
const NO_DIFFS: Review['diffs'] = new Map()

export function page(review: Review, story: Story): { title: string; body: string; draft: boolean } {
  let body = ''
  for (const size of SIZES) {
    body = bodyOf(review, story, size)
    if (body.length <= OURS) break
  }
  return { title: subjectOf(review, story), body, draft: review.partial.length > 0 }
}

function bodyOf(review: Review, story: Story, size: Size): string {
  const parts = [
    verdict(review, story),
    lookFirst(review, size),
    steering(review, size),
    group('### Conflicts', review.conflicts.map(describeConflict), size, review.diffs),
    upstreamsCommits(review, story, size),
    howMade(review, story, size),
    howToMerge(story),
  ]
  // Nothing between the markers may look like one of them.
  const text = parts.filter(part => part !== '').join('\n\n')
  return `${BEGIN}\n${text.replaceAll('<!-- forklift:', '<!-- forklift ')}\n${END}`
}

function verdict({ conflicts, edits, dropped, vanished, upstreamCommits, files }: Review, story: Story): string {
  const found = [
    conflicts.length === 0 ? 'no conflicts' : many(conflicts.length, 'conflict'),
    ...(dropped.length > 0 ? [`${many(dropped.length, 'file')} without upstream's change`] : []),
    ...(vanished.length > 0 ? [`${many(vanished.length, 'file')} without the fork's change`] : []),
    ...(edits.length > 0 ? [`${many(edits.length, 'file')} edited beyond the conflicts`] : []),
  ]
  const what = `${many(upstreamCommits.count, 'commit')} of ${code(story.upstreamBranch)} into ${code(story.originBranch)}`
  const clean = `Without a conflict, upstream changes ${many(files.upstream, 'file')} and the fork keeps its own changes in ${files.fork}.`
  return `**Merges ${what}: ${found.join(', ')}.** ${clean}`
}

/** What a person has to judge: nothing at all where the result is what git makes by itself. */
function lookFirst({ dropped, vanished, edits, shrunk, conflicts, partial, diffs }: Review, size: Size): string {
  const given = conflicts.filter(({ resolution }) => resolution === "upstream's version")
  const smaller = shrunk.map(({ path, before, after }) => ({ path, note: `from ${before} lines to ${after}` }))
  const groups = [
    group('**Not taken from upstream**, though nothing was in the way:', dropped.map(plainItem), size, diffs),
    group("**Undone of the fork's changes**, though nothing was in the way:", vanished.map(plainItem), size, diffs),
    group('**Edited beyond the conflicts:**', edits.map(describeEdit), size, diffs),
    group("**The fork's change is gone**, because the conflict went to upstream:", given, size, NO_DIFFS),
    group("**The fork's change is smaller** than it was:", smaller, size, NO_DIFFS),
  ].filter(text => text !== '')
  if (groups.length === 0) return ''
  const draft =
    partial.length > 0
      ? ['This was for a person to decide, so the pull request is a draft where the repository has drafts.']
      : []
  return ['### Look at this first', ...draft, ...groups].join('\n\n')
}

function steering(review: Review, size: Size): string {
  const groups = [
    group('**CI**, which runs with the secrets of this repository:', review.ci.map(plainItem), size, NO_DIFFS),
    group(
      '**Agents and hooks**, on the machines of those who work here:',
      review.steering.map(plainItem),
      size,
      NO_DIFFS,
    ),
  ].filter(text => text !== '')
  return groups.length > 0 ? ['### Upstream changed what steers CI and agents', ...groups].join('\n\n') : ''
}

/** Files under a heading, each folded with its diff where there is one. */
function group(heading: string, items: Item[], size: Size, diffs: Review['diffs']): string {
  if (items.length === 0) return ''
  const lines = items.slice(0, size.names).map(({ path, note = '', to }) => {
    const diff = size.diff > 0 ? diffs.get(path) : undefined
    const name = diff
      ? (text: Path) => `<code>${html(short(visiblePath(text), 200))}</code>`
      : (text: Path) => code(visiblePath(text))
    const line = `${name(path)}${note && `: ${note}`}${to === undefined ? '' : ` ${name(to)}`}`
    return diff
      ? `<details><summary>${line}</summary>\n\n${fence('diff', diff, size.diff)}\n\n</details>\n`
      : `- ${line}`
  })
  const more = items.length - lines.length
  return [heading, '', ...lines, ...(more > 0 ? [`- and ${many(more, 'other file')}`] : [])].join('\n').trimEnd()
}

const plainItem = (path: Path): Item => ({ path })

const describeEdit = ({ path, change, to }: Edit): Item => ({ path, note: to === undefined ? change : 'moved to', to })

function describeConflict({ path, kind, stages, resolution }: Conflict): Item {
  const [base, fork, upstream] = [1, 2, 3].map(number => stages.some(({ stage }) => stage === number))
  const known: Record<string, string> = {
    contents: base ? 'both sides changed the same lines' : 'both sides added it',
    binary: 'both sides changed a binary file',
    'modify/delete':
      fork && !upstream ? 'upstream deleted it, the fork changed it' : 'the fork deleted it, upstream changed it',
  }
  const result = resolution === 'a mixture' ? 'a mixture of both' : resolution
  return { path, note: `${known[kind] ?? `${kind} conflict`}. Now: ${result}.` }
}

function upstreamsCommits({ upstreamCommits }: Review, { upstream }: Story, size: Size): string {
  const { count, newest } = upstreamCommits
  if (count === 0) return ''
  const web = webAddress(upstream)
  // GitHub tells the other side of a link to itself, but not of one through its own redirect.
  const link = (oid: Oid) => `${web?.replace('https://github.com/', 'https://redirect.github.com/')}/commit/${oid}`
  const lines = newest.slice(0, size.commits).map(({ oid, date, subject }) => {
    const id = code(oid.slice(0, 10))
    return `- ${web ? `[${id}](${link(oid)})` : id} ${date} ${code(short(subject, 120))}`
  })
  const more =
    count > lines.length ? [`- and ${many(count - lines.length, lines.length > 0 ? 'older commit' : 'commit')}`] : []
  return ["### Upstream's commits", '', ...lines, ...more].join('\n')
}

function howMade({ rebased }: Review, story: Story, size: Size): string {
  const { model, variant, agent, seconds, requests, tokens, words, notes = [], leftBehind = [] } = story
  const facts = [
    ...(model ? [`model ${code(model)}${variant ? ` (${code(variant)})` : ''}`] : []),
    ...(agent ? [`agent ${code(agent)}`] : []),
    ...(seconds === undefined ? [] : [duration(seconds)]),
    ...(requests === undefined ? [] : [many(requests, 'request')]),
    ...(tokens === undefined ? [] : [many(tokens, 'token')]),
  ]
  const left = leftBehind.flatMap(address => webAddress(address) ?? [])
  return [
    '### How this was made',
    `By Forklift${facts.length > 0 ? `: ${facts.join(', ')}` : ''}. One commit holds it all, so that \`git show --remerge-diff\` shows all that is not git's own merge.`,
    ...(rebased ? ['The agent rebased; its files were judged, and its commits left behind.'] : []),
    ...notes.map(escapeMarkdown),
    ...(left.length > 0 ? [`This takes the place of ${left.join(', ')}.`] : []),
    ...(words?.trim()
      ? ["The agent's own words, which nobody has checked:", fence('text', wrap(words.trim(), 100), size.words)]
      : []),
  ].join('\n\n')
}

function howToMerge({ buttons, fastForward, originBranch }: Story): string {
  const squash = "Squashed or rebased, upstream's commits stay unknown to git, and the same conflicts come back."
  const merge = fastForward
    ? '**Sync fork** on the page of the fork does it best: the fork has no commits of its own, and needs no merge commit.'
    : buttons && !buttons.merge
      ? `> [!WARNING]\n> This repository allows no merge commits. ${squash}\n> Allow them first: Settings → General → Pull Requests → Allow merge commits.`
      : `- To merge, choose **Create a merge commit**. ${squash}`
  return [
    '### Merge it, or not',
    '',
    merge,
    '- To reject it, close it. Forklift comes back when upstream has moved on.',
    `- To have the next one made differently, tell the agent in \`FORK.md\` on ${code(originBranch)}: what the fork changes, and why, and how to test it.`,
  ].join('\n')
}

/** The same ledger for a terminal. */
export function ledgerText(review: Review): string {
  const { refusals, partial, conflicts, ci, steering, upstreamCommits, files } = review
  const line = ({ path, note }: Item) => `  ${visiblePath(path)}${note ? `: ${note}` : ''}`
  const block = (heading: string, items: Item[]) =>
    items.length === 0
      ? []
      : [heading, ...items.slice(0, 50).map(line), ...(items.length > 50 ? [`  and ${items.length - 50} more`] : [])]
  return [
    ...refusals.map(refusal => `Refused: ${refusal}`),
    ...partial,
    `${many(upstreamCommits.count, 'commit')} of upstream's; ${many(files.upstream, 'file')} changed by upstream and ${files.fork} by the fork without a conflict.`,
    ...block('Conflicts:', conflicts.map(describeConflict)),
    ...block('Upstream changed what steers CI and agents:', [...ci, ...steering].map(plainItem)),
  ].join('\n')
}

const SECTION = new RegExp(`${BEGIN}(?:(?!${BEGIN})[\\s\\S])*?${END}`, 'g')

/** Puts our section in the place of the one that is there, and leaves all else as a person wrote it. */
export function mergeBody(existing: string, ours: string): string {
  // Several sections become one, and a marker without its other half is no section.
  const [before = '', ...after] = existing.split(SECTION).map(text => text.replaceAll(BEGIN, '').replaceAll(END, ''))
  const around = (text: string) =>
    after.length > 0 ? before + text + after.join('') : [before.trimEnd(), text].filter(Boolean).join('\n\n')
  const fits = (body: string) => body.length <= LIMIT
  const brief = `${BEGIN}\nForklift's page does not fit beside what is written here: see the newest commit.\n${END}`
  return [around(ours), around(brief)].find(fits) ?? existing
}

/** The message of the one commit that is published: the agent's words do nothing in it, and the trailer is ours. */
export function commitMessage(review: Review, story: Story): string {
  const { conflicts, edits, commits } = review
  const files = [...conflicts.map(describeConflict), ...edits.map(describeEdit)].slice(0, 30)
  const more = conflicts.length + edits.length - files.length
  const lines = files.map(
    ({ path, note, to }) =>
      `- ${[path, to]
        .filter(name => name !== undefined)
        .map(name => short(visiblePath(name), 100))
        .join(` ${note} `)}${to ? '' : `: ${note}`}`,
  )
  const words = wrap(story.words?.trim() ?? '', 70)
    .split('\n')
    .slice(0, 40)
  return [
    subjectOf(review, story),
    ...(lines.length > 0
      ? [harmless([...lines, ...(more > 0 ? [`- and ${many(more, 'other file')}`] : [])].join('\n'))]
      : []),
    ...(words.join('') ? ['The agent says:', harmless(words.map(line => `> ${line}`.trimEnd()).join('\n'))] : []),
    `Forklift-Upstream: ${commits.upstream}\n`,
  ].join('\n\n')
}

const subjectOf = ({ upstreamCommits }: Review, { upstreamBranch }: Story): string =>
  `Merge ${harmless(short(visible(upstreamBranch), 60))} (${many(upstreamCommits.count, 'commit')})`

const many = (count: number, word: string): string => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`
const duration = (seconds: number): string =>
  seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
const html = (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
const webAddress = (text: string | undefined): string | undefined => /^https?:\/\/[\w.:/~%+-]+$/.exec(text ?? '')?.[0]

/** Keeps both ends of a long text, where names differ. */
const short = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(1 - length / 2)}`.toWellFormed()

/** Lines of at most so many characters, controls spelled out. */
const wrap = (text: string, width: number): string =>
  visibleLines(text)
    .split('\n')
    .flatMap(line => line.match(new RegExp(`.{1,${width}}(?:\\s|$)|.{1,${width}}`, 'gu')) ?? [''])
    .map(line => line.trimEnd())
    .join('\n')

/** Text in a commit message or a title, where code does not quote: no mention, reference, link or order to a CI. */
const harmless = (text: string): string =>
  text
    .replace(/[@#!](?=\w)|\bGH-(?=\d)|:(?=\/\/)/gi, '$& ')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/\*{3,}/g, '**')
    .replace(/skip-checks/gi, 'skip checks')

/** A sentence of ours that may hold names of others. */
const escapeMarkdown = (text: string): string => harmless(visible(text)).replace(/[\\`*_~<>|&]/g, '\\$&')

const ticksAround = (text: string, least: number): string =>
  '`'.repeat(Math.max(least, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))

/** Text of others in a line: GitHub finds no mention, reference, link or HTML in code. */
function code(text: string): string {
  const shown = short(visible(text), 200) || ' '
  const ticks = ticksAround(shown, 1)
  const pad = /^[` ]|[` ]$/.test(shown) ? ' ' : ''
  return ticks + pad + shown + pad + ticks
}

/** Text of others in a block, shortened by whole lines. */
function fence(language: string, text: string, limit: number): string {
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => short(line, 400))
  let end = 0
  for (let left = limit; end < lines.length; end++) {
    left -= (lines[end]?.length ?? 0) + 1
    if (left < 0) break
  }
  const shown = lines.slice(0, end).join('\n')
  const ticks = ticksAround(shown, 3)
  const more = end < lines.length ? `\n\n…and ${many(lines.length - end, 'line')} more` : ''
  return `${ticks}${language}\n${shown}\n${ticks}${more}`
}
