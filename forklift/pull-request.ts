/** Writes the text of a pull request from the review. Untrusted text is quoted so that it has no effect. */
import { type MergeInParts, mergeInPartsIn, withoutMergeInParts } from '../core/formats/merge-in-parts.ts'
import type { Path } from '../core/git/repository.ts'
import type { MergeReview, ReviewedConflict, ReviewedEdit } from '../core/review.ts'
import { harmless, many, reflow, short, visible, visibleLines, visiblePath } from '../core/text.ts'
import { checkClaims, MAX_WORDS_CHARS } from './claims.ts'
import type { PageFormat } from './host.ts'
import { USUAL_FORMAT } from './hosts.ts'

/** Facts for the page besides the review; undefined: not known. */
export type Story = {
  originBranch: string
  upstreamBranch: string
  /** The addresses of the two repositories' pages. */
  origin?: string | undefined
  upstream?: string | undefined
  model?: string | undefined
  variant?: string | undefined
  agent?: string | undefined
  seconds?: number | undefined
  requests?: number | undefined
  tokens?: number | undefined
  /** The agent's last message, or the messages of the person's commits: untrusted. */
  words?: string | undefined
  /** The branch on which a person merged ('': not known); undefined: an agent merged. */
  byHand?: string | undefined
  /**
   * Whether the pull request contained upstream's commits already, so that the new commit only changes how they were
   * merged.
   */
  isUpdate?: boolean | undefined
  /** Which merge buttons are enabled in the repository. */
  buttons?: { merge: boolean; squash: boolean; rebase: boolean } | undefined
  /** Whether the fork has no commits of its own, so that the result is upstream's commit itself. */
  fastForward?: boolean | undefined
  /** The addresses of older pull requests of Forklift's that this one replaces. */
  leftBehind?: string[] | undefined
  /** What runs of the tasks have learned in the fork, as lines for its FORK.md: untrusted. */
  lessons?: string | undefined
  /** Additional sentences for the page. */
  notes?: string[] | undefined
  /** How the host formats the page (the pull request's text); undefined where no host is known. */
  format?: PageFormat | undefined
}

const BEGIN = '<!-- forklift:begin -->'
const END = '<!-- forklift:end -->'
/** Whether a pull request's text has a section of Forklift's. */
export const isOurPage = (body: string): boolean => body.includes(BEGIN)
/** UTF-16 code units of a body that are left free for a person's own text. */
const RESERVED_CHARS = 5_535
/**
 * How much of each part is shown: the first size that fits is used, so that the least important parts are cut first.
 */
const SIZES = [
  { commits: 50, diff: 12_000, words: 6_000, names: 200 },
  { commits: 10, diff: 12_000, words: 6_000, names: 200 },
  { commits: 10, diff: 4_000, words: 4_000, names: 200 },
  { commits: 10, diff: 1_000, words: 2_000, names: 100 },
  { commits: 5, diff: 0, words: 1_000, names: 100 },
  { commits: 0, diff: 0, words: 300, names: 10 },
]
type Size = (typeof SIZES)[number]

/** A file on the page, with an optional note; `to` is the new path of a moved file. */
type Item = { path: Path; note?: string; to?: Path | undefined }
type Group = [heading: string, items: Item[], diffs?: MergeReview['diffs']]

/** The page of a result that may be published. Refusals that a person has lifted stand on top. */
export function page(review: MergeReview, story: Story): { title: string; body: string; draft: boolean } {
  const { format = USUAL_FORMAT } = story
  let body = ''
  for (const size of SIZES) {
    body = bodyOf(review, story, size, format)
    if (body.length <= format.maxBodyChars - RESERVED_CHARS) break
  }
  return { title: subjectOf(review, story), body, draft: review.partial.length + review.refusals.length > 0 }
}

function bodyOf(review: MergeReview, story: Story, size: Size, format: PageFormat): string {
  const parts = [
    lifted(review, format),
    verdict(review, story),
    ...partsOf(review).map(([heading, groups]) => part(heading, groups, size)),
    review.upstreamCommits.count > 0 && commitList(review, story, size, format),
    howMade(review, story, size),
    lessonsFor(story, size),
    howToMerge(story, format),
  ]
  // Nothing between the markers may look like a marker.
  const text = parts.filter(Boolean).join('\n\n').replaceAll('<!-- forklift:', '<!-- forklift ')
  return `${BEGIN}\n${text}\n${END}`
}

