/** The diff of one file, whose contents are asked for when it comes into view. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Change } from '../../contract/values.ts'
import { usePage } from '../app/state.ts'
import { firstConflictLine } from '../merging/conflict-regions.ts'
import { shortId } from '../ui/names.ts'
import { DiffView } from './diff-view.tsx'

type Side = { text?: string | null | undefined; encoding?: string | undefined }
type Texts = { before: Side; after: Side }

interface BlobsProps {
  change: Change
  /** How long the marks of conflicts are in it, where some are left. */
  mark?: number | undefined
  isSideBySide: boolean
  ignoresBlanks: boolean
  onCount?: (count: { added: number; deleted: number }) => void
}

/** The diff of one file. The two contents are asked for when it comes into view. */
export function Blobs({ change, mark, isSideBySide, ignoresBlanks, onCount }: BlobsProps) {
  const page = usePage()
  const texts = useSignal<Texts | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const text = async (oid: string | undefined): Promise<Side> =>
      oid === undefined ? { text: '' } : await page.connection.ask('blob', { oid })
    Promise.all([text(change.before?.oid), text(change.after?.oid)]).then(
      ([before, after]) => {
        texts.value = { before, after }
      },
      (error: Error) => {
        problem.value = error.message
      },
    )
  }, [page, change.before?.oid, change.after?.oid, texts, problem])

  if (problem.value !== undefined) return <p class="diff-none is-bad">{problem.value}</p>
  if (!texts.value) return <div class="diff-far" aria-busy="true" />
  const { before, after } = texts.value
  if (change.status === 'mode') return <ModeChange change={change} />
  if (typeof before.text !== 'string' || typeof after.text !== 'string') {
    return <p class="diff-none meta">Not a text: {sidesOf(change)}.</p>
  }
  return (
    <>
      <Guessed before={before} after={after} />
      <DiffView
        path={change.path}
        before={before.text}
        after={after.text}
        isSideBySide={isSideBySide}
        ignoresBlanks={ignoresBlanks}
        unnumberedFrom={mark === undefined ? undefined : firstConflictLine(after.text, mark)}
        {...(onCount && { onCount })}
      />
    </>
  )
}

/** What looks the same may have other bytes, where one of the two is no UTF-8. */
function Guessed({ before, after }: Texts) {
  if (before.encoding === undefined && after.encoding === undefined) return null
  const isBoth = before.encoding === after.encoding
  const which = isBoth || !before.text || !after.text ? 'This' : before.encoding ? 'Before' : 'After'
  return (
    <p class="diff-none meta">
      {which} is no UTF-8: it is shown as {after.encoding ?? before.encoding}, which it is perhaps.
    </p>
  )
}

function ModeChange({ change }: { change: Change }) {
  return (
    <p class="diff-none meta">
      File mode changed: {change.before?.mode} → {change.after?.mode}.
    </p>
  )
}

function sidesOf({ before, after }: Change): string {
  return `${before ? shortId(before.oid) : 'nothing'} → ${after ? shortId(after.oid) : 'nothing'}`
}
