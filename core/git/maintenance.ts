/**
 * Lets git tidy up its objects after others have written some, as it does by itself after `git commit`: only where it
 * finds that there are many, in the background, and as the user has configured it (gc.auto, maintenance.auto).
 *
 * A second of typing on the desk, or a step of a task, leaves a handful of objects that nobody needs any more, and no
 * other git may run here for days. None of them is deleted by the forge itself: whether another program has begun to
 * need one can't be known, and git waits two weeks for that reason.
 */
import { access } from 'node:fs/promises'
import type { Repository } from './repository.ts'
import { read, run } from './run.ts'

/** Milliseconds after the last commit: what the person sees of it comes first. */
const AFTER = 2_000

export class Maintenance {
  #timer: ReturnType<typeof setTimeout> | undefined
  #running: Promise<void> | undefined

  constructor(readonly repository: Repository) {}

  /** Nobody waits for it; several commits after each other are one reason to look. */
  afterCommit(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#begin(), AFTER)
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#run()
      .catch(() => undefined)
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Lets git look now if it is to, and waits for that. What it then does goes on by itself. */
  async settled(): Promise<void> {
    if (this.#timer !== undefined) this.#begin()
    await this.#running
  }

  async #run(): Promise<void> {
    const { repository } = this
    const wanted = await read(repository, ['config', '--type=bool', '--get', 'maintenance.auto'], { ok: [0, 1] })
    if (wanted === 'false') return
    // Such a hook may say that it is no good moment. It is not asked, since hooks may be anybody's code: so it is none.
    const hook = ['rev-parse', '--path-format=absolute', '--git-path', 'hooks/pre-auto-gc']
    const path = await read(repository, hook)
    const hasHook = await access(path).then(
      () => true,
      () => false,
    )
    if (hasHook) return
    await run(repository, ['-c', 'core.hooksPath=/dev/null', 'maintenance', 'run', '--auto', '--quiet'], { ok: 'any' })
  }
}
