/** What a run's logs say: the container's, which the agent can't write, and the harness's, which it can. */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { harnessStateOf } from '../core/formats/forklift-run.ts'
import { readUntrusted } from '../core/untrusted.ts'

type Place = { path: string }
export const containerLogOf = (run: Place): string => join(run.path, 'container.log')

/** What the container printed, after the command that started it. */
async function printed(run: Place): Promise<string[]> {
  const end = await readEnd(containerLogOf(run), 4 << 20)
  return end.split('\n').filter(line => line && !line.startsWith('docker run '))
}

/** At most the last bytes of a file, as text. */
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

/** What the model was asked for and gave, as the proxy in the container counted it: one line of JSON a request. */
export async function usage(run: Place): Promise<{ requests?: number; tokens?: number }> {
  const requests = (await printed(run)).filter(line => line.startsWith('{"forklift":"request"'))
  const counts = requests.flatMap(line =>
    [...line.matchAll(/"(?:input|output)":(\d+)/g)].map(([, count]) => Number(count)),
  )
  return requests.length > 0 ? { requests: requests.length, tokens: counts.reduce((sum, count) => sum + count, 0) } : {}
}

/** Why it ended: what docker or the lock said, else the harness's own word. */
export async function lastWords(run: Place): Promise<string> {
  return (await lockSays(run)) ?? ((await harnessSays(run)) || 'it said nothing')
}

/** What docker, the entry, the proxy or the watch over the disk said last, where that was not the usual. */
export async function lockSays(run: Place): Promise<string | undefined> {
  const usual = /^WARNING: |^entry: (closed|the agent starts|told to stop)|^{"forklift"/
  return (await printed(run)).findLast(line => !usual.test(line))?.slice(0, 300)
}

/** The harness's last sentence; the agent can forge it. */
export async function harnessSays(run: Place): Promise<string> {
  const log = await readUntrusted(join(harnessStateOf(run), 'logs/harness.log'), 1 << 20)
  const lines = log?.kind === 'file' ? log.bytes.toString().split('\n') : []
  return lines.findLast(line => line.startsWith('harness: '))?.slice(9, 309) ?? ''
}