/** The refusals that a person overrode with --anyway. */
function lifted({ refusals }: MergeReview, format: PageFormat): string {
  if (refusals.length === 0) return ''
  const sentences = refusals.map(refusal => `- ${escapeMarkdown(refusal)}`)
  return format.warning(['Forklift refuses this, and a person published it anyway:', ...sentences])
}

/** All parts that list files, most important first. */
function partsOf(review: MergeReview): [heading: string, groups: Group[]][] {
  const steered: Group[] = [
    ['**CI**, which may run with the secrets of this repository:', review.ci.map(itemOf)],
    ['**CI that stays off**, as the fork has switched it off:', review.keptOff.map(itemOf)],
    ['**Agents and hooks**, which run where people work on this:', review.steering.map(itemOf)],
  ]
  return [
    ['Look at this first', worthALook(review)],
    ['Upstream changed what steers CI and agents', steered],
    ['Conflicts', [['', review.conflicts.map(describeConflict), review.diffs]]],
  ]
}

function verdict(
  { conflicts, edits, dropped, vanished, upstreamCommits, files, diffs }: MergeReview,
  story: Story,
): string {
  const found = [
    conflicts.length > 0 ? many(conflicts.length, 'conflict') : 'no conflicts',
    dropped.length > 0 && `${many(dropped.length, 'file')} without upstream's change`,
    vanished.length > 0 && `${many(vanished.length, 'file')} without the fork's change`,
    edits.length > 0 && `${many(edits.length, 'file')} edited beyond the conflicts`,
  ].filter(Boolean)
  const what = `${many(upstreamCommits.count, 'commit')} of ${code(story.upstreamBranch)} into ${code(story.originBranch)}`
  const rest = `Git itself merged the other files: ${files.upstream} that upstream changed, ${files.fork} that the fork changed.`
  const legend = diffs.size > 0 ? ' In the diffs, `-` is what git itself would have, and `+` what is here.' : ''
  return `**Merges ${what}: ${found.join(', ')}.** ${rest}${legend}`
}

/** What a person has to judge; empty where the result is git's own merge. */
function worthALook(review: MergeReview): Group[] {
  const { dropped, vanished, goneFromStart, automation, edits, around, middles, shrunk, conflicts, diffs, settledOn } =
    review
  const all = conflicts.map(({ path }) => ({ path }))
  const isGone = ({ resolution, stages }: ReviewedConflict) =>
    resolution === "upstream's version" || (resolution === 'deleted' && stages.some(({ stage }) => stage === 2))
  const gone = conflicts.filter(isGone).map(({ path }) => ({ path }))
  const ofNeither = conflicts.filter(({ resolution }) => resolution === 'a version of its own')
  const smaller = shrunk.map(({ path, before, after }) => ({ path, note: `from ${before} lines to ${after}` }))
  return [
    [`**The result is the tree of ${settledOn}**, because all conflicts went its way:`, settledOn ? all : []],
    ["**Upstream's change was not taken**, though nothing was in the way:", dropped.map(itemOf), diffs],
    ["**The fork's change was undone**, though nothing was in the way:", vanished.map(itemOf), diffs],
    ['**What the pull request had already is gone**, though nothing was in the way:', goneFromStart.map(itemOf)],
    ["**Automation that git's own merge does not have**, which may run by itself:", automation.map(itemOf)],
    ['**Edited beyond the conflicts:**', edits.map(describeEdit), diffs],
    ["**As neither side has it**, where git can't mix the two:", ofNeither.map(({ path }) => ({ path }))],
    ['**Changed beside a conflict**, where git had merged the same file:', around.map(itemOf)],
    ['**A line of `=======` that neither side has**, which may be left of a conflict:', middles.map(itemOf)],
    ["**The fork's change is gone**, because the conflict went against it:", settledOn ? [] : gone],
    ["**The fork's change is smaller** than it was:", smaller],
  ]
}

/** Groups of files below a heading. */
function part(heading: string, groups: Group[], size: Size): string {
  const texts = groups.flatMap(([words, items, diffs]) => {
    const lines = items.slice(0, size.names).map(item => fileLine(item, diffs?.get(item.path), size.diff))
    if (items.length > lines.length) lines.push(`- and ${many(items.length - lines.length, 'other file')}`)
    return lines.length > 0 ? [words, lines.join('\n').trimEnd()] : []
  })
  return texts.length > 0 ? [`### ${heading}`, ...texts].filter(Boolean).join('\n\n') : ''
}

