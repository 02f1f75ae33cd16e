/**
 * Runs `git maintenance --auto` after objects were written, as `git commit` does: git tidies up in the background, only
 * where there are many loose objects, and as the user has configured it (gc.auto, maintenance.auto).
 *
 * A second of typing on the desk, or a step of a task, leaves a few unreachable objects, and no other git command may
 * run in the repository for days. The forge itself never deletes objects: another program may be about to use one,
 * which is why git keeps unreachable objects for two weeks.
 */
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { packRefs } from './refs.ts'
import type { Repository } from './repository.ts'
import { read, run } from './run.ts'

/** Milliseconds from the last commit to the maintenance, so that the page is updated before. */
const MAINTENANCE_DELAY_MS = 2_000

export class Maintenance {
  #timer: ReturnType<typeof setTimeout> | undefined
  #running: Promise<void> | undefined

  constructor(readonly repository: Repository) {}

  /** Schedules maintenance in the background, once for several commits in a row. */
  afterCommit(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#begin(), MAINTENANCE_DELAY_MS)
  }

  /**
   * Packs the loose objects of some revisions (arguments of `git rev-list`), and the refs, in the background, before
   * git's own maintenance. History below a `^` revision is not read, so a large repository takes no longer.
   */
  pack(revisions: () => Promise<readonly string[]>): void {
    this.#enqueue(async () => this.#pack(await revisions()))
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#enqueue(() => this.#run())
  }

  /** Runs one task at a time. A failed task is not repeated: the next commit schedules maintenance again. */
  #enqueue(work: () => Promise<void>): void {
    const running = (this.#running ?? Promise.resolve()).then(work).catch(() => undefined)
    this.#running = running
    void running.finally(() => {
      if (this.#running === running) this.#running = undefined
    })
  }

  /** Starts scheduled maintenance now and waits for it. What git does in the background continues. */
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
    await packRefs(repository)
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
