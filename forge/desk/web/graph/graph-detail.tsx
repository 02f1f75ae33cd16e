/** The selected commit: its message, author and dates, and the changes of each file. */
import { useLayoutEffect } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import type { GraphRow } from '../../contract/graph.ts'
import { usePlace } from '../page/places.ts'
import { usePage } from '../page/state.ts'
import { ChangeSum, ChangesWithDiffs } from '../review/change-list.tsx'
import { MessageBody, partsOf } from '../review/message-body.tsx'
import { TagMessages } from '../review/tag-messages.tsx'
import { useCommit } from '../review/use-commit.ts'
import { sourceActions } from '../steps/source-actions.ts'
import { commitSource } from '../steps/step-ways.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { placeOfMenu } from '../ui/menu-content.ts'
import { modelName, shortId, visible, withoutTricks } from '../ui/names.ts'
import { ago, plural, timeTitle, whenWords } from '../ui/times.ts'
import { ActionButton, Button, IconButton } from '../ui/words.tsx'
import { commitActions, commitMenu } from './graph-menus.ts'

/** Delay before a selected commit is loaded, in milliseconds, so that a held key loads only the last one. */
const ASK_AFTER_MS = 60

export function GraphDetail() {
  const page = usePage()
  const { row } = page.graph
  const { commit, asked } = useCommit(row?.oid, { delayMs: ASK_AFTER_MS })
  const { panes } = page.graph
  const isLarge = panes.isCommitLarge.value
  const { showLarge } = commitActions
  const width = isLarge ? undefined : panes.widthOf('commit')
  const style = { width: width === undefined ? '' : `${width}px` }
  const pane = usePlace<HTMLElement>('commit')
  // In a narrow window the pane covers the list, so it takes the focus.
  useLayoutEffect(() => {
    if (isLarge && page.places.find('home')?.offsetParent === null) pane.current?.focus()
  }, [isLarge])
  if (!row) return <aside class="detail" aria-label="Commit" style={style} />
  const { title, body } = partsOf(row, commit?.message)
  return (
    // The pane scrolls, so the keyboard must be able to focus it.
    <aside
      ref={pane}
      class="detail"
      aria-label={`Commit ${shortId(row.oid)}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      style={style}
      onKeyDown={event => {
        if (event.key !== 'Escape' || page.menu.peek()) return
        panes.isCommitLarge.value = false
        page.graph.focusWish.make()
        event.stopPropagation()
      }}
    >
      <div class="detail-head">
        <div class="detail-title">
          <h2>
            <bdi>{withoutTricks(title)}</bdi>
          </h2>
          <IconButton
            icon={isLarge ? 'shrink' : 'enlarge'}
            words={isLarge ? 'Show the graph again' : showLarge.label}
            keys={showLarge.listKeys}
            isPressed={isLarge}
            onClick={() => showLarge.run({ page, row })}
          />
        </div>
        <Body text={body} isLarge={isLarge} />
      </div>
      {page.graph.chosen.length > 0 ? (
        <p class="failed-line" role="status">
          <span>{plural(page.graph.chosen.length, 'commit')} selected; this one was selected last</span>
        </p>
      ) : null}
      {page.graph.isSelectedHidden ? (
        <p class="failed-line" role="status">
          <span>Hidden by the filter of the graph</span>
          <Button look="small" words="Show all refs" onClick={() => page.graph.showSelected()} />
        </p>
      ) : null}
      <TagMessages commit={row.oid} />
      <Facts row={row} isRead={commit !== undefined} authored={commit?.row.authored} />
      <Acts row={row} />
      <FailedLine problem={asked.problem.value} again={() => asked.refresh()} />
      {commit ? <Files key={row.oid} commit={commit} isLarge={isLarge} /> : null}
    </aside>
  )
}

/**
 * The message after its first line: in the narrow pane with joined lines and without the trailers shown as facts; in
 * the large one as written.
 */
function Body({ text, isLarge }: { text: string; isLarge: boolean }) {
  if (text === '') return null
  if (isLarge) return <pre class="body written">{text.split('\n').map(visible).join('\n')}</pre>
  return <MessageBody text={text} />
}

interface FactsProps {
  row: GraphRow
  /** Whether the whole commit is loaded, not just its row; only then slower facts are computed. */
  isRead: boolean
  /** When it was authored, if that is another time than when it was committed. */
  authored: number | undefined
}

/** Facts about a commit. */
function Facts({ row, isRead, authored }: FactsProps) {
  const page = usePage()
  const { oid, parents, author, model, committed, abandoned } = row
  return (
    <dl class="facts">
      <dt>Commit</dt>
      <dd class="mono" title={oid}>
        {oid.slice(0, 12)}
      </dd>
      {parents.length > 0 ? <dt>{parents.length > 1 ? 'Parents' : 'Parent'}</dt> : null}
      {parents.length > 0 ? (
        <dd class="mono">
          {parents.map(parent => (
            <button key={parent} type="button" class="link" onClick={() => page.graph.goTo(parent)}>
              {shortId(parent)}
            </button>
          ))}
        </dd>
      ) : null}
      <dt>By</dt>
      <dd>
        <Icon name={model ? 'bot' : 'user'} size="xs" tone={model ? 'by-ai' : ''} />
        <bdi class="cut" title={model ? withoutTricks(`${model}, ${author.email}`) : author.email}>
          {model ? `${modelName(model)} for ${withoutTricks(author.name)}` : withoutTricks(author.name)}
        </bdi>
      </dd>
      {authored === undefined ? null : <dt>Authored</dt>}
      {authored === undefined ? null : (
        <dd>
          <span class="cut" {...timeTitle(authored)}>
            {whenWords(authored)}, {ago(authored)}
          </span>
        </dd>
      )}
      <dt>{authored === undefined ? 'When' : 'Committed'}</dt>
      <dd>
        <span class="cut" {...timeTitle(committed)}>
          {isRead ? `${whenWords(committed)}, ` : ''}
          {ago(committed)}
        </span>
      </dd>
      {abandoned === undefined ? null : (
        <>
          <dt>Known as</dt>
          <dd>
            <bdi class="cut">{abandoned ? withoutTricks(abandoned) : 'unreachable'}</bdi>
          </dd>
        </>
      )}
    </dl>
  )
}

function Acts({ row }: { row: GraphRow }) {
  const page = usePage()
  return (
    <div class="acts">
      <ActionButton action={commitActions.travel} about={{ page, row }} look="small" hasKeys />
      <ActionButton
        action={sourceActions.branchFromHere}
        about={{ page, source: commitSource(row.oid) }}
        look="small"
      />
      <IconButton
        icon="more"
        words="More commit actions"
        onClick={event => {
          const button = event.currentTarget
          page.openMenu(commitMenu(page, row), placeOfMenu(event, button), button)
        }}
      />
    </div>
  )
}

function Files({ commit: { changes }, isLarge }: { commit: Answer<'commit'>; isLarge: boolean }) {
  return (
    <section class="detail-changes" aria-label="Files">
      <h3>
        <ChangeSum changes={changes} look="grow" />
      </h3>
      <ChangesWithDiffs key={`${isLarge}`} changes={changes} open={isLarge ? 'all' : 'first'} />
    </section>
  )
}