/** A file with its diff folded below it. A summary is HTML, in which backticks quote nothing. */
function fileLine({ path, note, to }: Item, diff: string | undefined, length: number): string {
  const isFolded = diff && length > 0
  const name = (of: Path) => (isFolded ? `<code>${html(short(visiblePath(of), 200))}</code>` : code(visiblePath(of)))
  const line = `${name(path)}${note ? `: ${note}` : ''}${to === undefined ? '' : ` ${name(to)}`}`
  if (!isFolded) return `- ${line}`
  return `<details><summary>${line}</summary>\n\n${fence('diff', diff, length)}\n\n</details>\n`
}

const itemOf = (path: Path): Item => ({ path })
const describeEdit = ({ path, change, to }: ReviewedEdit): Item => ({
  path,
  note: to === undefined ? change : 'moved to',
  to,
})

function describeConflict({ path, kind, stages, resolution }: ReviewedConflict): Item {
  const has = (number: number) => stages.some(({ stage }) => stage === number)
  const known: Record<string, string> = {
    contents: has(1) ? 'both sides changed the same lines' : 'both sides added it',
    binary: 'both sides changed a binary file',
    'modify/delete': has(2) ? 'upstream deleted it, the fork changed it' : 'the fork deleted it, upstream changed it',
  }
  return { path, note: `${known[kind] ?? `${kind} conflict`}. Now: ${resolution}.` }
}

function commitList({ upstreamCommits }: MergeReview, { upstream }: Story, size: Size, format: PageFormat): string {
  const web = webAddress(upstream)
  const lines = upstreamCommits.newest.slice(0, size.commits).map(({ oid, date, subject }) => {
    const id = code(oid.slice(0, 10))
    return `- ${web ? `[${id}](${format.commitLink(web, oid)})` : id} ${date} ${code(short(subject, 120))}`
  })
  const more = upstreamCommits.count - lines.length
  return ["### Upstream's commits\n", ...lines, ...(more > 0 ? [`- and ${many(more, 'older commit')}`] : [])].join('\n')
}

/** The claims in the agent's message that git could check, with its findings. */
function checked(review: MergeReview, { words, byHand }: Story): string {
  const claims = byHand === undefined && words ? checkClaims(review, words) : []
  const lines = claims.map(({ claim, isTrue, finding }) => {
    return `- ${isTrue ? 'True' : '**Not true**'}: ${code(short(claim, 160))} (${escapeMarkdown(finding)})`
  })
  return lines.length > 0 ? ['What git can check of these words:\n', ...lines].join('\n') : ''
}

