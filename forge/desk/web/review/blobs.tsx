/** The diff of one file, loaded when it comes into view. */
import type { Answer } from '../../contract/contract.ts'
import type { Change } from '../../contract/values.ts'
import { firstConflictLine } from '../editor/conflict-regions.ts'
import { usePage } from '../page/state.ts'
import { ImageFigure } from '../ui/blob-image.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { baseName, readable, shortId } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { type DiffComments, DiffView } from './diff-view.tsx'

type Side = Answer<'blob'>
type Texts = { before: Side; after: Side }

interface BlobsProps {
  change: Change
  /** The length of the conflict markers in the file, in characters, if conflicts are open. */
  mark?: number | undefined
  isSideBySide: boolean
  ignoresBlanks: boolean
  onCount?: (count: { added: number; deleted: number }) => void
  comments?: DiffComments
}

export function Blobs(props: BlobsProps) {
  const { status, before, after } = props.change
  const isSame = before?.oid === after?.oid && before?.mode === after?.mode
  if (status === 'renamed' && isSame) return <p class="diff-none meta">Renamed without changes.</p>
  const mode = modeInWords(props.change)
  return (
    <>
      {mode === undefined ? null : <p class="diff-none meta">{mode}</p>}
      {status === 'mode' ? null : <Contents {...props} />}
    </>
  )
}

/** The diff of one file. Its two contents are loaded when it comes into view. */
function Contents({ change, mark, isSideBySide, ignoresBlanks, onCount, comments }: BlobsProps) {
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
  if (before.image || after.image) return <Images change={change} before={before} after={after} />
  if (typeof before.text !== 'string' || typeof after.text !== 'string') {
    return (
      <p class="diff-none meta">
        {after.what ?? before.what}: {sidesOf(change)}.
      </p>
    )
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
        {...(comments && { comments })}
      />
    </>
  )
}

/** The images before and after a change, side by side; in words, what is no image. */
function Images({ change, before, after }: Texts & { change: Change }) {
  const name = readable(baseName(change.path))
  const sides = [
    { title: 'Before', entry: change.before, side: before },
    { title: 'After', entry: change.after, side: after },
  ]
  return (
    <div class="diff-images">
      {sides.map(({ title, entry, side: { image, what } }) => {
        if (!entry) return null
        if (!image) {
          return (
            <p key={title} class="diff-none meta">
              {title}: {what ?? 'Text'}.
            </p>
          )
        }
        const alt = `${name}, ${title.toLowerCase()}`
        return <ImageFigure key={title} look="thumbnail" {...{ oid: entry.oid, image, alt, title }} />
      })}
    </div>
  )
}

/** Warns that a content is not UTF-8, so that equal text may stand for different bytes. */
function Guessed({ before, after }: Texts) {
  if (before.encoding === undefined && after.encoding === undefined) return null
  const isBoth = before.encoding === after.encoding
  const which = before.encoding ? 'The old version is not UTF-8.' : 'The new version is not UTF-8.'
  return (
    <p class="diff-none meta">
      {isBoth || !before.text || !after.text ? 'Not UTF-8.' : which} Shown as {after.encoding ?? before.encoding} (a
      guess).
    </p>
  )
}

/** The modes that are worth a word; an ordinary file has 100644. */
const MODES: Record<string, string> = {
  '100755': '100755 (executable)',
  '120000': '120000 (symbolic link)',
  '160000': '160000 (submodule)',
}

/**
 * How the mode of a file has changed, or the one that it is added or deleted with; undefined where that needs no word.
 * The lines of a symbolic link alone would look like those of a file.
 */
export function modeInWords({ before, after }: Change): string | undefined {
  const [old, now] = [before, after].map(entry => entry && (MODES[entry.mode] ?? entry.mode))
  if (old !== undefined && now !== undefined) return old === now ? undefined : `File mode changed: ${old} → ${now}.`
  if (after && MODES[after.mode] !== undefined) return `New file mode: ${now}.`
  return before && MODES[before.mode] !== undefined ? `Deleted file mode: ${old}.` : undefined
}

function sidesOf({ before, after }: Change): string {
  return `${before ? shortId(before.oid) : 'nothing'} → ${after ? shortId(after.oid) : 'nothing'}`
}
