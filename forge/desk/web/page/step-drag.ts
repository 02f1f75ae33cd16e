/**
 * The drag of a commit or branch onto a branch: the outcome at each visible branch, and a preview for the one under the
 * pointer. Only outcomes that are visible are computed.
 */
import { computed, signal } from '@preact/signals'
import type { BranchStep, Outlook, Preview, Source } from '../../contract/steps.ts'
import type { Change } from '../../contract/values.ts'
import type { Connection } from '../ui/socket.ts'

/**
 * At most this many targets are asked for in one request. The nearest come first, in small requests, since each target
 * takes long in a long history.
 */
const OUTLOOKS_AT_ONCE = 24
/** At most this many targets are asked for in the first request. */
const FIRST_OUTLOOKS = 8

/** The default step of a drop on a branch: a merge of a branch or tag, a cherry-pick of a commit or of several. */
export type DropStep = (onto: string) => BranchStep

export interface Dragged {
  source: Source
  x: number
  y: number
  /** Whether the drag is by touch: the finger then hides what is below it. */
  isTouch: boolean
}

/** A branch, or a branch of a remote, with what a drop on it would do. */
export interface DropTarget {
  ref: string
  name: string
  step: BranchStep
  /** What the drop offers, in words. */
  offer: string
  drop: () => void
}

export interface Previewed {
  preview: Preview
  changes: Change[] | undefined
}

/** The parts of the page that a drag uses. */
interface Desk {
  readonly connection: Connection
  complain: (error: unknown, about?: { topic: string }) => void
  solved: (topic: string) => void
}

export class StepDrag {
  readonly dragged = signal<Dragged | undefined>(undefined)
  /** Whether something is dragged. */
  readonly isOn = computed(() => this.dragged.value !== undefined)
  /** The target under the pointer. */
  readonly over = signal<DropTarget | undefined>(undefined)
  /** The outcome of dropping the dragged source on each branch. */
  readonly outlooks = signal<ReadonlyMap<string, Outlook>>(new Map())
  readonly previewed = signal<Previewed | undefined>(undefined)
  readonly #page: Desk
  #asked = new Set<string>()
  #source: Source | undefined
  #stepOnto: DropStep | undefined

  constructor(page: Desk) {
    this.#page = page
  }

  /** Starts a drag. Outcomes of another source are dropped. */
  begin(source: Source, stepOnto: DropStep): void {
    this.#source = source
    this.#stepOnto = stepOnto
    this.#asked = new Set()
    this.outlooks.value = new Map()
    this.previewed.value = undefined
    this.over.value = undefined
  }

  end(): void {
    this.#source = undefined
    this.dragged.value = undefined
    this.over.value = undefined
    this.previewed.value = undefined
    this.outlooks.value = new Map()
  }

  /** Loads the outcomes of dropping the dragged source on these branches, except those requested before. */
  async lookAt(branches: readonly string[]): Promise<void> {
    const [source, stepOnto] = [this.#source, this.#stepOnto]
    if (!source || !stepOnto) return
    const targets = branches.filter(branch => !this.#asked.has(branch) && branch !== source.branch)
    for (const branch of targets) this.#asked.add(branch)
    const steps = targets.map(branch => ({ branch, step: stepOnto(branch) }))
    for (let from = 0; from < steps.length; ) {
      const some = steps.slice(from, from + (from === 0 ? FIRST_OUTLOOKS : OUTLOOKS_AT_ONCE))
      from += some.length
      try {
        const answers = await this.#page.connection.ask('outlooks', { steps: some.map(({ step }) => step) })
        if (this.#source !== source) return
        const all = new Map(this.outlooks.peek())
        for (const [at, { branch }] of some.entries()) {
          const outlook = answers[at]
          if (outlook) all.set(branch, outlook)
        }
        this.outlooks.value = all
        this.#page.solved('outlooks')
      } catch (error) {
        if (this.#source === source) this.#page.complain(error, { topic: 'outlooks' })
        return
      }
    }
  }

  /** Sets the target under the pointer; undefined for none. */
  async point(target: DropTarget | undefined): Promise<void> {
    if (target?.ref === this.over.peek()?.ref) return
    this.over.value = target
    this.previewed.value = undefined
    if (!target) return
    const isStale = () => this.over.peek() !== target
    try {
      const preview = await this.#page.connection.ask('preview', { step: target.step })
      if (isStale()) return
      this.previewed.value = { preview, changes: undefined }
      const changes = await changesOfPreview(this.#page, preview)
      if (!isStale()) this.previewed.value = { preview, changes }
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error)
      if (!isStale()) this.previewed.value = { preview: { ...NOTHING, is: 'impossible', words }, changes: [] }
    }
  }
}

const NOTHING = { conflicts: 0, commits: 0, conflictsIn: [], warnings: [] }

/** The files that a step would change; empty if it changes none, or its result is unknown. */
export async function changesOfPreview(page: Pick<Desk, 'connection'>, { before, result }: Preview): Promise<Change[]> {
  if (before === undefined || result === undefined) return []
  return await page.connection.ask('changes', {
    from: { kind: 'commit', commit: before },
    to: { kind: 'commit', commit: result },
  })
}
