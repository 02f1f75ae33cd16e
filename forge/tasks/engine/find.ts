/**
 * Finds the Temporal server for runs, or the program to start our own. In this order: Temporal's own configuration,
 * FORGE_TEMPORAL_BIN, `temporal` on PATH, the one that `make` installs, a cached download.
 */
import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import type { DataConverter } from '@temporalio/common'
import type { ClientConnectConfig } from '@temporalio/envconfig'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { openFolder } from '../../../core/state.ts'
import { firstLine, visible } from '../../../core/text.ts'
import { SERVER_VERSION } from './versions.ts'

type Environment = Record<string, string | undefined>

/** A server of the user's: its address, and the namespace to use there. */
export type TheirServer = {
  kind: 'theirs'
  address: string
  namespace: string
  options: Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey' | 'metadata'>
  /** Encrypts what the server stores, where the user has switched that on. */
  converter?: DataConverter
}

/** Where `make demo-tasks` and `make test` install the program, so that it is not downloaded twice. */
const INSTALLED = join(import.meta.dir, '../../../.tools/temporal/temporal')

/** The program for our own server. `how`: how it was found. */
export type Program = { kind: 'ours'; path: string; how: string }

/**
 * Finds the server or its program, downloading it if needed. @param installed the path where `make` installs it @throws
 * Failure where Temporal's configuration can't be read, FORGE_TEMPORAL_BIN is no program, or none is found and
 * downloading fails.
 */
export async function findServer(
  env: Environment,
  say: (line: string) => void,
  installed = INSTALLED,
): Promise<TheirServer | Program> {
  return (await findConfigured(env)) ?? (await findProgram(env, installed)) ?? (await download(env, say))
}

/** As {@link findServer} without a download; undefined where there is none. */
export async function lookForServer(
  env: Environment,
  installed = INSTALLED,
): Promise<TheirServer | Program | undefined> {
  return (await findConfigured(env)) ?? (await findProgram(env, installed)) ?? (await findDownload(env))
}

/** The server in TEMPORAL_ADDRESS, TEMPORAL_PROFILE or temporal.toml; undefined where none is configured. */
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
  // Relative folders are skipped: they would be in the repository, which is untrusted.
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

/** The part of the environment that other programs need: no keys. */
export const withoutSecrets = (env: Environment): Environment =>
  Object.fromEntries(Object.entries(env).filter(([name]) => HARMLESS.test(name)))
const HARMLESS = /^(PATH|HOME|TMPDIR|LANG|LC_\w+|TZ|(HTTPS?|NO|ALL)_PROXY|SSL_CERT_(FILE|DIR)|XDG_\w+)$/i

// --- The download

/** Milliseconds for a download of 45 MB. */
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000

const downloads = (env: Environment): string =>
  join(xdgFolder(env.XDG_CACHE_HOME, '.cache'), 'forge', `temporal-${SERVER_VERSION}`)

async function findDownload(env: Environment): Promise<Program | undefined> {
  const folder = downloads(env)
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name)
    // A file still being downloaded has that ending.
    if (!name.endsWith('.downloading') && (await isProgram(path))) return { kind: 'ours', path, how: 'downloaded' }
  }
  return undefined
}

/** Downloads with Temporal's SDK, which knows the right file for the machine, in a process that can be ended. */
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
