/** Reads a run's logs: the container's, which the agent can't write, and the harness's, which it can. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { harnessStateOf } from '../core/formats/forklift-run.ts'
import { readUntrusted } from '../core/untrusted.ts'

type Place = { path: string }
export const containerLogOf = (run: Place): string => join(run.path, 'container.log')

/** The lines that the container printed, without the first one, which is the docker command. */
async function printed(run: Place): Promise<string[]> {
  const end = await readEnd(containerLogOf(run), 4 << 20)
  return end.split('\n').filter(line => line && !line.startsWith('docker run '))
}

/** The last `bytes` bytes of a file, as text. */
async function readEnd(path: string, bytes: number): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(
      Buffer.alloc(Math.min(size, bytes)),
      0,
      null,
      Math.max(size - bytes, 0),
    )
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Requests to the model and their tokens, as the proxy in the container counted them: one line of JSON a request. */
export async function usage(run: Place): Promise<{ requests?: number; tokens?: number }> {
  const requests = (await printed(run)).filter(line => line.startsWith('{"forklift":"request"'))
  const counts = requests.flatMap(line =>
    [...line.matchAll(/"(?:input|output)":(\d+)/g)].map(([, count]) => Number(count)),
  )
  return requests.length > 0 ? { requests: requests.length, tokens: counts.reduce((sum, count) => sum + count, 0) } : {}
}

/**
 * Why the container ended: the last message of docker or of the programs that guard the agent there; without one, the
 * harness's last message.
 */
export async function lastWords(run: Place): Promise<string> {
  return (await lockSays(run)) ?? ((await harnessSays(run)) || 'it said nothing')
}

/** The last message of docker, the entry script, the proxy or the disk watch; undefined where all were routine. */
export async function lockSays(run: Place): Promise<string | undefined> {
  const usual = /^WARNING: |^entry: (closed|the agent starts|told to stop)|^{"forklift"/
  return (await printed(run)).findLast(line => !usual.test(line))?.slice(0, 300)
}

/** The harness's last message. The agent can forge it. */
export async function harnessSays(run: Place): Promise<string> {
  const log = await readUntrusted(join(harnessStateOf(run), 'logs/harness.log'), 1 << 20)
  const lines = log?.kind === 'file' ? log.bytes.toString().split('\n') : []
  return lines.findLast(line => line.startsWith('harness: '))?.slice(9, 309) ?? ''
}
