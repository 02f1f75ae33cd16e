/**
 * Batches whose lines and results are files: uploading, reading and deleting these is the same at OpenAI and Mistral.
 */
import * as v from 'valibot'
import { ModelError } from '../request.ts'
import type { LineResult } from './batches.ts'
import { type BatchHttp, Id } from './http.ts'

const Line = v.object({
  custom_id: v.string(),
  response: v.nullish(v.looseObject({ status_code: v.number(), body: v.unknown() })),
  error: v.nullish(
    v.union([v.string(), v.looseObject({ code: v.nullish(v.string()), message: v.nullish(v.string()) })]),
  ),
})

/** Kinds of refusals after which the provider has certainly not created a batch. */
const REFUSALS: readonly string[] = ['rate', 'refused', 'key', 'credit', 'too long', 'no such model']

/** Uploads lines as a file, and creates the batch of it. A file whose batch is refused is deleted again. */
export async function submitFile<Batch>(
  http: BatchHttp,
  { name, lines, signal }: { name: string; lines: readonly string[]; signal: AbortSignal },
  create: (file: string) => Promise<Batch>,
): Promise<Batch> {
  const file = await uploadLines(http, name, lines, signal)
  try {
    return await create(file)
  } catch (error) {
    if (error instanceof ModelError && REFUSALS.includes(error.trouble)) await deleteFiles(http, [file], signal)
    throw error
  }
}

/** Uploads lines as a file. Gives its id. */
async function uploadLines(
  http: BatchHttp,
  name: string,
  lines: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const form = new FormData()
  form.set('purpose', 'batch')
  const blob = new Blob(
    lines.map(line => `${line}\n`),
    { type: 'application/jsonl' },
  )
  form.set('file', blob, `${name}.jsonl`)
  const { id } = await http.need('/files', v.object({ id: Id }), signal, { method: 'POST', body: form })
  return id
}

/** Reads the results in a batch's output file; none where the provider has deleted the file. */
export async function* resultsIn(http: BatchHttp, file: string, signal: AbortSignal): AsyncGenerator<LineResult> {
  for await (const line of http.lines(`/files/${file}/content`, Line, signal, { mayBeMissing: true })) {
    const { custom_id: id, response, error } = line
    if (response && response.status_code < 300) {
      yield { id, body: JSON.stringify(response.body) }
      continue
    }
    const code = typeof error === 'object' ? error?.code : undefined
    if (code === 'batch_expired') yield { id, why: 'its batch expired before its turn came' }
    else if (code === 'batch_cancelled') yield { id, why: 'its batch was cancelled', isCancelled: true }
    else yield { id, why: `the provider refused it: ${wordsOf(error) || wordsOf(response?.body)}` }
  }
}

const Words = v.union([
  v.string(),
  v.pipe(
    v.object({ message: v.string() }),
    v.transform(it => it.message),
  ),
  v.pipe(
    v.object({ error: v.object({ message: v.string() }) }),
    v.transform(it => it.error.message),
  ),
])

function wordsOf(said: unknown): string {
  const parsed = v.safeParse(Words, said)
  return parsed.success ? parsed.output : ''
}

/** Deletes files that hold the repository's content. One that is gone or can't be deleted is left alone. */
export async function deleteFiles(
  http: BatchHttp,
  files: readonly (string | null | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  for (const file of files) {
    if (!file) continue
    await http
      .json(`/files/${file}`, v.looseObject({}), signal, { method: 'DELETE', mayBeMissing: true })
      .catch(() => signal.throwIfAborted())
  }
}
