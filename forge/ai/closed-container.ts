/**
 * A command in a folder, inside of a locked container without any network: what the chat's commands and the checks of
 * tasks run in. Nothing of it runs on this machine, and what it leaves behind is a stranger's.
 */
import { randomUUID } from 'node:crypto'
import { CLOSED_LOCK, type ContainerEnd, IMAGE, type Mount, mountFlags, runToItsEnd } from '../../core/container.ts'
import { shellIn } from '../../core/shell.ts'
import { firstLine, visible } from '../../core/text.ts'

/** Bytes of its output that are kept, of its beginning and of its end. */
const OUTPUT = 16 << 10
/** The largest file that a command may write: what it writes is on this machine's disk. */
const MAX_WRITTEN_FILE_BYTES = 1 << 30
/** The owner of the files where this process is root: a user of the image. */
const USER = 1000

/** What is run, by bash in the top folder, and for how many seconds at most. */
type ClosedCommand = { command: string; seconds: number; mounts?: Mount[]; hasNetwork?: boolean }

/** How it ended, and what it printed: the beginning and the end of that, without colours. */
type ClosedEnd = ContainerEnd & { output: string }

/** What a container lacks to be run here, as the end of a sentence: "… need docker, which is not installed: …". */
export async function whyNoContainer(signal: AbortSignal): Promise<string | undefined> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const info = await sh`docker info --format ${'{{json .SecurityOptions}}'}`
  signal.throwIfAborted()
  if (info.exitCode === 127) return 'docker, which is not installed: install Docker Engine or Docker Desktop.'
  if (info.exitCode !== 0 || !info.stdout.startsWith('['))
    return `docker, and its engine does not answer (${visible(firstLine(info.stderr))}): start it.`
  if (/name=(rootless|userns)/.test(info.stdout))
    return 'a docker engine that does not map user ids (rootless or userns-remap).'
  const image = await sh`docker image inspect --format ${'{{.Id}}'} ${IMAGE}`
  signal.throwIfAborted()
  if (image.exitCode !== 0) return `the image ${IMAGE}: make image.`
  return undefined
}

/** The id of the image that commands run in; undefined where there is none, or no engine that could say so. */
export async function findImage(signal: AbortSignal): Promise<string | undefined> {
  const sh = shellIn({ cwd: '/', signal }, { nothrow: true, timeout: '30s' })
  const { exitCode, stdout } = await sh`docker image inspect --format ${'{{.Id}}'} ${IMAGE}`
  signal.throwIfAborted()
  return exitCode === 0 ? firstLine(stdout) : undefined
}

/** Names that docker's client gives a container a value for by itself, which may have a password in it. */
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap(name => [
  name,
  name.toLowerCase(),
])

/**
 * Runs it to its end, or to its time's, or until the signal comes; the container is gone then. The folder is seen as
 * /workspace, and belongs to the container's user from then on. `hasNetwork` is for what a person has allowed.
 */
export async function runClosed(
  folder: string,
  { command, seconds, mounts = [], hasNetwork = false }: ClosedCommand,
  signal: AbortSignal,
): Promise<ClosedEnd> {
  const [uid, gid] = await giveToContainer(folder)
  const name = `forge-command-${randomUUID()}`
  const env = ['HOME=/tmp', 'TERM=dumb', 'NO_COLOR=1', 'CI=1', ...PROXIES.map(proxy => `${proxy}=`)]
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
    env.flatMap(it => ['--env', it]),
  ].flat()
  const sh = shellIn({ cwd: '/' }, { nothrow: true })
  // However much it prints, its beginning and its end are all that is kept: nothing else is held, on disk neither.
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
 * Gives a folder to the user that commands run as, so that they may write there, and this process may read and remove
 * what they wrote. Gives that user's ids.
 */
export async function giveToContainer(folder: string): Promise<[number, number]> {
  const [uid, gid] = [process.getuid?.() ?? USER, process.getgid?.() ?? USER]
  if (uid !== 0) return [uid, gid]
  // Those that are the user's already are left alone: a slot tells by the time of an inode what a command has changed.
  const others = ['(', '!', '-user', USER, '-o', '!', '-group', USER, ')']
  await shellIn({ cwd: '/' })`find ${folder} ${others} -exec chown -h ${USER}:${USER} {} +`
  return [USER, USER]
}

/** The owner may look into everything again that a command has closed; links are not followed. */
export async function openAll(folder: string): Promise<void> {
  await shellIn({ cwd: '/' }, { nothrow: true })`chmod -R u+rwX ${folder}`
}

/** Without the colours that some programs print all the same; and it says where something is left out. */
function tidyOutput(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken away
  const plain = (part: string) => part.replace(/\x1b\[[0-9;?]{0,20}[A-Za-z]/g, '').replace(/\r+\n/g, '\n')
  const bytes = Buffer.from(text)
  if (bytes.length < 2 * OUTPUT) return plain(text).trimEnd()
  const [head, tail] = [bytes.subarray(0, OUTPUT), bytes.subarray(-OUTPUT)].map(part => plain(part.toString()))
  return `${head}\n… the middle is left out here …\n${tail}`.trimEnd()
}
