/**
 * Runs a command on a folder in a locked-down container, by default without network. The chat's commands and the checks
 * of tasks run so. Nothing of it runs on this machine itself, and the files that it leaves are untrusted.
 */
import { randomUUID } from 'node:crypto'
import { CLOSED_LOCK, type ContainerEnd, IMAGE, type Mount, mountFlags, runToItsEnd } from '../../core/container.ts'
import { shellIn } from '../../core/shell.ts'
import { firstLine, visible } from '../../core/text.ts'

/** Bytes of output that are kept, of the beginning and of the end each. */
const OUTPUT = 16 << 10
/** The largest file, in bytes, that a command may write, since it writes to this machine's disk. */
const MAX_WRITTEN_FILE_BYTES = 1 << 30
/** The user id of the image that owns the files where this process runs as root. */
const USER = 1000

/** `command` is run by bash in the top folder. `seconds`: the time limit. */
type ClosedCommand = { command: string; seconds: number; mounts?: Mount[]; hasNetwork?: boolean }

/** How the command ended, and the beginning and end of its output, without colours. */
type ClosedEnd = ContainerEnd & { output: string }

/**
 * Why no container can be run here, as the end of a sentence ("… need docker, which is not installed: …"); undefined
 * where one can.
 */
export async function whyNoContainer(signal: AbortSignal): Promise<string | undefined> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const [info, image] = await Promise.all([
    sh`docker info --format ${'{{json .SecurityOptions}}'}`,
    sh`docker image inspect --format ${'{{.Id}}'} ${IMAGE}`,
  ])
  signal.throwIfAborted()
  if (info.exitCode === 127) return 'docker, which is not installed: install Docker Engine or Docker Desktop.'
  if (info.exitCode !== 0 || !info.stdout.startsWith('['))
    return `docker, and its engine does not answer (${visible(firstLine(info.stderr))}): start it.`
  if (/name=(rootless|userns)/.test(info.stdout))
    return 'a docker engine that does not map user ids (rootless or userns-remap).'
  if (image.exitCode !== 0) return `the image ${IMAGE}: make image.`
  return undefined
}

/** The id of the image that commands run in; undefined where there is no image, or no container engine that answers. */
export async function findImage(signal: AbortSignal): Promise<string | undefined> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const { exitCode, stdout } = await sh`docker image inspect --format ${'{{.Id}}'} ${IMAGE}`
  signal.throwIfAborted()
  return exitCode === 0 ? firstLine(stdout) : undefined
}

/**
 * Variables that docker's client would set in a container by itself, each empty. Their values may contain a password.
 */
export const NO_PROXIES: Readonly<Record<string, string>> = Object.fromEntries(
  ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap(name => [
    [name, ''],
    [name.toLowerCase(), ''],
  ]),
)

/**
 * Runs a command until it ends, its time is over or the signal comes; the container is removed then. The folder is
 * mounted as /workspace and belongs to the container's user from then on. `hasNetwork`: only where the user has allowed
 * that.
 */
export async function runClosed(
  folder: string,
  { command, seconds, mounts = [], hasNetwork = false }: ClosedCommand,
  signal: AbortSignal,
): Promise<ClosedEnd> {
  const [uid, gid] = await giveToContainer(folder)
  const name = `forge-command-${randomUUID()}`
  const env = { HOME: '/tmp', TERM: 'dumb', NO_COLOR: '1', CI: '1', ...NO_PROXIES }
  const flags = [
    ['--pull', 'never', '--name', name, '--label', `forge=${name}`],
    CLOSED_LOCK,
    [
      ...(hasNetwork ? [] : ['--network', 'none']),
      '--user',
      `${uid}:${gid}`,
      '--ulimit',
      'core=0',
      '--ulimit',
      `fsize=${MAX_WRITTEN_FILE_BYTES}`,
    ],
    mountFlags([{ source: folder, target: '/workspace' }, ...mounts]),
    ['--workdir', '/workspace', '--entrypoint', '/bin/bash'],
    Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
  ].flat()
  const sh = shellIn({ cwd: '/' }, { nothrow: true })
  // Only the beginning and end of the output are kept, in memory as well as on disk.
  const client = Promise.withResolvers<string>()
  const start = () => {
    const running = sh`docker run --rm --stop-timeout 1 ${flags} ${IMAGE} -c ${command} 2>&1 | { head -c ${OUTPUT}; tail -c ${OUTPUT}; }`
    running.then(
      ({ stdout }) => client.resolve(stdout),
      error => client.reject(error),
    )
    return running
  }
  const end = await runToItsEnd({ name, seconds, signal, onSecond: () => undefined }, start)
  return { ...end, output: tidyOutput(await client.promise) }
}

/**
 * Gives a folder to the user that commands run as, who may then write there, while this process can still read and
 * remove the files. Gives that user's ids: [uid, gid].
 */
export async function giveToContainer(folder: string): Promise<[number, number]> {
  const [uid, gid] = [process.getuid?.() ?? USER, process.getgid?.() ?? USER]
  if (uid !== 0) return [uid, gid]
  // Files that have the right owner are left alone: a chown would change their inodes' change time, by which the tasks'
  // checks find the files that a command has changed.
  const others = ['(', '!', '-user', USER, '-o', '!', '-group', USER, ')']
  await shellIn({ cwd: '/' })`find ${folder} ${others} -exec chown -h ${USER}:${USER} {} +`
  return [USER, USER]
}

/**
 * Makes all files and folders readable and writable for their owner again, whatever a command has set. Links are not
 * followed.
 */
export async function openAll(folder: string): Promise<void> {
  await shellIn({ cwd: '/' }, { nothrow: true })`chmod -R u+rwX ${folder}`
}

/** Output without colours, which some programs print in any case; an omission is marked. */
function tidyOutput(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  const plain = (part: string) => part.replace(/\x1b\[[0-9;?]{0,20}[A-Za-z]/g, '').replace(/\r+\n/g, '\n')
  const bytes = Buffer.from(text)
  if (bytes.length < 2 * OUTPUT) return plain(text).trimEnd()
  const [head, tail] = [bytes.subarray(0, OUTPUT), bytes.subarray(-OUTPUT)].map(part => plain(part.toString()))
  return `${head}\n… the middle is left out here …\n${tail}`.trimEnd()
}
