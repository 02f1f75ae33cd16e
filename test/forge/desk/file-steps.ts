/**
 * A sequence of edits, new files, renames, moves, deletions and saves, and what each leads to. The process that does
 * them and the test that kills it compute the same sequence from the same seed.
 */
import { isDeepStrictEqual as isDeepEqual } from 'node:util'
import { pathAfter } from '../../../forge/desk/contract/paths.ts'
import { gitWith, tryGit } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'

export type FileStep =
  | { kind: 'new' | 'delete'; path: string }
  | { kind: 'move'; from: string; to: string }
  | { kind: 'type'; path: string; text: string }
  | { kind: 'save'; paths: 'all' | string[] }

/** The texts of a branch's files by their paths: with its drafts, and in its last commit. */
export interface Files {
  shown: Record<string, string>
  saved: Record<string, string>
  /** The path in the last commit of each shown file that is there. */
  origins: Record<string, string>
}

/** Files in four folders. */
export const FIRST_FILES: Record<string, string> = Object.fromEntries(
  [0, 1, 2, 3].flatMap(folder => [1, 2, 3, 4, 5].map(file => [`dir${folder}/f${file}.txt`, `${folder} ${file}\n`])),
)

export const FIRST: Files = {
  shown: FIRST_FILES,
  saved: FIRST_FILES,
  origins: Object.fromEntries(Object.keys(FIRST_FILES).map(path => [path, path])),
}

/** The step with this number, from 1, after those before it led to `files`. New names are never used twice. */
export function stepAt(number: number, { shown, origins }: Files): FileStep {
  const random = randomFrom(number)
  const paths = Object.keys(shown).sort()
  const path = random.pick(paths)
  const folder = path.slice(0, path.indexOf('/'))
  const kind = random.below(10)
  if (kind === 0 || paths.length < 10) return { kind: 'new', path: `${folder}/new${number}.txt` }
  if (kind === 1) return { kind: 'move', from: folder, to: `moved${number}` }
  if (kind === 2) return { kind: 'move', from: path, to: `${folder}/renamed${number}.txt` }
  if (kind === 3) return { kind: 'delete', path }
  if (kind === 4) return { kind: 'save', paths: 'all' }
  if (kind === 5 && origins[path] !== path) return { kind: 'save', paths: [path] }
  return { kind: 'type', path, text: `${number}\n` }
}

/** What a step leads to. */
export function after(files: Files, step: FileStep): Files {
  const [shown, saved, origins] = [{ ...files.shown }, { ...files.saved }, { ...files.origins }]
  switch (step.kind) {
    case 'new':
      shown[step.path] = ''
      break
    case 'delete':
      delete shown[step.path]
      delete origins[step.path]
      break
    case 'type':
      shown[step.path] += step.text
      break
    case 'move':
      return { saved, shown: movedKeys(shown, step), origins: movedKeys(origins, step) }
    case 'save':
      if (step.paths === 'all') {
        const same = Object.fromEntries(Object.keys(shown).map(path => [path, path]))
        return { shown, saved: { ...shown }, origins: same }
      }
      for (const path of step.paths) {
        const origin = origins[path]
        if (origin !== undefined) delete saved[origin]
        saved[path] = shown[path] ?? ''
        origins[path] = path
      }
      break
  }
  return { shown, saved, origins }
}

const movedKeys = (record: Record<string, string>, moved: { from: string; to: string }): Record<string, string> =>
  Object.fromEntries(Object.entries(record).map(([path, value]) => [pathAfter(moved, path) ?? path, value]))

/** The files of main in a repository: with its drafts, and in its last commit; without those committed from outside. */
export async function filesOf(path: string): Promise<Pick<Files, 'shown' | 'saved'>> {
  const drafts = 'refs/forge/drafts/main'
  const hasDrafts = (await tryGit(path, ['rev-parse', '-q', '--verify', drafts])).code === 0
  return { shown: await textsIn(path, hasDrafts ? drafts : 'main'), saved: await textsIn(path, 'main') }
}

/** The texts of a commit's files by their paths, without those that were committed from outside. */
async function textsIn(path: string, commit: string): Promise<Record<string, string>> {
  const paths = (await gitWith(path, ['ls-tree', '-r', '--name-only', commit])).split('\n').filter(Boolean)
  const texts = await Promise.all(
    paths
      .filter(file => !file.startsWith('outside'))
      .map(async file => [file, (await tryGit(path, ['show', `${commit}:${file}`])).stdout] as const),
  )
  return Object.fromEntries(texts)
}

/** The number of the last step from `from` to `to` that leads to these files; undefined if none does. */
export function stepThatLedTo(files: Pick<Files, 'shown' | 'saved'>, from: number, to: number): number | undefined {
  const found = statesUntil(to).findLastIndex(state => isDeepEqual(state, files))
  return found < from ? undefined : found
}

/** What is shown and saved before the first step, and after each one until this number. */
function statesUntil(last: number): Pick<Files, 'shown' | 'saved'>[] {
  let files = FIRST
  const states = [{ shown: files.shown, saved: files.saved }]
  for (let number = 1; number <= last; number++) {
    files = after(files, stepAt(number, files))
    states.push({ shown: files.shown, saved: files.saved })
  }
  return states
}

/** The kind of the step with this number. */
export function kindOf(number: number): FileStep['kind'] {
  let files = FIRST
  for (let before = 1; before < number; before++) files = after(files, stepAt(before, files))
  return stepAt(number, files).kind
}
