/** Reads the messages of annotated tags. */
import type { RefName } from '../../../core/git/refs.ts'
import { asText, type Repository } from '../../../core/git/repository.ts'
import { run } from '../../../core/git/run.ts'
import type { TagMessage } from '../contract/graph.ts'

const FIELDS = ['%(refname)', '%(objecttype)', '%(taggername)', '%(taggerdate:unix)', '%(contents:subject)']
const FORMAT = [...FIELDS, '%(contents:body)', ''].join('%00')

/** The messages of those of some tags that are annotated, with one git process. */
export async function readTagMessages(repository: Repository, refs: readonly RefName[]): Promise<TagMessage[]> {
  const { stdout } = await run(repository, ['for-each-ref', `--format=${FORMAT}`, ...refs.map(asText)])
  const values = stdout.toString('latin1').split('\0')
  const found: TagMessage[] = []
  for (let at = 0; at + FIELDS.length < values.length; at += FIELDS.length + 1) {
    const [line = '', type, tagger = '', tagged = '', subject = '', body = ''] = values.slice(at)
    const ref = line.trimStart()
    // A pattern also matches refs below it.
    if (type !== 'tag' || !refs.includes(ref)) continue
    found.push({
      ref,
      message: asText([subject, body.trim()].filter(Boolean).join('\n\n')),
      ...(tagger !== '' && { tagger: asText(tagger) }),
      ...(tagged !== '' && { tagged: Number(tagged) }),
    })
  }
  return found
}
