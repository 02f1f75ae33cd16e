/** The texts that a person is writing in a branch or a commit: the browser keeps them by place until they are used. */
import type { At } from '../../contract/values.ts'
import { moveText } from './kept.ts'
import { placeOf } from './open-files.ts'

/** The kinds of texts. A key in the browser's storage is one of these and the place. */
const KINDS = ['comment in', 'message to', 'commit message in', 'message of a merge in'] as const

export const textKey = (kind: (typeof KINDS)[number], place: string): string => `${kind} ${place}`

/** A branch or a commit of the repository in a folder, as a key: desks of several may have had the same address. */
export const placeIn = (folder: string | undefined, at: At): string => `${folder} ${placeOf(at)}`

/**
 * Moves the texts of a place to another one, such as the new name of a branch. Each window does this. A text of the
 * new place is replaced only if the old place has one of the same kind.
 */
export function moveTexts(from: string, to: string): void {
  for (const kind of KINDS) moveText(textKey(kind, from), textKey(kind, to))
}

/** The names of the branches of a repository for which the browser keeps texts. */
export function branchesWithTexts(folder: string): string[] {
  const before = placeIn(folder, { kind: 'branch', branch: '' })
  const names = KINDS.flatMap(kind => {
    const start = textKey(kind, before)
    return storedKeys().flatMap(key => (key.startsWith(start) ? key.slice(start.length) : []))
  })
  // The name of a branch has no space: with one, it is the rest of another folder.
  return [...new Set(names)].filter(name => !name.includes(' '))
}

/** The keys in the browser's storage for this window and for all; none where it is blocked. */
function storedKeys(): string[] {
  try {
    return [...Object.keys(localStorage), ...Object.keys(sessionStorage)]
  } catch {
    return []
  }
}