function howMade(review: MergeReview, story: Story, size: Size): string {
  const { rebased } = review
  const { model, variant, agent, seconds, requests, tokens, words, byHand, notes = [], leftBehind = [] } = story
  const facts = [
    model && `model ${code(model)}${variant ? ` (${code(variant)})` : ''}`,
    agent && `agent ${code(agent)}`,
    seconds !== undefined && duration(seconds),
    requests !== undefined && many(requests, 'request'),
    tokens !== undefined && many(tokens, 'token'),
  ].filter(Boolean)
  const byForklift = `Merged by Forklift${facts.length > 0 ? `: ${facts.join(', ')}` : ''}`
  const where = byHand ? `, on ${code(byHand)},` : ''
  // What a commit says of itself is a claim, and only a person's own commits can have one.
  const inParts = byHand === undefined ? undefined : mergeInPartsIn(words ?? '')
  const byPerson = inParts
    ? `Merged in parts${where} and judged by Forklift`
    : `Merged by hand${where} and judged by Forklift`
  const maker = byHand === undefined ? byForklift : byPerson
  const whose = byHand === undefined ? "The agent's own words, which nobody has checked" : 'What its commits say'
  const left = leftBehind.flatMap(address => webAddress(address) ?? [])
  const quoted = inParts ? withoutMergeInParts(words ?? '') : words
  const said = quoted?.trim() && fence('text', reflow(quoted.slice(0, MAX_WORDS_CHARS), 100).join('\n'), size.words)
  return [
    '### How this was made',
    story.fastForward
      ? "No agent was needed: this is upstream's own commit."
      : `${maker}. \`git show --remerge-diff\` of its commit shows all that git itself would not have.`,
    inParts && partsInWords(inParts),
    rebased &&
      `${byHand === undefined ? 'The agent' : 'The branch'} rebased the fork; its files are here, its commits are not.`,
    ...notes.map(escapeMarkdown),
    left.length > 0 && `This takes the place of ${left.join(', ')}.`,
    said && `${whose}:\n\n${said}`,
    said && checked(review, story),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** How a merge was made in parts: by which models, what was left for a person, and what one was asked. */
function partsInWords({ parts, files, models, before, left, asked }: MergeInParts): string {
  const by = models.map(({ model, parts: some }) => `${code(model)} (${many(some, 'part')})`)
  const facts = [
    parts > 0 &&
      `${many(files, 'file')} in conflict ${files === 1 ? 'was' : 'were'} resolved in ${many(parts, 'part')}${by.length > 0 ? `, by ${by.join(', ')}` : ''}.`,
    before && `${many(before.conflicts, 'conflict')} had been resolved by an agent with ${code(before.model)}.`,
    left > 0 && `${many(left, 'file')} in conflict ${left === 1 ? 'was' : 'were'} left for a person.`,
    asked.count === 0 ? 'No question was asked of a person.' : `A person was asked ${many(asked.count, 'question')}:`,
  ]
  const rows = asked.first.map(({ question, answer }) => `- ${code(question)} Answer: ${code(answer)}`)
  const more = asked.count - asked.first.length
  const rest = more > 0 && rows.length > 0 ? [`- and ${many(more, 'other question')}`] : []
  return [`${facts.filter(Boolean).join(' ')} (The commit says so of itself.)`, [...rows, ...rest].join('\n')]
    .filter(Boolean)
    .join('\n\n')
}

/** What the fork's own runs of the tasks have learned, to be copied into FORK.md. */
function lessonsFor({ lessons, originBranch }: Story, size: Size): string {
  if (!lessons) return ''
  return [
    '### Learned here by runs of Forge',
    `Written by models from failures and from answers of people. Lines that hold can go into \`FORK.md\` on ${code(originBranch)}, which the agent reads:`,
    fence('markdown', lessons, size.words),
  ].join('\n\n')
}

function howToMerge({ buttons, fastForward, originBranch }: Story, format: PageFormat): string {
  const why = "Squashed or rebased, upstream's commits stay unknown to git, and the same conflicts come back."
  const merge = fastForward
    ? `- The fork has no commits of its own: ${format.syncFork} does the same without a merge commit.`
    : buttons?.merge === false
      ? `${format.warning([`Merge commits are not allowed here. ${why} Allow them first: ${format.allowMergeCommits}.`])}\n`
      : `- To merge, ${format.mergeWith}. ${why}`
  return [
    '### Merge it, or not\n',
    merge,
    '- To reject it, close it. Forklift comes back when upstream has moved on.',
    `- To get a better one, say in \`FORK.md\` on ${code(originBranch)} what the fork changes, why, and how to test it.`,
  ].join('\n')
}

/** The lists of files of the page as plain text, for a terminal. */
export function ledgerText(review: MergeReview): string {
  const groups = partsOf(review).flatMap(([heading, groups]) =>
    groups.map(([words, items]): [string, string[]] => [
      words.replaceAll('**', '') || `${heading}:`,
      items.map(plainLine),
    ]),
  )
  return [
    ...review.refusals.map(refusal => `Refused: ${refusal}`),
    ...groups.flatMap(([words, lines]) => {
      const more = lines.length > 50 ? [`  and ${many(lines.length - 50, 'other file')}`] : []
      return lines.length > 0 ? [words, ...lines.slice(0, 50), ...more] : []
    }),
  ].join('\n')
}

function plainLine({ path, note, to }: Item): string {
  return `  ${visiblePath(path)}${note ? `: ${note}` : ''}${to === undefined ? '' : ` ${visiblePath(to)}`}`
}

const SECTION = new RegExp(`${BEGIN}(?:(?!${BEGIN})[\\s\\S])*?${END}`, 'g')

/**
 * Replaces Forklift's section in the body of a pull request and leaves everything else as a person wrote it. A section
 * that makes the body larger than `format` allows is shortened to a sentence, or else left out.
 */
export function mergeBody(existing: string, ours: string, format = USUAL_FORMAT): string {
  // Several sections become one. A marker without its counterpart is removed.
  const [before = '', ...after] = existing.split(SECTION).map(text => text.replaceAll(BEGIN, '').replaceAll(END, ''))
  const brief = `${BEGIN}\nForklift's page does not fit beside what is written here: see the newest commit.\n${END}`
  const bodies = [ours, brief].map(section =>
    after.length > 0 ? before + section + after.join('') : [before.trimEnd(), section].filter(Boolean).join('\n\n'),
  )
  return bodies.find(body => body.length <= format.maxBodyChars) ?? existing
}

/** At most this many lines of the agent's message are quoted in the commit message. */
const MAX_QUOTED_LINES = 60
/** The columns at which quoted lines are wrapped. */
const QUOTED_WIDTH = 70

/** The message of the published commit: the agent's text, quoted without mentions and links; and Forklift's trailer. */
export function commitMessage(review: MergeReview, story: Story): string {
  // Neutralise mentions and links before wrapping: the character inserted after each # or @ makes lines longer.
  const words = story.words?.trim() ? reflow(harmless(story.words.slice(0, MAX_WORDS_CHARS)), QUOTED_WIDTH) : []
  const left = words.length - MAX_QUOTED_LINES
  const shown = left > 0 ? [...words.slice(0, MAX_QUOTED_LINES), `(${many(left, 'more line')})`] : words
  // The text is made harmless again after wrapping, which may have joined parts into a mention or link.
  const quoted = shown.map(line => harmless(`> ${line}`).trimEnd()).join('\n')
  const said = quoted && `${story.byHand === undefined ? SAID.byAgent : SAID.byHand}:\n\n${quoted}`
  const subject = subjectOf(review, story)
  return [
    story.isUpdate ? subject.replace('Merge', 'Update the merge of') : subject,
    said,
    `Forklift-Upstream: ${review.commits.upstream}\n`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** The line above the quoted text in a commit message. */
const SAID = { byAgent: 'The agent says', byHand: 'Its commits say' }

/** The quoted text in a message of {@link commitMessage}, and whether it is a person's. */
export function wordsIn(message: string): { words: string | undefined; isByHand: boolean } {
  const [, said, quoted] = new RegExp(`^(${SAID.byAgent}|${SAID.byHand}):\\n\\n((?:>.*\\n?)+)`, 'm').exec(message) ?? []
  return { words: quoted?.replace(/^> ?/gm, ''), isByHand: said === SAID.byHand }
}

/** Whether a pull request still has the title of {@link page}; a different one was set by a person. */
export const isOurTitle = (title: string): boolean => /^Merge .+ \([\d,]+ commits?\)$/.test(title)

const subjectOf = ({ upstreamCommits }: MergeReview, { upstreamBranch }: Story): string =>
  `Merge ${harmless(short(visible(upstreamBranch), 60))} (${many(upstreamCommits.count, 'commit')})`

const duration = (seconds: number): string =>
  seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`
const html = (text: string): string => text.replace(/[&<>"']/g, char => `&#${char.charCodeAt(0)};`)
const webAddress = (text: string | undefined): string | undefined => /^https?:\/\/[\w.:/~%+-]+$/.exec(text ?? '')?.[0]
/** Escapes a sentence that may contain untrusted names. */
const escapeMarkdown = (text: string): string => harmless(visible(text)).replace(/[\\`*_~<>|&#$]/g, '\\$&')
const ticksAround = (text: string, least: number): string =>
  '`'.repeat(Math.max(least, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))

/** Quotes untrusted text in a line as code, in which no host finds mentions, references, links or HTML. */
function code(text: string): string {
  const shown = short(visible(text), 200) || ' '
  const ticks = ticksAround(shown, 1)
  return [ticks, shown, ticks].join(/^[` ]|[` ]$/.test(shown) ? ' ' : '')
}

/** Quotes untrusted text as a code block, shortened by whole lines. */
function fence(language: string, text: string, length: number): string {
  const lines = visibleLines(text.trimEnd()).split('\n')
  const kept: string[] = []
  for (let left = length; kept.length < lines.length; ) {
    const line = short(lines[kept.length] ?? '', 400)
    left -= line.length + 1
    if (left < 0) break
    kept.push(line)
  }
  const ticks = ticksAround(kept.join('\n'), 3)
  const more = lines.length - kept.length
  return [ticks + language, ...kept, ticks, ...(more > 0 ? [`\n…and ${many(more, 'line')} more`] : [])].join('\n')
}
