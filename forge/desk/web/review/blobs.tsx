/** The diff of one file, loaded when it comes into view. */
import type { Change } from '../../contract/values.ts'
import { firstConflictLine } from '../editor/conflict-regions.ts'
import { usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { shortId } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { DiffView } from './diff-view.tsx'

type Side = { text?: string | null | undefined; encoding?: string | undefined }
type Texts = { before: Side; after: Side }

interface BlobsProps {
  change: Change
  /** The length of the conflict markers in the file, in characters, if conflicts are open. */
  mark?: number | undefined
  isSideBySide: boolean
  ignoresBlanks: boolean
  onCount?: (count: { added: number; deleted: number }) => void
}

/** The diff of one file. Its two contents are loaded when it comes into view. */
export function Blobs({ change, mark, isSideBySide, ignoresBlanks, onCount }: BlobsProps) {
  const page = usePage()
  const text = async (oid: string | undefined): Promise<Side> =>
    oid === undefined ? { text: '' } : await page.connection.ask('blob', { oid })
  const [old, now] = [change.before?.oid, change.after?.oid]
  const ask = async (): Promise<Texts> => {
    const [before, after] = await Promise.all([text(old), text(now)])
    return { before, after }
  }
  const texts = useServerValue(ask, [page, old, now])
  const problem = texts.problem.value

  if (problem !== undefined) return <FailedLine problem={problem} again={() => texts.refresh()} />
  if (!texts.latest.value) return <div class="diff-far" aria-busy="true" />
  const { before, after } = texts.latest.value
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

/** If a content is not UTF-8, equal text may stand for different bytes. */
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
