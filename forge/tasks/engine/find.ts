/**
 * Where the Temporal server is that runs go through, or the program to start one of our own. In this order: what
 * Temporal's own configuration names, FORGE_TEMPORAL_BIN, `temporal` on PATH, what `make` has put beside these
 * programs, a download that is kept.
 */
import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { ClientConnectConfig } from '@temporalio/envconfig'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { openFolder } from '../../../core/state.ts'
import { firstLine, visible } from '../../../core/text.ts'
import { SERVER_VERSION } from './versions.ts'

type Environment = Record<string, string | undefined>

/** A server of the person's: how it is reached, and the namespace that is theirs there. */
export type TheirServer = {
  kind: 'theirs'
  address: string
  namespace: string
  options: Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey' | 'metadata'>
}

/** Where `make demo-tasks` and `make test` install one: what is there need not be downloaded once more. */
const INSTALLED = join(import.meta.dir, '../../../.tools/temporal/temporal')

/** The program of a server that we start, and how it was found. */
export type Program = { kind: 'ours'; path: string; how: string }

/**
 * @param installed where `make` would have put one
 * @throws Failure where Temporal's configuration can't be read, where FORGE_TEMPORAL_BIN is no program, or where there
 *   is no server at all and none can be downloaded.
 */
export async function findServer(
  env: Environment,
  say: (line: string) => void,
  installed = INSTALLED,
): Promise<TheirServer | Program> {
  return (await findConfigured(env)) ?? (await findProgram(env, installed)) ?? (await download(env, say))
}

/** The same without a download; undefined where there is none. */
export async function lookForServer(
  env: Environment,
  installed = INSTALLED,
): Promise<TheirServer | Program | undefined> {
  return (await findConfigured(env)) ?? (await findProgram(env, installed)) ?? (await findDownload(env))
}

/** What TEMPORAL_ADDRESS, TEMPORAL_PROFILE or temporal.toml name. */
export async function findConfigured(env: Environment): Promise<TheirServer | undefined> {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig')
  const given = Object.entries(env).flatMap(([name, value]) => (value ? [[name, value]] : []))
  let config: ClientConnectConfig
  try {
    config = loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(given) })
  } catch (error) {
    const reason = visible(firstLine((error as Error).message))
    throw new Failure(
      `Temporal's configuration can't be used (${reason}): check TEMPORAL_PROFILE, temporal.toml and the TEMPORAL_ variables.`,
    )
  }
  const { address, tls, apiKey, metadata } = config.connectionOptions
  if (!address) return undefined
  const options = { ...(tls !== undefined && { tls }), ...(apiKey && { apiKey }), ...(metadata && { metadata }) }
  return { kind: 'theirs', address, namespace: config.namespace ?? 'default', options }
}

async function findProgram(env: Environment, installed: string): Promise<Program | undefined> {
  const named = env.FORGE_TEMPORAL_BIN
  if (named) {
    if (await isProgram(named)) return { kind: 'ours', path: named, how: 'FORGE_TEMPORAL_BIN' }
    throw new Failure(`FORGE_TEMPORAL_BIN is ${visible(named)}, which is no program: correct it, or take it away.`)
  }
  // A folder that is not named in full would be one of the repository's, which is a stranger's.
  for (const folder of (env.PATH ?? '').split(delimiter).filter(isAbsolute)) {
    const path = join(folder, 'temporal')
    if (await isProgram(path)) return { kind: 'ours', path, how: 'on PATH' }
  }
  return (await isProgram(installed)) ? { kind: 'ours', path: installed, how: 'installed by make' } : undefined
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** What a program of others needs of the environment: nothing else is given to it, keys least of all. */
export const withoutSecrets = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => HARMLESS.test(name)))
const HARMLESS = /^(PATH|HOME|TMPDIR|LANG|LC_\w+|TZ|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|XDG_\w+)$/i

// --- The download

/** How long a download of 45 MB may take. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000

const downloads = (env: Environment): string =>
  join(xdgFolder(env.XDG_CACHE_HOME, '.cache'), 'forge', `temporal-${SERVER_VERSION}`)

async function findDownload(env: Environment): Promise<Program | undefined> {
  const folder = downloads(env)
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    // One that is still being written is named so.
    if (!name.endsWith('.downloading') && (await isProgram(path))) return { kind: 'ours', path, how: 'downloaded' }
  }
  return undefined
}

/** By Temporal's own SDK, which knows where its server is for which machine; in a process that can be ended. */
async function download(env: Environment, say: (line: string) => void): Promise<Program> {
  const there = await findDownload(env)
  if (there) return there
  say(`Downloading Temporal ${SERVER_VERSION} (about 45 MB), once: it keeps the runs going.`)
  const folder = await openFolder(downloads(env))
  const script = env.FORGE_TEMPORAL_DOWNLOAD || join(import.meta.dir, 'download.ts')
  const command = [process.execPath, '--no-env-file', '--config=/dev/null', '--no-install', script, folder]
  const child = Bun.spawn(command, {
    cwd: '/',
    env: withoutSecrets(env),
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: DOWNLOAD_TIMEOUT_MS,
  })
  const words = await child.stderr.text()
  await child.exited
  const found = await findDownload(env)
  if (found) return found
  const reason = firstLine(words) || (child.signalCode ? 'it took more than ten minutes' : 'it left nothing')
  throw new Failure(`There is no Temporal server, and none could be downloaded (${visible(reason)}). ${REMEDY}`)
}

const REMEDY = `Install one and run this again: brew install temporal; or unpack a release of github.com/temporalio/cli and put \`temporal\` on PATH (or in FORGE_TEMPORAL_BIN); or go install github.com/temporalio/cli/cmd/temporal@v1.5.1. A server that you have is used with TEMPORAL_ADDRESS.`
