/** The commit that is selected: its message, what is known of it, its files, and what changed in each. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Answer } from '../../contract/contract.ts'
import type { GraphRow } from '../../contract/graph.ts'
import { newBranch } from '../app/actions.ts'
import { usePage } from '../app/state.ts'
import { ChangeSum, ChangesWithDiffs } from '../review/change-list.tsx'
import { Icon } from '../ui/icons.tsx'
import { placeOfMenu } from '../ui/menu-content.ts'
import { shortId, visible, withoutTricks } from '../ui/names.ts'
import { ago, plural, timeTitle, whenWords } from '../ui/times.ts'
import { Button, IconButton } from '../ui/words.tsx'
import { commitMenu } from './graph-menus.ts'
import { commitSource } from './step-ways.ts'

/** Who holds an arrow key down passes many commits: only the one that stays is asked for. */
const ASK_AFTER = 60

export function GraphDetail() {
  const page = usePage()
  const { row } = page.graph
  const commit = useCommit(row?.oid)
  if (!row) return <aside class="detail" aria-label="Commit" />
  return (
    // It scrolls: the keyboard must be able to reach it.
    <aside
      class="detail"
      aria-label={`Commit ${shortId(row.oid)}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      onKeyDown={event => {
        if (event.key !== 'Escape' || page.menu.peek()) return
        page.graph.focusWanted.value++
        event.stopPropagation()
      }}
    >
      <div class="detail-head">
        <h2>
          <bdi>{withoutTricks(row.subject)}</bdi>
        </h2>
        {commit ? <Body message={commit.message} /> : null}
      </div>
      <Facts row={row} isRead={commit !== undefined} />
      <Acts row={row} />
      {commit ? <Files key={row.oid} commit={commit} /> : null}
    </aside>
  )
}

function useCommit(oid: string | undefined): Answer<'commit'> | undefined {
  const page = usePage()
  const commit = useSignal<Answer<'commit'> | undefined>(undefined)
  useEffect(() => {
    if (oid === undefined) return undefined
    let isStale = false
    const timer = setTimeout(() => {
      page.connection.ask('commit', { commit: oid }).then(
        answer => {
          if (!isStale) commit.value = answer
        },
        error => {
          if (!isStale) page.complain(error)
        },
      )
    }, ASK_AFTER)
    return () => {
      isStale = true
      clearTimeout(timer)
    }
  }, [page, oid, commit])
  return commit.value?.row.oid === oid ? commit.value : undefined
}

/** What follows the first line, without the trailers of the desk: those are said as facts. */
function Body({ message }: { message: string }) {
  const [, ...rest] = message.split('\n')
  const text = rest.join('\n').replace(/^Forge-(Model|Turn): .*\n?/gm, '')
  const paragraphs = text.trim() === '' ? [] : text.trim().split(/\n\s*\n/)
  if (paragraphs.length === 0) return null
  return (
    <div class="body">
      {paragraphs.map((paragraph, index) => (
        <p key={index}>{paragraph.split('\n').map(visible).join('\n')}</p>
      ))}
    </div>
  )
}

/** `isRead`: all of the commit is there, not its row alone. Then there is time for what takes some. */
function Facts({ row, isRead }: { row: GraphRow; isRead: boolean }) {
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
        <bdi class="cut" title={author.email}>
          {withoutTricks(model ? `${model} for ${author.name}` : author.name)}
        </bdi>
      </dd>
      <dt>When</dt>
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
            <bdi class="cut">{abandoned ? withoutTricks(abandoned) : 'abandoned'}</bdi>
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
      <Button
        look="small"
        icon="eye"
        words="Time travel"
        keys="Enter"
        onClick={() => page.open({ kind: 'commit', commit: row.oid })}
      />
      <Button
        look="small"
        icon="branch"
        words="Branch from here"
        onClick={() => newBranch(page, commitSource(row.oid))}
      />
      <IconButton
        icon="more"
        words="More of this commit"
        onClick={event => {
          const button = event.currentTarget
          page.openMenu(commitMenu(page, row), placeOfMenu(event, button), button)
        }}
      />
    </div>
  )
}

function Files({ commit: { changes } }: { commit: Answer<'commit'> }) {
  return (
    <section class="detail-changes" aria-label="Files">
      <h3>
        <span class="grow">{plural(changes.length, 'file')}</span>
        <ChangeSum changes={changes} />
      </h3>
      <ChangesWithDiffs changes={changes} />
    </section>
  )
}
