/**
 * The hub: a git remote that the machines of a fleet share, named by `git config forge.hub NAME`. Any bare repository
 * will do; nothing of Forge runs there. This file runs git's transfers, and turns their failures into sentences.
 */
import { Failure } from '../../../core/failure.ts'
import type { RefName } from '../../../core/git/refs.ts'
import { asText, fields, type Oid, type Repository } from '../../../core/git/repository.ts'
import { GitError, run } from '../../../core/git/run.ts'
import { firstLine, visible } from '../../../core/text.ts'

/** The hub does not answer or refuses; the message says so as a sentence. Worth another try. */
export class HubTrouble extends Error {}

/** A ref to push. `expected`: the commit at which the hub must have it, undefined where it must not exist there. */
export type Pushed = { ref: RefName; to: Oid | undefined; expected: Oid | undefined }

/** Milliseconds for one transfer; git itself ends one that stands still for a minute. */
const TRANSFER_TIMEOUT_MS = 10 * 60_000
/** Milliseconds for a question to the hub. */
const LOOK_TIMEOUT_MS = 60_000

/** Options for git: no hooks of the repository, no housekeeping. */
const QUIET = ['-c', 'core.hooksPath=/dev/null', '-c', 'gc.auto=0', '-c', 'maintenance.auto=false']

/** Git's words for a push that another machine was faster with. */
const LOST_RACE =
  /\((?:stale info|fetch first|non-fast-forward|failed to update ref|incorrect old value provided|reference already exists|cannot lock ref[^)]*|failed to lock|atomic transaction failed|transaction failed)\)|remote ref updated since checkout/

/** Git's words for a fetch whose ref another fetch or push has moved here meanwhile. */
const MOVED_HERE = /cannot lock ref '.+': is at [0-9a-f]+ but expected/
/** How often a fetch is tried whose ref is moved meanwhile. */
const TRIES = 10

/** A remote of a repository, and its address. */
type Remote = { name: string; url: string }

/** The hub that the user has configured; undefined where there is none. @throws Failure where it is no remote. */
export async function findHub(repository: Repository): Promise<Remote | undefined> {
  const keys = ['config', '-z', '--get-regexp', '^(forge\\.hub|remote\\..*\\.url)$']
  const { stdout } = await run(repository, keys, { ok: [0, 1] })
  const entries = fields(stdout).map(entry => {
    const at = entry.indexOf('\n')
    return at < 0 ? ([entry, ''] as const) : ([entry.slice(0, at), asText(entry.slice(at + 1))] as const)
  })
  const name = entries.findLast(([key]) => key === 'forge.hub')?.[1]
  if (!name) return undefined
  const url = entries.find(([key]) => key === `remote.${name}.url`)?.[1]
  if (url !== undefined && /^[A-Za-z0-9_][\w./-]*$/.test(name)) return { name, url }
  throw new Failure(
    `forge.hub names ${visible(name)}, which is no remote of this repository: git remote add NAME URL, then git config forge.hub NAME.`,
  )
}

/** The hub of one repository, over git's own protocols. */
export class HubRemote {
  constructor(
    readonly repository: Repository,
    readonly name: string,
  ) {}

  /** What is said of this hub to the user. */
  get words(): string {
    return `the hub ${visible(this.name)}`
  }

  /**
   * Fetches refs by git's refspecs. Gives false where the hub does not have one that is named. @throws HubTrouble where
   * the hub does not answer.
   */
  async fetch(specs: readonly string[]): Promise<boolean> {
    const flags = ['--quiet', '--no-tags', '--no-prune', '--no-auto-maintenance', '--no-write-fetch-head']
    const args = [...QUIET, 'fetch', ...flags, '--recurse-submodules=no', this.name, ...specs]
    for (let tries = 1; ; tries++) {
      try {
        await this.#run(args, TRANSFER_TIMEOUT_MS)
        return true
      } catch (error) {
        if (error instanceof GitError && /couldn't find remote ref/.test(error.stderr)) return false
        const isMoved = error instanceof GitError && MOVED_HERE.test(error.stderr)
        if (!isMoved || tries === TRIES) throw this.#inWords(error)
      }
    }
  }

  /** The commit of a ref on the hub; undefined where it has none. @throws HubTrouble where it does not answer. */
  async look(ref: RefName): Promise<Oid | undefined> {
    return (await this.list(ref)).find(({ name }) => name === ref)?.oid
  }

  /** The refs on the hub that match a pattern, as git compares them. @throws HubTrouble where it does not answer. */
  async list(pattern: string): Promise<{ name: RefName; oid: Oid }[]> {
    try {
      const { stdout } = await this.#run([...QUIET, 'ls-remote', '--quiet', this.name, pattern], LOOK_TIMEOUT_MS)
      return stdout
        .toString('latin1')
        .split('\n')
        .filter(Boolean)
        .map(line => line.split('\t'))
        .map(([oid = '', name = '']) => ({ name, oid }))
    } catch (error) {
      throw this.#inWords(error)
    }
  }

  /**
   * Pushes refs, all of them or none. Gives false where another machine has moved one of them meanwhile. @throws
   * HubTrouble where the hub does not answer or refuses.
   */
  async push(refs: readonly Pushed[]): Promise<boolean> {
    const leases = refs.map(({ ref, expected = '' }) => `--force-with-lease=${ref}:${expected}`)
    const specs = refs.map(({ ref, to = '' }) => `${to}:${ref}`)
    const flags = ['--porcelain', '--atomic', '--no-verify', '--no-signed', '--no-follow-tags', ...leases]
    const args = [...QUIET, 'push', ...flags, '--recurse-submodules=no', this.name, ...specs]
    try {
      await this.#run(args, TRANSFER_TIMEOUT_MS)
      return true
    } catch (error) {
      if (error instanceof GitError && LOST_RACE.test(`${error.stdout}\n${error.stderr}`)) return false
      throw this.#inWords(error)
    }
  }

  /** Runs git with a time limit. */
  async #run(args: readonly string[], milliseconds: number) {
    const { signal } = this.repository
    const limit = AbortSignal.timeout(milliseconds)
    const where = { ...this.repository, signal: signal ? AbortSignal.any([signal, limit]) : limit }
    return await run(where, args)
  }

  #inWords(error: unknown): unknown {
    if (error instanceof DOMException && error.name === 'TimeoutError')
      return new HubTrouble(`${capital(this.words)} does not answer.`)
    if (!(error instanceof GitError)) return error
    const refusal = /^!\t.*\[(?:remote )?rejected\] \((.*)\)$/m.exec(error.stdout)?.[1]
    const said = firstLine(error.stderr.replace(/^(?:remote: )?\s*$/gm, '').trimStart()) || error.message
    if (refusal) return new HubTrouble(`${capital(this.words)} refuses what this run writes (${visible(refusal)}).`)
    return new HubTrouble(`${capital(this.words)} can't be used: ${visible(said.replace(/^(fatal|error): /, ''))}`)
  }
}

const capital = (words: string): string => words.replace(/^./, first => first.toUpperCase())
