/** The plan of a merge in parts: a task for each group of files in conflict, made without a planner. */
import { many } from '../../../core/text.ts'
import type { MergeDescription, MergePart } from '../runs/merging.ts'
import type { Check, Plan } from './schema.ts'

const CHECK_SECONDS = 60

/** Gives the plan. The names of the files are taken as globs, so they must have no pattern in them. */
export function planOfMerge(title: string, { parts, left }: Pick<MergeDescription, 'parts' | 'left'>): Plan {
  const files = parts.reduce((sum, part) => sum + filesOf(part).length, 0)
  const yours =
    left.length > 0 ? ` ${many(left.length, 'conflict')} can't be resolved so, and will be left for you.` : ''
  return {
    title,
    summary: `${title}: ${many(files, 'file')} in conflict, resolved in ${many(parts.length, 'part')}. Each part keeps what both sides meant.${yours}`,
    contract: parts.map((part, at) => ({
      id: `A${at + 1}`,
      says:
        part.texts.length > 0 ? saysOfTexts(part, at) : `In part ${at + 1}, each conflict has the side that is right.`,
      how:
        part.texts.length > 0
          ? { kind: 'command', ...(checksOf(part)[0] as Check) }
          : { kind: 'review', question: 'Is the right side taken for each conflict without markers?' },
    })),
    tasks: parts.map((part, at) => ({
      id: part.task,
      title: `Resolve part ${at + 1} of ${parts.length}`,
      objective: {
        behaviour: behaviourOf(part),
        outputs: [],
        acceptance: ['No conflict is left.', "Both sides' changes are there, or one includes the other."],
      },
      claims: [`A${at + 1}`],
      boundaries: { write: filesOf(part), never: [] },
      context: { files: part.texts, tests: [], documents: [] },
      validation: {
        checks: checksOf(part).slice(1),
        reviews: ['Does each resolved conflict keep what both sides of the merge meant?'],
      },
      depends_on: [],
      tier: 'generation',
      recursion: 0,
      size: 'small',
    })),
  }
}

const filesOf = ({ texts, choices }: MergePart): string[] => [...texts, ...choices.flatMap(({ paths }) => paths)]

const saysOfTexts = ({ texts }: MergePart, at: number): string =>
  `No conflict markers are left in part ${at + 1} (${many(texts.length, 'file')}).`

function behaviourOf({ texts, choices }: MergePart): string {
  const marked =
    'These files have conflict markers of git, from a merge. Replace each conflict, from its <<<<<<< to its >>>>>>>, ' +
    'by text that keeps what both sides meant. Change nothing outside of the conflicts, unless the resolution needs ' +
    `it in the same file.\n\n${texts.join('\n')}`
  const unmarked = `For these conflicts, which have no markers, choose what is right:\n\n${choices
    .map(({ id, kind, paths }) => `${id} (${kind}): ${paths.join(', ')}`)
    .join('\n')}`
  const words = [texts.length > 0 && marked, choices.length > 0 && unmarked].filter(Boolean).join('\n\n')
  return words.length <= MAX_BEHAVIOUR ? words : `${words.slice(0, MAX_BEHAVIOUR).toWellFormed()} …`
}

/** A plan's schema allows 8000 characters. */
const MAX_BEHAVIOUR = 7900

/** At most this many characters of names are in a command: a plan's schema allows 2000 of all. */
const MAX_NAMES = 1800

/** The commands that look for conflict markers: one, or several where the names are long. */
function checksOf({ texts }: MergePart): Check[] {
  const lists: string[] = []
  for (const name of texts.map(quoted)) {
    const last = lists.at(-1)
    if (last !== undefined && last.length + name.length < MAX_NAMES) lists[lists.length - 1] = `${last} ${name}`
    else lists.push(name)
  }
  return lists.map(names => ({ command: `! grep -nE '^(<<<<<<<|>>>>>>>) ' ${names}`, seconds: CHECK_SECONDS }))
}

const quoted = (path: string): string => {
  const safe = path.startsWith('-') ? `./${path}` : path
  return /^[\w./+-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}
