/** What a run is at, from its plan to its end. */
import type { Oid, Reference, RunState } from '../../contract.ts'

/** How a run has ended. `result` is the commit that has all results, `report` what the contract's checks say. */
export type Ending = { state: Extract<RunState, 'done' | 'stopped'>; words: string; result?: Oid; report?: Reference }

export class Phase {
  #doing: 'planning' | 'works' | 'finishes'
  #ending: Ending | undefined

  constructor(doing: 'planning' | 'works') {
    this.#doing = doing
  }

  get doing(): 'planning' | 'works' | 'finishes' {
    return this.#doing
  }

  /** Undefined while it is under way. */
  get ending(): Ending | undefined {
    return this.#ending
  }

  /** The tasks of a plan are done. */
  works(): void {
    this.#doing = 'works'
  }

  /** Their results are brought together. */
  finishes(): void {
    this.#doing = 'finishes'
  }

  end(ending: Ending): void {
    this.#ending = ending
  }
}
