/** The flows that a flow has started: their ids, and how all of them are held and let go on. */
import {
  type ChildWorkflowHandle,
  condition,
  defineSignal,
  setHandler,
  startChild,
  type Workflow,
  workflowInfo,
} from '@temporalio/workflow'

/**
 * Begins nothing new, and ends what is under way, until it hears `false`. Two signals may arrive in the other order:
 * the one with the higher number is the later one.
 */
export const hold = defineSignal<[isHeld: boolean, number: number]>('hold')

/** The id of the run's own workflow, as seen by one whose id is that and a slash and `own`. */
export function idOfRun(own: string): string {
  const { workflowId } = workflowInfo()
  const suffix = `/${own}`
  return workflowId.endsWith(suffix) ? workflowId.slice(0, -suffix.length) : workflowId
}

/** The children of a step, a fan-out or a task. Who is held tells it on to them. */
export class Children {
  #isHeld: boolean
  /** The number of the last word that was heard, and of the last one that was told on. */
  #heard = 0
  #told = 0
  readonly #running = new Set<ChildWorkflowHandle<Workflow>>()

  constructor(isHeld = false) {
    this.#isHeld = isHeld
    setHandler(hold, (isHeld, number) => {
      if (number < this.#heard) return
      this.#heard = number
      this.#isHeld = isHeld
      for (const child of this.#running) this.#tell(child)
    })
  }

  /** Starts a flow by its name and waits for its end. */
  async run<Flow extends Workflow>(name: string, workflowId: string, input: Parameters<Flow>[0]) {
    const child = await startChild<Workflow>(name, { workflowId, args: [input] })
    this.#running.add(child)
    if (this.#isHeld) this.#tell(child)
    try {
      const end: Awaited<ReturnType<Flow>> = await child.result()
      return end
    } finally {
      this.#running.delete(child)
    }
  }

  /** Waits until it is not held. A person decides that: there is no clock. */
  async mayGoOn(): Promise<void> {
    await condition(() => !this.#isHeld)
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  #tell(child: ChildWorkflowHandle<Workflow>): void {
    // One that has ended meanwhile needs not hear it.
    child.signal(hold, this.#isHeld, ++this.#told).catch(() => undefined)
  }
}
