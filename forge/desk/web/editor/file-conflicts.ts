/**
 * The conflicts in the text of an open file. Their markers are in the text as the server has it; the extensions that
 * show them as boxes come from outside once the conflicts are known, since only the server knows of which merge or
 * draft they are.
 *
 * - Markers that have come into the text and are not shown yet are unknown. If they are those of a merge, the text is
 *   held read-only until they are shown or known to be none: typing would break them.
 * - Where conflicts begin or end to be shown, undo ends (see undo-ends.ts).
 * - A wish to go to a conflict waits until the conflicts are shown.
 */
import type { EditorState, Extension, Text } from '@codemirror/state'
import { signal } from '@preact/signals'
import { DRAFT_SIDE } from '../../contract/merging.ts'
import type { FocusWish } from '../ui/focus.ts'
import type { Composition } from './composition.ts'
import {
  type ConflictStart,
  type ConflictsOfFile,
  conflictsOf,
  enterConflictAtCursor,
  moveToConflict,
} from './conflict-editor.ts'
import type { Adjustable } from './editor.ts'
import type { FilePath } from './file-path.ts'
import type { FileViews } from './file-views.ts'
import { withSteadyCursor } from './steady-cursor.ts'
import type { UndoEnds } from './undo-ends.ts'

/** A conflict's first marker, which may be longer. */
const FIRST_MARKER = /^<{7}/
/**
 * The first marker of a conflict that is not one of a draft with its branch: in a draft's conflict, the user may be
 * typing, and what is typed belongs to the draft's side, which is shown soon.
 */
const FIRST_MARKER_OF_STEP = new RegExp(`^<{7}(?!<* ${DRAFT_SIDE}$)`)

const NOTHING_MORE = { key: '', extension: [], merge: '' }

/** The file with the conflicts, and what it does when they change. */
interface ConflictsOwner {
  file: FilePath
  views: Pick<FileViews, 'state' | 'all' | 'here' | 'run' | 'reconfigure'>
  adjustable: Adjustable
  composition: Composition
  undo: UndoEnds
  /** Called when {@link FileConflicts.isHeld} may have changed. */
  onHeld: () => void
  /** Called when the conflicts are shown, or there are none: the text can be typed into, unless it is held. */
  onKnown: () => void
  /** Called after that when other conflicts are shown. */
  onShown: () => void
}

export class FileConflicts {
  /** In a branch with a waiting merge: the file's open and resolved conflicts. */
  readonly found = signal<ConflictsOfFile>({ open: [], settled: [], strays: [], left: 0, all: 0 })
  /** Whether conflict markers have come into the text that are not shown as conflicts yet, nor known to be none. */
  readonly hasUnknownMarkers = signal(false)
  /** Whether some of these markers are those of a merge: the text is read-only, since typing would break them. */
  #isHeld = false
  /** Additional extensions, with the key that identifies them, and that of the merge that they are about. */
  #more: { key: string; extension: Extension; merge: string } = NOTHING_MORE
  #wanted: { by: 1 | -1; wish: FocusWish } | undefined
  readonly #owner: ConflictsOwner

  constructor(owner: ConflictsOwner) {
    this.#owner = owner
  }

  /** Whether the text is to be read-only because of its markers. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Whether conflicts of a merge or of a draft are shown. */
  get areShown(): boolean {
    return this.#more.merge !== ''
  }

  /** The extension of a new editor, in which no conflicts are shown yet. */
  start(): Extension {
    this.#more = NOTHING_MORE
    return this.#owner.adjustable.more.of(this.#more.extension)
  }

  /** Waits for the conflicts of markers that are in the text now, but were not in the text `before`. */
  lookForMarkers(before: Text | undefined): void {
    const { file, views } = this.#owner
    if (file.at.kind === 'commit' || !views.state) return
    const { doc } = views.state
    const hasMarkers = this.#more.key === '' && hasLine(doc, FIRST_MARKER)
    if (hasMarkers && before && hasLine(before, FIRST_MARKER)) return
    this.hasUnknownMarkers.value = hasMarkers
    this.#isHeld = hasMarkers && hasLine(doc, FIRST_MARKER_OF_STEP)
    this.#owner.onHeld()
  }

  /** Called when the markers in the text are known to be no conflicts: they are text like any other. */
  knowMarkers(): void {
    this.hasUnknownMarkers.value = false
    this.#isHeld = false
    this.#owner.onHeld()
    this.#owner.onKnown()
  }

  /**
   * Adds extensions to the editor, such as a merge's conflicts. Does nothing if those of the same key are there.
   * `merge`: a key of the merge or of the drafts' conflict that they are about; empty for none.
   */
  extend(key: string, merge: string, make: () => Extension): void {
    const { views, adjustable, composition, undo } = this.#owner
    if (!views.state || key === this.#more.key) return
    if (composition.isHeldBack('extension', () => this.extend(key, merge, make))) return
    // Undo stops where conflicts began to be shown, and where they ended: markers that it brought back would be text.
    if (merge !== this.#more.merge) undo.endHere()
    const isNew = this.#more.merge === ''
    this.#more = { key, extension: make(), merge }
    // Before the conflicts are drawn: they are drawn as those of a text that can be edited.
    this.lookForMarkers(undefined)
    const { more } = adjustable
    withSteadyCursor(views.all, () => views.reconfigure(more.reconfigure(this.#more.extension)))
    this.#owner.onKnown()
    this.#owner.onShown()
    if (isNew) views.run(enterConflictAtCursor)
    this.goToWanted()
  }

  /** Goes to the next or previous conflict. Returns false if there is none in that direction. */
  goTo(by: 1 | -1, start: ConflictStart): boolean {
    const view = this.#owner.views.here
    return view !== undefined && moveToConflict(view, by, start)
  }

  /**
   * Goes to the first (1) or last (-1) conflict and focuses it, as soon as the editor shows conflicts, while the wish
   * for the focus is open.
   */
  enter(by: 1 | -1, wish: FocusWish): void {
    this.#wanted = undefined
    if (!wish.isOpen) return
    if (this.goTo(by, 'edge')) wish.end()
    else this.#wanted = { by, wish }
  }

  /** Goes to the conflict that was wanted before the conflicts were shown. */
  goToWanted(): void {
    const wanted = this.#wanted
    // In the next frame, since the opening editor takes the focus itself.
    if (wanted) requestAnimationFrame(() => this.enter(wanted.by, wanted.wish))
  }

  /** Tells the conflicts in a state of the text. */
  say(state: EditorState): void {
    this.found.value = conflictsOf(state)
  }
}

/** Whether a line of a text matches a pattern. */
function hasLine(text: Text, pattern: RegExp): boolean {
  for (const line of text.iterLines()) if (pattern.test(line)) return true
  return false
}
