/** The list of the desk's operations on branches and tags, newest first, each with Undo. */
import type { Operation } from '../../contract/branches.ts'
import { sentence } from '../page/actions.ts'
import { deskActions } from '../page/desk-actions.ts'
import { usePage } from '../page/state.ts'
import { redo, reversalOf, undo } from '../page/undo.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { Icon, type IconProps } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { readable, shortId } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { ago, fullTime, plural } from '../ui/times.ts'
import { Button } from '../ui/words.tsx'

/** At most this many operations are listed. */
const MAX_SHOWN = 100

export function OperationsDialog({ close }: { close: () => void }) {
  const page = usePage()
  const desk = page.desk.value
  // Loaded again whenever the operation to undo changes.
  const operations = useServerValue(
    () => page.connection.ask('operations', { from: 0, count: MAX_SHOWN }),
    [page, desk?.canUndo, desk?.canRedo],
  )
  const list = operations.latest.value
  // What the button below would undo: the newest operation that is not undone.
  const isUndo = ({ of, words }: Operation) => of !== undefined && reversalOf(words).isUndo
  const inTheWay = list?.find(it => !it.isPast && !isUndo(it))?.inTheWay
  const undoTitle = inTheWay === undefined ? desk?.canUndo : readable(inTheWay)
  return (
    <DialogFrame title="Operations" close={close}>
      <div class="dialog-body">
        <p class="meta">
          All that the desk did to branches and tags. Undo restores every ref that an operation changed; Redo takes it
          back.
        </p>
        <FailedLine problem={operations.problem.value} again={() => operations.refresh()} />
        {list?.length === 0 ? <p>No operations yet.</p> : null}
      </div>
      <ol class="operations">
        {(list ?? []).map(operation => (
          <OperationRow key={operation.id} operation={operation} close={close} />
        ))}
      </ol>
      <footer>
        <Button
          icon="undo"
          words="Undo"
          keys={shownKeys(deskActions.undo.keys)}
          isOff={!desk?.canUndo || inTheWay !== undefined}
          {...(undoTitle === undefined ? {} : { title: undoTitle })}
          onClick={() => {
            close()
            undo(page)
          }}
        />
        <Button
          icon="redo"
          words="Redo"
          isOff={!desk?.canRedo}
          {...(desk?.canRedo ? { title: desk.canRedo } : {})}
          onClick={() => {
            close()
            redo(page)
          }}
        />
        <span class="grow" />
        <CloseButton words="Close" isFirst close={close} />
      </footer>
    </DialogFrame>
  )
}

/** The icon of each kind of operation; violet (`by-ai`) if it concerns a turn of an AI. */
const LOOKS: Record<string, IconProps> = {
  save: { name: 'check' },
  'new file': { name: 'new-file' },
  rename: { name: 'pencil' },
  copy: { name: 'copy' },
  delete: { name: 'trash' },
  restore: { name: 'undo' },
  discard: { name: 'trash' },
  choose: { name: 'clash' },
  'new branch': { name: 'branch' },
  'rename branch': { name: 'pencil' },
  'delete branch': { name: 'trash' },
  'restore branch': { name: 'branch' },
  'drop stash': { name: 'trash' },
  'delete remote branch': { name: 'trash' },
  turn: { name: 'bot', tone: 'by-ai' },
  'keep turn': { name: 'check', tone: 'by-ai' },
  'discard turn': { name: 'trash', tone: 'by-ai' },
  'undo turn': { name: 'undo', tone: 'by-ai' },
}

function lookOf({ kind, of: reversed, words }: Operation): IconProps {
  if (reversed !== undefined) return { name: reversalOf(words).isUndo ? 'undo' : 'redo' }
  return LOOKS[kind] ?? { name: 'commit' }
}

function OperationRow({ operation, close }: { operation: Operation; close: () => void }) {
  const page = usePage()
  const { words, time, refs, of: reversed, isPast, inTheWay } = operation
  const reversal = reversed === undefined ? undefined : reversalOf(words)
  return (
    <li>
      <details class="operation">
        <summary>
          <Icon {...lookOf(operation)} />
          <bdi class="cut grow" title={words}>
            {reversal?.title ?? sentence(words)}
          </bdi>
          <span class="meta nowrap" title={fullTime(time)}>
            {plural(refs.length, 'ref')}, {ago(time)}
          </span>
          {isPast ? null : (
            <Button
              look="quiet small"
              words={reversal?.isUndo ? 'Redo' : 'Undo'}
              isOff={inTheWay !== undefined}
              {...(inTheWay !== undefined && { title: readable(inTheWay) })}
              onClick={() => {
                close()
                undo(page, operation)
              }}
            />
          )}
        </summary>
        <ul>
          {refs.map(({ ref, before, after }) => (
            <li key={ref} class="mono">
              <bdi>{readable(ref)}</bdi> {before ? shortId(before) : 'new'} → {after ? shortId(after) : 'gone'}
            </li>
          ))}
        </ul>
      </details>
    </li>
  )
}
