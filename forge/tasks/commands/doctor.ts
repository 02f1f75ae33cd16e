/** `forge doctor`: lists what a run needs, what is missing, and how to get it. */
import { join } from 'node:path'
import { IMAGE } from '../../../core/container.ts'
import { EXIT, type ExitCode, Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { openRepository } from '../../../core/git/repository.ts'
import { firstLine, many, visible } from '../../../core/text.ts'
import { readSettings } from '../../ai/settings.ts'
import { SigningKeys } from '../../ai/signing-keys.ts'
import { connectTo } from '../engine/engine.ts'
import { findConfigured, lookForServer } from '../engine/find.ts'
import { addressOf, findRunning, NAMESPACE, openServerPlace } from '../engine/server.ts'
import { isTraced } from '../engine/telemetry.ts'
import { codeVersion } from '../engine/versions.ts'
import { findWorker, openWorkerPlace } from '../engine/workers.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'

const USAGE = 'forge doctor [--json]'

export const HELP = `${USAGE}: says what a run needs, what of it is there, and what to do about the rest.

It starts nothing and sends nothing. Exit code 1 where something is missing that a run can't do without.

  --json   as JSON, one object for each: name, state (good, missing, or optional: a run can do without it), words`

/** One result. `isGood`: undefined for something optional that is missing. */
type Finding = { name: string; isGood: boolean | undefined; words: string }
type Context = Pick<CommandContext, 'cwd' | 'env'>

export async function runCommand(argv: string[], { cwd, env, out }: CommandContext): Promise<ExitCode> {
  const { json } = parse(argv, { options: { json: { type: 'boolean' } }, usage: USAGE, words: [0, 0] }).values
  const findings = await Promise.all(CHECKS.map(([name, check]) => find(name, () => check({ cwd, env }))))
  const width = Math.max(...findings.map(({ name }) => name.length))
  for (const { name, isGood, words } of findings)
    out(
      json
        ? JSON.stringify({ name, state: stateOf(isGood), words })
        : `${sign(isGood)} ${name.padEnd(width)}  ${words}`,
    )
  return findings.some(({ isGood }) => isGood === false) ? EXIT.error : EXIT.done
}

const sign = (isGood: boolean | undefined): string => (isGood === undefined ? '-' : isGood ? '✓' : '✗')

const stateOf = (isGood: boolean | undefined): string =>
  isGood === undefined ? 'optional' : isGood ? 'good' : 'missing'

async function find(name: string, check: () => Promise<Omit<Finding, 'name'>>): Promise<Finding> {
  try {
    return { name, ...(await check()) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { name, isGood: false, words: error.message }
  }
}

const good = (words: string) => ({ isGood: true, words })
const missing = (words: string) => ({ isGood: false, words })
const optional = (words: string) => ({ isGood: undefined, words })

const CHECKS: [name: string, check: (context: Context) => Promise<Omit<Finding, 'name'>>][] = [
  ['git', checkGit],
  ['repository', checkRepository],
  ['Temporal', checkTemporal],
  ['worker', checkWorker],
  ['models', checkModels],
  ['containers', checkContainers],
  ['signing', checkSigning],
  ['traces', checkTraces],
]

async function checkGit() {
  const words = await output(['git', '--version'])
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(words ?? '') ?? []).map(Number)
  if (words === undefined) return missing('not there: install git 2.38 or newer')
  return major * 1000 + minor < 2038
    ? missing(`${major}.${minor} is too old: install git 2.38 or newer`)
    : good(`${major}.${minor}`)
}

async function checkRepository({ cwd }: Context) {
  const { commonDir, isShallow } = await openRepository(cwd)
  return isShallow
    ? missing(`${visible(commonDir)} has only a part of its history: git fetch --unshallow`)
    : good(visible(commonDir))
}

async function checkTemporal({ env }: Context) {
  const theirs = await findConfigured(env)
  const running = theirs ? undefined : await findRunning(await openServerPlace(env))
  const server =
    theirs ?? (running && { address: addressOf(running), namespace: NAMESPACE, options: { tls: false }, running })
  if (server) {
    const warnings: string[] = []
    const connection = await connectTo(server, ({ words }) => warnings.push(words))
    await connection.close()
    const whose = running ? `ours, version ${running.version}, process ${running.process.pid}` : 'yours'
    const where = `answers at ${visible(server.address)}, namespace ${visible(server.namespace)} (${whose})`
    return good([`${where}${warnings.length > 0 ? '.' : ''}`, ...warnings].join(' '))
  }
  const program = await lookForServer(env)
  if (program?.kind === 'ours')
    return good(`not running; the next run starts ${visible(program.path)} (${program.how})`)
  return optional('no server is there yet: the next run downloads one (45 MB); or put temporal on PATH')
}

async function checkWorker({ cwd, env }: Context) {
  const repository = await openRepository(cwd).catch(() => undefined)
  if (!repository) return optional('no repository here')
  const worker = await findWorker(await openWorkerPlace(repository, env))
  if (!worker) return optional('none runs: the next run starts one')
  const isOld = worker.version !== (await codeVersion())
  return good(`process ${worker.process.pid}${isOld ? ', of an older version: the next run replaces it' : ''}`)
}

async function checkModels({ env }: Context) {
  const settings = await readSettings(env)
  const lacking = settings.missing()
  if (lacking) return missing(lacking)
  return good(visible(settings.models.join(', ')))
}

async function checkContainers() {
  const version = await output(['docker', 'version', '--format', '{{.Server.Version}}'])
  if (!version) return missing('no Docker Engine answers: install one, or start it; checks run in containers')
  const image = await output(['docker', 'image', 'inspect', '--format', '{{.Id}}', IMAGE])
  return image
    ? good(`Docker ${visible(version)}, with ${IMAGE}`)
    : missing(`Docker ${visible(version)}, without ${IMAGE}: make image in the folder of Forge`)
}

async function checkSigning({ env }: Context) {
  if (!Bun.which('ssh-keygen'))
    return missing('no ssh-keygen, by which approvals and results are signed: install OpenSSH')
  const keys = new SigningKeys(join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge'))
  const [name, { length }] = await Promise.all([keys.ownName(), keys.trusted()])
  if (name === undefined) return optional('no key yet: the first approval makes one')
  const copied = await keys.copied()
  const others = length > 0 ? `, and ${many(length, 'trusted key')} of other machines` : ''
  return good(`${name}${others}${copied === undefined ? '' : `. ${copied}`}`)
}

async function checkTraces({ env }: Context) {
  return isTraced(env)
    ? good('sent, as the OTEL_ variables say')
    : optional('not sent: no OTEL_EXPORTER_OTLP_ENDPOINT is set')
}

/** The first line of a program's output; undefined where it is missing, fails or takes too long. */
async function output(command: [string, ...string[]]): Promise<string | undefined> {
  try {
    const child = Bun.spawn(command, { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'], timeout: 10_000 })
    const words = await child.stdout.text()
    return (await child.exited) === 0 ? firstLine(words) : undefined
  } catch {
    return undefined
  }
}
