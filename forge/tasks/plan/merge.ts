/** The plan of a merge in parts: a task for each group of files in conflict, made without a planner. */
import { many } from '../../../core/text.ts'
import type { Plan } from './schema.ts'

/** At most this many files are in a task: about as many as one model keeps in sight. */
const MAX_FILES = 8
const CHECK_SECONDS = 60

/**
 * Gives the plan. `files`: those with conflict markers at the run's base, at least one. Their names are taken as globs, so
 * they must have no pattern in them.
 */
export function planOfMerge(title: string, files: readonly string[]): Plan {
  const groups = groupsOf(files)
  return {
    title,
    summary: `${title}: ${many(files.length, 'file')} with git's conflict markers, resolved in ${many(groups.length, 'part')}. Each part keeps what both sides meant.`,
    contract: groups.map((group, at) => ({
      id: `A${at + 1}`,
      says: `No conflict markers are left in part ${at + 1} (${many(group.length, 'file')}).`,
      how: { kind: 'command', command: markersCheck(group), seconds: CHECK_SECONDS },
    })),
    tasks: groups.map((group, at) => ({
      id: `part-${at + 1}`,
      title: `Resolve part ${at + 1} of ${groups.length}`,
      objective: {
        behaviour:
          'These files have conflict markers of git, from a merge. Replace each conflict, from its <<<<<<< to its ' +
          '>>>>>>>, by text that keeps what both sides meant. Change nothing outside of the conflicts, unless the ' +
          `resolution needs it in the same file.\n\n${group.join('\n')}`,
        outputs: group,
        acceptance: ['No conflict markers are left.', "Both sides' changes are there, or one includes the other."],
      },
      claims: [`A${at + 1}`],
      boundaries: { write: group, never: [] },
      context: { files: group, tests: [], documents: [] },
      validation: {
        checks: [],
        reviews: ['Does each resolved conflict keep what both sides of the merge meant?'],
      },
      depends_on: [],
      tier: 'generation',
      recursion: 0,
      size: 'small',
    })),
  }
}

/** Files of one folder stay together, as do neighbouring folders while there is room. */
function groupsOf(files: readonly string[]): string[][] {
  const folders = [...Map.groupBy([...files].sort(), path => path.slice(0, path.lastIndexOf('/') + 1)).values()]
  const groups: string[][] = []
  for (const folder of folders)
    for (let at = 0; at < folder.length; at += MAX_FILES) {
      const part = folder.slice(at, at + MAX_FILES)
      const last = groups.at(-1)
      if (last && last.length + part.length <= MAX_FILES) last.push(...part)
      else groups.push(part)
    }
  return groups
}

const markersCheck = (group: readonly string[]): string =>
  `! grep -nE '^(<<<<<<<|>>>>>>>) ' ${group.map(quoted).join(' ')}`

const quoted = (path: string): string => {
  const safe = path.startsWith('-') ? `./${path}` : path
  return /^[\w./+-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}
