/** The commit of a turn, below its answer: the changed files, the diff, and Undo. */
import { useId } from 'preact/hooks'
import type { End } from '../page/conversation-state.ts'
import { type Tab, usePage } from '../page/state.ts'
import { ChangeLetter } from '../review/review-side.tsx'
import { usageWords } from '../ui/figures.ts'
import { Icon } from '../ui/icons.tsx'
import { modelName, readable, shortId, withoutTricks } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { useShown } from '../ui/use-shown.ts'
import { Button, Path } from '../ui/words.tsx'
import { showCommit, undoTurn } from './chat-actions.ts'

type Commit = NonNullable<End['commit']>
type File = Commit['files'][number]

const MAX_FILES = 12
/** The largest width of the bars for added and deleted lines together, in pixels. */
const MAX_BARS_WIDTH_PX = 44
/** From this many changed lines on, the bars have their largest width. */
const FULL_BARS_LINES = 60

export function CommitCard({ tab, end, commit }: { tab: Tab; end: End; commit: Commit }) {
  const page = usePage()
  const reason = useId()
  const { isShown, show } = useShown()
  const isTalk = commit.files.length === 0
  const files = isShown ? commit.files : commit.files.slice(0, MAX_FILES)
  const hidden = commit.files.length - files.length
  const isBranch = tab.at.kind === 'branch'
  const isBusy = tab.conversation.isBusy.value
  // The turn may have begun just now, when the commit still says that it can be undone.
  const why = isBusy ? 'A turn is running.' : commit.why
  const canUndo = commit.canUndo && !isBusy
  return (
    <article class="card" aria-label={`Commit ${shortId(commit.oid)}`}>
      {isTalk ? null : (
        <div class="card-head">
          <Icon name="commit" />
          <CommitLink oid={commit.oid} />
          <bdi class="strong cut grow" title={withoutTricks(commit.subject)}>
            {withoutTricks(commit.subject)}
          </bdi>
          <span class="tag ai" title={withoutTricks(end.model)}>
            <span class="cut">{modelName(end.model)}</span>
          </span>
        </div>
      )}
      {isTalk ? null : (
        <div class="card-list">
          {files.map(file => (
            <FileRow key={file.path} file={file} open={() => showCommit(tab, commit.oid, file.path)} />
          ))}
          {hidden > 0 ? (
            <button type="button" class="fold" onClick={show}>
              {plural(hidden, 'more file')}: show them
            </button>
          ) : null}
        </div>
      )}
      <div class="card-foot">
        {isTalk ? (
          <span class="card-talk cut" title={withoutTricks(commit.subject)}>
            <Icon name="commit" />
            <CommitLink oid={commit.oid} />
            only the conversation
          </span>
        ) : (
          <Button look="quiet small" icon="diff" words="Diff" onClick={() => showCommit(tab, commit.oid)} />
        )}
        {isBranch && (!isTalk || commit.canUndo) ? (
          <>
            <button
              type="button"
              class="button quiet small"
              aria-disabled={!canUndo}
              aria-describedby={canUndo ? undefined : reason}
              onClick={() => {
                if (canUndo) undoTurn(page, tab, end.turn)
              }}
            >
              <Icon name="undo" />
              Undo this turn
            </button>
            {canUndo ? null : (
              <span class="cut why" id={reason}>
                {why}
              </span>
            )}
          </>
        ) : null}
        <span class="cost">{usageWords(end.usage)}</span>
      </div>
    </article>
  )
}

function CommitLink({ oid }: { oid: string }) {
  const page = usePage()
  const open = () => page.open({ kind: 'commit', commit: oid }).show({ kind: 'history', path: undefined })
  return (
    <button type="button" class="link mono" title="Open this commit in History" onClick={open}>
      {shortId(oid)}
    </button>
  )
}

function FileRow({ file, open }: { file: File; open: () => void }) {
  const { added = 0, deleted = 0 } = file
  const scale = MAX_BARS_WIDTH_PX / Math.max(FULL_BARS_LINES, added + deleted)
  const [more, less] = [added * scale, deleted * scale]
  return (
    <button type="button" class="filerow" title={readable(file.path)} onClick={open}>
      <ChangeLetter status={file.status} />
      <Path of={file.path} />
      <span class="num add-n">{added > 0 ? `+${digits(added)}` : ''}</span>
      <span class="num del-n">{deleted > 0 ? `−${digits(deleted)}` : ''}</span>
      <svg class="bars" viewBox={`0 0 ${MAX_BARS_WIDTH_PX} 4`} aria-hidden="true">
        <rect class="ba" width={more} height="4" />
        <rect class="bd" x={more} width={less} height="4" />
      </svg>
    </button>
  )
}
