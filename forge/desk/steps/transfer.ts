/**
 * Git that speaks to a remote: with its own progress and words, ended when the person wants it, and never asking. The
 * user's own configuration, credential helpers and ssh agent are at work; hooks of the repository are not.
 */
import { Failure } from '../../../core/failure.ts'
import { TRANSFERS } from '../../../core/git/bounds.ts'
import type { Variables } from '../../../core/git/environment.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { type GitAnswer, GitError, read, run } from '../../../core/git/run.ts'
import { short, visible, visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { withoutSecret } from '../reading/remote-url.ts'
import type { Remotes } from './remotes.ts'

/** No hook runs, and no program that an address names. */
const SAFE = ['-c', 'core.hooksPath=/dev/null', '-c', 'protocol.ext.allow=never']

/** Characters of a line of progress, and of a quoted line; milliseconds from one progress to the next. */
const [MAX_PROGRESS_CHARS, MAX_QUOTE_CHARS, PROGRESS_INTERVAL_MS] = [200, 400, 100]
/** How many lines of a server's output are passed on. */
const MAX_SERVER_LINES = 5

/** What is thrown where the person has stopped it. */
export class Stopped extends Failure {}

/** Of all fetches, pulls and pushes of a desk one is under way at a time. */
export class Transfers {
  #current: { control: AbortController; ended: Promise<unknown> } | undefined

  constructor(readonly room: BranchServices) {}

  /**
   * Does something with remotes; `what` is how a person calls it. Throws {@link Stopped} where it was stopped, and a
   * {@link Failure} where another one is under way.
   */
  async begin<Result>(what: string, task: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    if (this.#current) throw new Failure('A fetch, pull or push is under way already: wait for it, or stop it.')
    const control = new AbortController()
    this.room.say({ say: 'progress', words: `${what}…` })
    const ended = task(control.signal)
    this.#current = { control, ended }
    try {
      return await ended
    } finally {
      this.#current = undefined
      this.room.say({ say: 'progress' })
      this.room.say({ say: 'repository' })
    }
  }

  /** Ends what is under way, if anything is. */
  stop(): void {
    this.#current?.control.abort(new Stopped('It was stopped: nothing of this repository was moved.'))
  }

  /** Ends what is under way, and waits for that. */
  async end(): Promise<void> {
    this.stop()
    await this.#current?.ended.catch(() => undefined)
  }

  /**
   * Runs a fetch or push of one remote. Gives what git said, with the lines of the server. Throws a {@link GitError}
   * with an exit code that is not among `ok`, and the signal's reason.
   */
  async run(
    args: readonly string[],
    { remotes, signal, ok = [0] }: { remotes: Remotes; signal: AbortSignal; ok?: readonly number[] },
  ): Promise<GitAnswer & { remote: string[] }> {
    const { repository } = this.room.objects
    const words = new Words(remotes, text => this.room.say({ say: 'progress', words: text }))
    const own = repository.signal
    const where = { ...repository, signal: own ? AbortSignal.any([own, signal]) : signal }
    const env = await unattendedSsh(repository)
    const onWords = (text: string) => words.take(text)
    try {
      const answer = await run(where, [...SAFE, ...args], { ok, env, bounds: TRANSFERS, onWords })
      return { ...answer, remote: words.remote }
    } finally {
      words.end()
    }
  }
}

/** Git's words as they come: lines end by a carriage return where the next one takes their place. */
class Words {
  readonly remote: string[] = []
  #rest = ''
  #newest = ''
  #last = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    readonly remotes: Remotes,
    readonly say: (words: string) => void,
  ) {}

  take(text: string): void {
    const lines = (this.#rest + text).split(/[\r\n]/)
    // A very long line is not progress.
    this.#rest = (lines.pop() ?? '').slice(-65_536)
    for (const line of lines) {
      const said = line.trim()
      if (saysServer(said) && this.remote.length < MAX_SERVER_LINES) this.remote.push(shown(this.remotes, said))
      if (said !== '') this.#newest = said
    }
    // The last one of many is what stays to be read.
    if (this.#newest === '' || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#tell(), Math.max(0, this.#last + PROGRESS_INTERVAL_MS - Date.now()))
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#timer !== undefined) this.#tell()
  }

  #tell(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#last = Date.now()
    this.say(shown(this.remotes, this.#newest, MAX_PROGRESS_CHARS))
    this.#newest = ''
  }
}

/** What a server says beside its own counts. */
const saysServer = (line: string): boolean =>
  /^remote: *\S/.test(line) && !/^remote: (Enumerating|Counting|Compressing|Total|Finding|Resolving)\b/.test(line)

/** Words of git's or a server's for a person: on one line, bounded, and without what is secret. */
export function shown({ secrets }: Remotes, text: string, most = MAX_QUOTE_CHARS): string {
  const without = secrets.reduce((words, secret) => words.replaceAll(secret, '…'), text)
  const plain = without.replace(/[a-z][a-z0-9+.-]*:\/\/[^\s'"<>]+/gi, url => withoutSecret(url))
  return short(visible(plain.trim()), most)
}

/** Has ssh ask nothing, where it is ssh that is called. */
async function unattendedSsh(repository: Repository): Promise<Variables> {
  const env: Variables = { ...process.env, ...repository.env }
  const own = env.GIT_SSH_COMMAND || (await read(repository, ['config', '--get', 'core.sshCommand'], { ok: [0, 1] }))
  if (!own && env.GIT_SSH) return {}
  const command = own || 'ssh'
  return /^(\S*\/)?ssh(\s|$)/.test(command) ? { GIT_SSH_COMMAND: `${command} -o BatchMode=yes` } : {}
}

const UNREACHABLE =
  /could not resolve|failed to connect|couldn't connect|could not connect|connection (refused|reset|timed out|closed)|network is unreachable|no route to host|operation timed out|operation too slow|timed out|empty reply/i
const UNKNOWN =
  /authentication failed|could not read (username|password)|terminal prompts disabled|permission denied|access denied|invalid (username|credentials)|returned error: 40[13]/i
const MISSING = /not found|does not appear to be a git repository|does not exist|returned error: 404/i
const FORBIDDEN = /transport '[^']*' not allowed/i

/** Lines without a reason: those of the server, counts, and git's line after the error of ssh. */
const NOT_WHY = /^remote: |: +\d+% \(|^fatal: could not read from remote repository/i

/** Why a git that speaks to a remote failed, in a sentence. What is no failure of git's comes back as it is. */
export function whyFailed(error: unknown, remotes: Remotes, remote: string): unknown {
  if (!(error instanceof GitError)) return error
  const name = visiblePath(remote)
  const { stderr, ending } = error
  if (ending.bound) return new Failure(`${name} took longer than an hour, or said too much: it was ended.`)
  const lines = stderr.split(/[\r\n]/).map(line => line.trim())
  const told = lines.filter(line => line !== '' && !NOT_WHY.test(line))
  const fatal = told.find(line => /^(fatal|error|ssh): /.test(line)) ?? told[0] ?? ''
  const quoted = shown(remotes, fatal.replace(/^(fatal|error): /, '')) || `git ended with ${error.code ?? 'a signal'}`
  const server = lines.filter(saysServer).slice(0, MAX_SERVER_LINES)
  const said = server.length > 0 ? `; ${shown(remotes, server.join(' '))}` : ''
  return new Failure(sentenceFor(stderr, name, `${quoted}${said}`))
}

function sentenceFor(stderr: string, name: string, why: string): string {
  if (FORBIDDEN.test(stderr)) return `Git may not use the address of ${name} (${why}): give it another one.`
  if (/host key verification failed/i.test(stderr))
    return `The host of ${name} is not known to ssh here (${why}): connect to it once in a terminal, and try again.`
  // An unreachable server has an error of its own; a refusal comes first.
  if (UNKNOWN.test(stderr))
    return `${name} doesn't let git in (${why}): sign in once with git in a terminal, and try again.`
  if (UNREACHABLE.test(stderr)) return `${name} can't be reached (${why}): check the network, and try again.`
  if (MISSING.test(stderr)) return `There is no repository where ${name} points to (${why}): check its address.`
  return `Git failed with ${name}: ${why}.`
}
