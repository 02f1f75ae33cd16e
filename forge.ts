#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Forge opens the desk: branches as tabs in the browser, with files from git's objects, where saving is a commit.
 * main() lists the steps; their functions follow in the same order. With a verb it runs a command of the tasks, which
 * is loaded only then. (The flags in the first line ignore the .env and bunfig.toml of the current folder, which may be
 * untrusted.)
 */
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { EXIT, type ExitCode, Failure } from './core/failure.ts'
import { xdgFolder } from './core/folders.ts'
import { openRepository, type Repository } from './core/git/repository.ts'
import { GitError, read } from './core/git/run.ts'
import { Claim, openState } from './core/state.ts'
import { visible, visibleLines } from './core/text.ts'
import type { Desk } from './forge/desk/desk.ts'
import { type DeskCommandOptions, parseDeskOptions } from './forge/desk/options.ts'
import { askForTicket, urlOf, urlWith } from './forge/desk/server/address.ts'
import { Pages } from './forge/desk/server/pages.ts'
import { serve, type WindowSocket } from './forge/desk/server/server.ts'
import { type Address, readAddress, repositoryName, writeAddress } from './forge/desk/server/state.ts'
import { isVerb, listCommands, runVerb, whyNoVerb } from './forge/tasks/commands/commands.ts'
import type { CommandContext } from './forge/tasks/commands/context.ts'
import { version } from './package.json'

const HELP = `forge: opens the desk, where branches are tabs in the browser and saving is a commit; and does large
work as tasks.

forge [FOLDER]   the desk of the git repository that FOLDER is in (default: this one)

  --no-open      print the address and open no browser
  --port N       answer at this port instead of the last or a free one
  --version, --help

A repository has one desk: started again, from wherever, it is opened again. Ctrl-C ends it; nothing is lost by that.

Tasks: a large piece of work, planned, done in parallel, validated, and handed over. Each has a --help of its own; a
folder of that name is opened as ./NAME.

${listCommands()}

Exit codes
  0  the desk was open already, and has been opened once more; what a command was asked for is done
  1  something is in the way: no repository, git, the state folder, the port
  2  a run's budget or time was not enough
  4  a run waits for a person
  64 wrong usage
  130, 143 interrupted`

/** The folder of the built page. FORGE_PAGE names another one, for work on the page. */
const PAGE = process.env.FORGE_PAGE || join(import.meta.dir, '.tools/desk')
/** The flags with which the first lines of Forklift and Forge start them. */
const BUN_FLAGS = ['--no-env-file', '--config=/dev/null', '--no-install']
const FORKLIFT = [process.execPath, ...BUN_FLAGS, join(import.meta.dir, 'forklift.ts')]
const FORGE = [process.execPath, ...BUN_FLAGS, import.meta.path]
/** Milliseconds that another starting process may take to become a desk, and between two checks whether it has. */
const [OTHER_START_MS, RETRY_MS] = [10_000, 25]

/** Gives the last line to print on success. Throws in all other cases. */
async function main(options: DeskCommandOptions, signal: AbortSignal): Promise<string> {
  const repository = await findRepository(options, signal)
  const state = await openState(repository, process.env)
  using claim = Claim.take(join(state, 'lock'))
  if (!claim) return await openTheOneThatIsThere(repository, state, options)
  await using desk = await openDesk(repository, state)
  const server = await startServer(repository, desk, state, options)
  say(`The desk of ${visible(repositoryName(repository).name)}: ${urlOf(server.key)}`)
  if (options.open) openInBrowser(urlWith(server.key, server.ticket()))
  await interruption(signal)
  await server.stop()
  throw signal.reason
}

// --- The repository --------------------------------------------------------------------------------------------------

async function findRepository({ folder }: DeskCommandOptions, signal: AbortSignal): Promise<Repository> {
  const path = resolve(folder)
  // git gets no signal here: when the signal comes, the desk still has to write unsaved text by git.
  const repository = openRepository(path).catch(error => inTheWay(path, error))
  const git = verifyGitIsNewEnough()
  await Promise.allSettled([repository, git])
  signal.throwIfAborted()
  await git
  return await repository
}

function inTheWay(path: string, error: unknown): never {
  const { code, message } = error as NodeJS.ErrnoException
  if (message.startsWith('There is no git repository'))
    throw new Failure(`${message.replace(/\.$/, '')}: forge FOLDER opens one elsewhere, git init makes one here.`)
  if (code === 'EACCES' || code === 'EPERM' || code === 'ENOTDIR')
    throw new Failure(`${visible(path)} can't be looked into (${code}): check that it is a folder, and its owner.`)
  throw error
}

async function verifyGitIsNewEnough(): Promise<void> {
  const words = await read({ cwd: '/' }, ['--version']).catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT' ? new Failure('Forge needs git 2.38 or newer: install it.') : error
  })
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(words) ?? []).map(Number)
  if (major * 1000 + minor < 2038) throw new Failure(`Forge needs git 2.38 or newer, and this is ${major}.${minor}.`)
}

// --- A desk that is open already -------------------------------------------------------------------------------------

