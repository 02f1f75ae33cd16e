/** The panes beside the graph and the editor: which are shown and how wide they are. Kept with the layout. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { Layout } from '../../contract/desk.ts'

type Panes = NonNullable<Layout['panes']>
export type PaneName = keyof Panes
/** The panes of the repository view. */
export type GraphPaneName = Extract<PaneName, 'refs' | 'commit'>
type Pane = NonNullable<Panes[PaneName]>

/** The bounds of a pane's width, in pixels. */
export const PANE_BOUNDS = {
  refs: { min: 140, max: 480 },
  commit: { min: 220, max: 900 },
  side: { min: 140, max: 600 },
  split: { min: 200, max: 2000 },
} as const

/** In a narrower window the refs are shown only on request. */
const HAS_ROOM = '(min-width: 1181px)'
/** In such a window there is room for one pane beside the graph. */
const IS_NARROW = '(max-width: 720px)'

export class GraphPanes {
  /** The panes as the user set them; a pane not set has the default width. */
  readonly chosen = signal<Panes>({})
  /** The commit pane takes most of the width; the list shows only subjects. */
  readonly isCommitLarge = signal(false)
  readonly #hasRoom = matching(HAS_ROOM)
  readonly #isNarrow = matching(IS_NARROW)
  readonly areRefsShown = computed(() => this.chosen.value.refs?.isShown ?? this.#hasRoom.value)
  /** In a narrow window, the branches and tags take the commit's place. */
  readonly isCommitShown = computed(() => {
    const isCovered = this.#isNarrow.value && this.areRefsShown.value
    return this.isCommitLarge.value || (!isCovered && (this.chosen.value.commit?.isShown ?? true))
  })
  /** Whether the column beside the editor is shown. */
  readonly isSideShown = computed(() => this.chosen.value.side?.isShown ?? true)

  /** The width the user set, in pixels. */
  widthOf(name: PaneName): number | undefined {
    return this.chosen.value[name]?.width
  }

  resize(name: PaneName, width: number | undefined): void {
    const { width: _, ...rest } = this.chosen.peek()[name] ?? {}
    this.#choose(name, width === undefined ? rest : { ...rest, width })
  }

  toggle(name: Exclude<PaneName, 'split'>): void {
    if (name === 'commit' && this.#isNarrow.peek() && this.areRefsShown.peek()) {
      this.toggle('refs')
      if (this.isCommitShown.peek()) return
    }
    const isShown = { refs: this.areRefsShown, commit: this.isCommitShown, side: this.isSideShown }[name].peek()
    const usual = name === 'refs' ? this.#hasRoom.peek() : true
    const { isShown: _, ...rest } = this.chosen.peek()[name] ?? {}
    if (name === 'commit') this.isCommitLarge.value = false
    this.#choose(name, !isShown === usual ? rest : { ...rest, isShown: !isShown })
  }

  showCommit(): void {
    if (!this.isCommitShown.peek()) this.toggle('commit')
  }

  #choose(name: PaneName, pane: Pane): void {
    this.chosen.value = { ...this.chosen.peek(), [name]: pane }
  }
}

/** Whether the window matches a media query. */
function matching(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query)
  const matches = signal(list.matches)
  list.addEventListener('change', event => {
    matches.value = event.matches
  })
  return matches
}
