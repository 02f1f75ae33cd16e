/**
 * Encrypts what a Temporal server stores for runs (inputs, results, signals, updates, messages of failures), so that
 * the operator of the server can't read it: AES-256-GCM, with a key from a file of the user's. Names stay readable:
 * those of runs, tasks, workflows, activities and queues. Without a key nothing is encrypted, and encrypted data is
 * refused with a sentence.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { open } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common'
import type { NativeConnection } from '@temporalio/worker'
import { Failure } from '../../../core/failure.ts'
import { short, visible } from '../../../core/text.ts'
import { readSettings } from '../../ai/settings.ts'
import type { QueuePlace } from './client.ts'

type Environment = Record<string, string | undefined>

const KEY_BYTES = 32
const [IV_BYTES, TAG_BYTES] = [12, 16]
const CIPHER = 'aes-256-gcm'
const ENCODING = 'binary/encrypted'
/** At most this many bytes of a key file are read. */
const MAX_FILE_BYTES = 10_000

/** A key, with the name by which encrypted data refers to it: a part of its hash. */
type Key = { name: string; bytes: Buffer }

/** The module of the failure converter that encrypts messages; it is also part of the workflows' bundle. */
export const ENCODED_FAILURES = join(import.meta.dirname, 'encoded-failures.ts')

/**
 * Gives the converter for clients and workers. The key file is named by FORGE_PAYLOAD_KEY. @throws Failure where it
 * can't be used.
 */
export async function openConverter(env: Environment): Promise<DataConverter> {
  const keys = await readKeys(await keyFileOf(env))
  const payloadCodecs = [new EncryptingCodec(keys)]
  return keys.length === 0 ? { payloadCodecs } : { payloadCodecs, failureConverterPath: ENCODED_FAILURES }
}

/** Whether a converter encrypts; its workers need a bundle with its failure converter. */
export const isEncrypting = (converter: DataConverter | undefined): boolean =>
  converter?.failureConverterPath !== undefined

async function keyFileOf(env: Environment): Promise<string | undefined> {
  if (env.FORGE_PAYLOAD_KEY) return env.FORGE_PAYLOAD_KEY
  // Unreadable settings are reported by the first activity that needs them.
  const settings = await readSettings(env).catch(() => undefined)
  return settings?.payloadKey
}

/**
 * Reads the keys of a file: 32 bytes each in base64, one a line. The first one encrypts; the others only decrypt what
 * was encrypted before a change of the key.
 */
async function readKeys(path: string | undefined): Promise<Key[]> {
  if (path === undefined) return []
  const where = `FORGE_PAYLOAD_KEY is ${visible(path)}`
  if (!isAbsolute(path)) throw new Failure(`${where}: it has to be an absolute path.`)
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new Failure(`${where}, which can't be read (${error.code}): correct it, or make the file. ${HOW}`)
  })
  try {
    const { mode, size } = await file.stat()
    if (mode & 0o077) throw new Failure(`${where}, which other users can read: chmod 600 it, or make a new one.`)
    const lines = size > MAX_FILE_BYTES ? [] : (await file.readFile('utf8')).split('\n').map(line => line.trim())
    const keys = lines.filter(Boolean).map(line => Buffer.from(line, 'base64'))
    if (keys.length === 0 || keys.some(key => key.length !== KEY_BYTES))
      throw new Failure(`${where}, which has to have ${KEY_BYTES} bytes in base64 on each line. ${HOW}`)
    return keys.map(bytes => ({ bytes, name: createHash('sha256').update(bytes).digest('hex').slice(0, 16) }))
  } finally {
    await file.close()
  }
}

const HOW = 'To make one: (umask 077; openssl rand -base64 32 > FILE)'

/**
 * Verifies that data on the server can be decrypted, by the input of one open workflow of a queue: a worker without the
 * right key would let each workflow task fail, over and over. @throws Failure with the reason.
 */
export async function verifyKey(
  connection: Pick<NativeConnection, 'workflowService'>,
  place: QueuePlace,
): Promise<void> {
  const { server, queue } = place
  const { namespace, converter } = server
  const codec = converter?.payloadCodecs?.find(it => it instanceof EncryptingCodec)
  if (!codec) return
  const query = `TaskQueue = '${queue}' AND ExecutionStatus = 'Running'`
  const { workflowService } = connection
  const { executions } = await workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1 })
  const [open] = executions ?? []
  if (!open) return
  const request = { namespace, execution: open.execution ?? null, maximumPageSize: 1 }
  // The workflow may have ended meanwhile.
  const { history } = await workflowService.getWorkflowExecutionHistory(request).catch(() => ({ history: undefined }))
  const input = history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads
  const reason = codec.whyNot(input ?? [])
  if (reason !== undefined) throw new Failure(reason)
}

/** Encrypts payloads with the first of its keys; without keys, leaves them as they are. */
export class EncryptingCodec implements PayloadCodec {
  constructor(private readonly keys: readonly Key[]) {}

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const [key] = this.keys
    if (!key || payloads.length === 0) return payloads
    const { temporal } = await import('@temporalio/proto')
    return payloads.map(payload => encrypt(temporal.api.common.v1.Payload.encode(payload).finish(), key))
  }

  async decode(payloads: Payload[]): Promise<Payload[]> {
    // What was written before encryption was switched on has no encryption.
    if (!payloads.some(isEncrypted)) return payloads
    const { temporal } = await import('@temporalio/proto')
    return payloads.map(payload =>
      isEncrypted(payload) ? temporal.api.common.v1.Payload.decode(this.#decrypt(payload)) : payload,
    )
  }

  /** Why these payloads can't be decrypted, as a sentence; undefined where they can. */
  whyNot(payloads: readonly Payload[]): string | undefined {
    for (const payload of payloads) {
      if (!isEncrypted(payload)) continue
      try {
        this.#decrypt(payload)
      } catch (error) {
        return (error as Error).message
      }
    }
    return undefined
  }

  #decrypt(payload: Payload): Buffer {
    if (this.keys.length === 0)
      throw new Failure(
        "The data of this run on the Temporal server is encrypted: set FORGE_PAYLOAD_KEY to the team's key file.",
      )
    const name = text(payload, 'encryption-key-id')
    const key = this.keys.find(it => it.name === name)
    const data = Buffer.from(payload.data ?? [])
    try {
      if (!key) throw new Error('unknown key')
      const decipher = createDecipheriv(CIPHER, key.bytes, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(key.name))
      decipher.setAuthTag(data.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(data.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
    } catch {
      const [own] = this.keys
      throw new Failure(
        `The data of this run on the Temporal server is encrypted with another key (${short(visible(name), 40)}) than that of FORGE_PAYLOAD_KEY (${own?.name}): use the team's key file.`,
      )
    }
  }
}

function encrypt(bytes: Uint8Array, key: Key): Payload {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key.bytes, iv, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(key.name))
  const data = Buffer.concat([iv, cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
  const metadata = { encoding: ENCODING, 'encryption-cipher': 'A256GCM', 'encryption-key-id': key.name }
  const encoded = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value)] as const)
  return { metadata: Object.fromEntries(encoded), data }
}

const isEncrypted = (payload: Payload): boolean => text(payload, 'encoding') === ENCODING

const text = ({ metadata }: Payload, name: string): string => Buffer.from(metadata?.[name] ?? []).toString()