/** Another process has claimed the repository: waits for its desk and opens that. */
async function openTheOneThatIsThere(
  repository: Repository,
  state: string,
  options: DeskCommandOptions,
): Promise<string> {
  const { name } = repositoryName(repository)
  const { address, ticket } = await lookForTheOther(state)
  if (!address || ticket === undefined) {
    const where = address?.host ?? hostname()
    throw new Failure(
      `The desk of ${visible(name)} is open on ${where} and does not answer: end it there, and try again.`,
    )
  }
  if (options.open) openInBrowser(urlWith(address, ticket))
  return `The desk of ${visible(name)}: ${urlOf(address)} (it was open already)`
}

async function lookForTheOther(state: string): Promise<{ address: Address | undefined; ticket: string | undefined }> {
  for (const end = Date.now() + OTHER_START_MS; ; await Bun.sleep(RETRY_MS)) {
    // A killed desk leaves its address behind until the next one writes its own.
    const address = await readAddress(state)
    const ticket = address && (await askForTicket(address))
    const isElsewhere = address !== undefined && address.host !== hostname()
    if (ticket !== undefined || isElsewhere || Date.now() > end) return { address, ticket }
  }
}

// --- The desk --------------------------------------------------------------------------------------------------------

async function openDesk(repository: Repository, state: string): Promise<Desk> {
  // The modules are loaded here, since the commands of the tasks need none of them.
  const [{ Desk }, { SetModels }] = await Promise.all([
    import('./forge/desk/desk.ts'),
    import('./forge/desk/chat/models.ts'),
  ])
  return await Desk.open(repository, {
    state,
    config: join(xdgFolder(process.env.XDG_CONFIG_HOME, '.config'), 'forge'),
    models: new SetModels(process.env),
    forklift: { command: FORKLIFT, env: process.env },
    tasks: { command: FORGE, env: process.env },
    log: say,
  })
}

async function startServer(repository: Repository, desk: Desk, state: string, { port }: DeskCommandOptions) {
  const [last, pages] = await Promise.all([readAddress(state), Pages.open(PAGE)])
  const served = {
    pages,
    name: visible(repositoryName(repository).name),
    image: (oid: string) => desk.image(oid),
    enter: (line: WindowSocket) => desk.enter(line),
    theme: () => desk.theme,
    beginning: () => desk.beginning(),
  }
  // The port and key are those of the last time, so that windows that are still open reconnect.
  const server = serve(served, { port, last })
  const address = { ...server.key, host: hostname() }
  if (!isDeepStrictEqual(address, last)) await writeAddress(state, address)
  return server
}

/** Opens a URL in the browser. Does not wait, and ignores errors, since the address is printed, too. */
function openInBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open'
  try {
    Bun.spawn([program, url], { stdio: ['ignore', 'ignore', 'ignore'], detached: true }).unref()
  } catch {
    say('No browser could be opened: open the address by hand.')
  }
}

// --- Ends ------------------------------------------------------------------------------------------------------------

const say = (words: string): void => console.log(visible(words))

const interruption = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** Converts an error to a message and an exit code. */
function inWords(error: unknown): Failure {
  if (error instanceof Failure) return error
  // An error while the desk is closing is reported instead of the reason for closing it.
  if (error instanceof SuppressedError) return inWords(error.error)
  if (error instanceof GitError) return new Failure(`Git failed: ${error.message}.`)
  const { code, path, message } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return new Failure('The disk is full: free some space and try again.')
  if (code && path) return new Failure(`${path} can't be used (${code}): check its owner and its disk.`)
  return new Failure(`${message}: this was not expected, please report it.`)
}

/** Runs a command of the tasks, or the desk. */
async function run(argv: string[], signal: AbortSignal): Promise<ExitCode | undefined> {
  const [verb, ...rest] = argv
  if (isVerb(verb)) return await runVerb(verb, rest, contextWith(signal))
  const unknown = await whyNoVerb(verb, process.cwd())
  if (unknown !== undefined) throw new Failure(unknown, EXIT.usage)
  const options = parseDeskOptions(argv)
  if (options.help) console.log(HELP)
  else if (options.version) console.log(version)
  else say(await main(options, signal))
  return undefined
}

const contextWith = (signal: AbortSignal): CommandContext => ({
  cwd: process.cwd(),
  env: process.env,
  signal,
  out: words => console.log(visibleLines(words)),
  // console.error of Bun would colour the text.
  err: words => void process.stderr.write(`${visibleLines(words)}\n`),
  draw: text => process.stdout.write(text),
  input: process.stdin,
  isTerminal: Boolean(process.stdin.isTTY && process.stdout.isTTY),
})

/** Runs the command and sets the exit code. A second signal exits at once. */
async function runToTheLastLine(argv: string[]): Promise<void> {
  const control = new AbortController()
  const words = isVerb(argv[0]) ? 'Ended.' : 'The desk is closed. What was not saved is kept as drafts.'
  const endWith = (code: ExitCode) => () => {
    if (control.signal.aborted) process.exit(code)
    control.abort(new Failure(words, code))
  }
  process.on('SIGINT', endWith(EXIT.interrupted))
  process.on('SIGTERM', endWith(EXIT.terminated))
  process.on('SIGHUP', endWith(EXIT.terminated))
  try {
    process.exitCode = (await run(argv, control.signal)) ?? EXIT.done
  } catch (error) {
    const failure = inWords(error)
    process.stderr.write(`${visible(failure.message)}\n`)
    process.exitCode = failure.code
  }
}

// The reader of the output (head, a pager) may close it early.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
await runToTheLastLine(process.argv.slice(2))
process.stdout.write('', () => process.exit())
