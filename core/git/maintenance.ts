/**
 * Lets git tidy up its objects after others have written some, as it does by itself after `git commit`: only where it
 * finds that there are many, in the background, and as the user has configured it (gc.auto, maintenance.auto).
 *
 * A second of typing on the desk, or a step of a task, leaves a few unreachable objects, and no other git may run here
 * for days. The forge itself deletes none of them: another program may have begun to use one, which is why git waits
 * two weeks.
 */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Repository } from './repository.ts'
import { read, run } from './run.ts'

/** Milliseconds after the last commit: what the person sees of it comes first. */
const MAINTENANCE_DELAY_MS = 2_000

export class Maintenance {
  #timer: ReturnType<typeof setTimeout> | undefined
  #running: Promise<void> | undefined

  constructor(readonly repository: Repository) {}

  /** Looks in the background, once after several commits in a row. */
  afterCommit(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#begin(), MAINTENANCE_DELAY_MS)
  }

  /**
   * Packs the loose objects that some revisions have, each as `git rev-list` takes it, before git looks by itself. Of
   * the history below a `^` revision nothing is read, so it takes no longer in a large repository. Runs in
   * the background.
   */
  pack(revisions: () => Promise<readonly string[]>): void {
    this.#enqueue(async () => this.#pack(await revisions()))
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#enqueue(() => this.#run())
  }

  /** One after the other; what fails is tried again with the next reason to look. */
  #enqueue(work: () => Promise<void>): void {
    const running = (this.#running ?? Promise.resolve()).then(work).catch(() => undefined)
    this.#running = running
    void running.finally(() => {
      if (this.#running === running) this.#running = undefined
    })
  }

  /** Lets git look now if it is to, and waits for that. What it then does goes on by itself. */
  async settled(): Promise<void> {
    if (this.#timer !== undefined) this.#begin()
    await this.#running
  }

  async #pack(revisions: readonly string[]): Promise<void> {
    const { repository } = this
    if (!(await this.#isWanted())) return
    const pack = ['pack-objects', '--quiet', '--revs', '--unpacked', '--non-empty', '--delta-base-offset']
    const input = revisions.map(revision => `${revision}\n`).join('')
    await run(repository, [...pack, join(repository.objects, 'pack/pack')], { input })
    await run(repository, ['prune-packed', '--quiet'])
  }

  async #isWanted(): Promise<boolean> {
    const wanted = await read(this.repository, ['config', '--type=bool', '--get', 'maintenance.auto'], { ok: [0, 1] })
    return wanted !== 'false'
  }

  async #run(): Promise<void> {
    const { repository } = this
    if (!(await this.#isWanted())) return
    // A pre-auto-gc hook may veto. Hooks are untrusted code and are not run, so its presence counts as a veto.
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
