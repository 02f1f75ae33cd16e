/**
 * Runs git with remotes: reports its progress, can be stopped, and never prompts. The user's configuration, credential
 * helpers and ssh agent apply; the repository's hooks do not.
 */
import { Failure } from '../../../core/failure.ts'
import { TRANSFERS } from '../../../core/git/bounds.ts'
import type { Variables } from '../../../core/git/environment.ts'
import type { Repository } from '../../../core/git/repository.ts'
import { type GitAnswer, GitError, read, run } from '../../../core/git/run.ts'
import { whyGitFailed } from '../../../core/git/troubles.ts'
import { short, visible, visiblePath } from '../../../core/text.ts'
import type { BranchServices } from '../branches/branch-work.ts'
import { withoutSecret } from '../reading/remote-url.ts'
import type { Remotes } from './remotes.ts'

/** Settings with which git runs no hook, and no program that a remote's address names. */
const SAFE = ['-c', 'core.hooksPath=/dev/null', '-c', 'protocol.ext.allow=never']

/**
 * The most characters that are shown of a line of progress, and of a quoted line; the milliseconds between two messages
 * of progress.
 */
const [MAX_PROGRESS_CHARS, MAX_QUOTE_CHARS, PROGRESS_INTERVAL_MS] = [200, 400, 100]
/** At most this many lines of a server's output are shown. */
const MAX_SERVER_LINES = 5

/** The fetches, pulls and pushes of a desk, of which one runs at a time. */
export class Transfers {
  #current: Promise<unknown> | undefined

  constructor(readonly room: BranchServices) {}

  /**
   * Runs a task with remotes; `what`: its name in messages. Throws a {@link Failure} if another task with remotes is
   * running.
   */
  async begin<Result>(what: string, task: () => Promise<Result>): Promise<Result> {
    if (this.#current) throw new Failure('A fetch, pull or push is under way already: wait for it, or stop it.')
    this.room.say({ say: 'progress', words: `${what}…` })
    const ended = task()
    this.#current = ended
    try {
      return await ended
    } finally {
      this.#current = undefined
      this.room.say({ say: 'progress' })
      this.room.say({ say: 'repository' })
    }
  }

  /** Waits for the end of the running task, if any. */
  async ended(): Promise<void> {
    await this.#current?.catch(() => undefined)
  }

  /**
   * Runs a fetch or push of one remote. Returns git's output, with the server's lines. Throws a {@link GitError} for an
   * exit code that is not in `ok`, and the signal's reason.
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

/** Reports git's output as it arrives: a line that ends with a carriage return is replaced by the next. */
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
    // Keeps only the end of a very long line.
    this.#rest = (lines.pop() ?? '').slice(-65_536)
    for (const line of lines) {
      const said = line.trim()
      if (saysServer(said) && this.remote.length < MAX_SERVER_LINES) this.remote.push(shown(this.remotes, said))
      if (said !== '') this.#newest = said
    }
    // Of several lines only the last is reported.
    if (this.#newest === '' || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#tell(), Math.max(0, this.#last + PROGRESS_INTERVAL_MS - Date.now()))
  }

  /** Reports the last line of progress at once, if it was held back. */
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

/** Whether a line is a message of the server rather than its progress. */
const saysServer = (line: string): boolean =>
  /^remote: *\S/.test(line) && !/^remote: (Enumerating|Counting|Compressing|Total|Finding|Resolving)\b/.test(line)

/** Makes output of git or a server safe to show: on one line, shortened, and without secrets. */
export function shown({ secrets }: Remotes, text: string, most = MAX_QUOTE_CHARS): string {
  const without = secrets.reduce((words, secret) => words.replaceAll(secret, '…'), text)
  const plain = without.replace(/[a-z][a-z0-9+.-]*:\/\/[^\s'"<>]+/gi, url => withoutSecret(url))
  return short(visible(plain.trim()), most)
}

/** The environment that stops ssh from prompting, if git uses ssh. */
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

/** Lines that do not say why git failed: the server's, progress, and git's own line after an error of ssh. */
const NOT_WHY = /^remote: |: +\d+% \(|^fatal: could not read from remote repository/i

/** Why git failed with a remote, as a sentence. Other errors are returned as they are. */
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
  // Checked first: a file of this repository that can't be written is no matter of the remote's.
  const local = whyGitFailed(error)
  if (local !== undefined) return new Failure(`Git failed with ${name}: ${local}.`)
  return new Failure(sentenceFor(stderr, name, `${quoted}${said}`))
}

function sentenceFor(stderr: string, name: string, why: string): string {
  if (FORBIDDEN.test(stderr)) return `Git may not use the address of ${name} (${why}): give it another one.`
  if (/host key verification failed/i.test(stderr))
    return `The host of ${name} is not known to ssh here (${why}): connect to it once in a terminal, and try again.`
  // Checked before UNREACHABLE: a server that refuses access was reached.
  if (UNKNOWN.test(stderr))
    return `${name} doesn't let git in (${why}): sign in once with git in a terminal, and try again.`
  if (UNREACHABLE.test(stderr)) return `${name} can't be reached (${why}): check the network, and try again.`
  if (MISSING.test(stderr)) return `There is no repository where ${name} points to (${why}): check its address.`
  return `Git failed with ${name}: ${why}.`
}
