/** The side bar of a waiting merge: its files, what is left, Finish and Abort. */
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { Merging, MergingFile } from '../../contract/merging.ts'
import { isAtWork, mergingFiles, shownPath, tallyOf } from '../page/branch-facts.ts'
import { usePlace } from '../page/places.ts'
import { type Tab, usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { useKeptSelection } from '../ui/kept-selection.ts'
import { shownKeys } from '../ui/keys.ts'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { readable, withoutTricks } from '../ui/names.ts'
import { digits, plural } from '../ui/times.ts'
import { Button, IconButton, Path } from '../ui/words.tsx'
import { abort, finish, update, whyNotFinished } from './merging-actions.ts'
import { conflictMenu } from './merging-commands.ts'

const GROUPS: { state: MergingFile['state']; title: string }[] = [
  { state: 'open', title: 'To do' },
  { state: 'odd', title: 'To review' },
  { state: 'settled', title: 'Resolved' },
]

export function MergingSide({ tab }: { tab: Tab }) {
  const { latest, problem } = tab.merging
  useEffect(() => tab.merging.load(), [tab])
  const known = latest.value
  const { left, all } = tallyOf(usePage(), tab)
  return (
    <aside class="side" aria-label="Side bar">
      <div class="side-head">
        <h2 class="grow cut">{known ? titleOf(known) : 'Merging'}</h2>
        {known ? (
          <span class="meta">
            {digits(all - left)} of {digits(all)}
            <span class="vh"> resolved</span>
          </span>
        ) : null}
        <IconButton
          icon="list"
          words="Show the explorer"
          onClick={() => {
            tab.merging.showsExplorer.value = true
          }}
        />
      </div>
      {known ? (
        <Files tab={tab} merging={known} />
      ) : (
        <FailedLine problem={problem.value} again={() => tab.merging.refresh()} />
      )}
      {known && known.kind !== 'drafts' ? <End tab={tab} merging={known} /> : null}
      {known?.kind === 'drafts' ? <p class="meta no-row">Save each file when its conflicts are resolved.</p> : null}
    </aside>
  )
}

const DOING = {
  merge: 'Merging',
  land: 'Landing',
  'cherry-pick': 'Cherry-picking',
  revert: 'Reverting',
  drafts: 'Conflicts with',
}

const REWRITING: Record<string, string> = {
  amend: 'Amending',
  drop: 'Dropping',
  reorder: 'Reordering',
  reword: 'Rewording',
  split: 'Splitting',
  squash: 'Squashing',
}

function titleOf({ kind, ours, theirs, reverts = theirs, rewrites, onto = ours }: Merging): string {
  if (rewrites !== undefined) return withoutTricks(rewrites.replace(/^\w+/, verb => REWRITING[verb] ?? verb))
  if (kind === 'rebase') return `Rebasing onto ${readable(onto)}`
  return `${DOING[kind]} ${readable(reverts)}`
}

function Files({ tab, merging }: { tab: Tab; merging: Merging }) {
  const { byGit, at } = merging
  const files = mergingFiles(usePage(), tab)
  return (
    <nav class="list" aria-label="Conflicted files">
      {at ? (
        <p class="meta step-of">
          Commit {at.number} of {at.of}: <bdi>{withoutTricks(at.subject)}</bdi>
        </p>
      ) : null}
      {GROUPS.map(({ state, title }) => {
        const [first] = GROUPS.flatMap(group => files.filter(file => file.state === group.state))
        const some = files.filter(file => file.state === state)
        return some.length === 0 ? null : (
          <section key={state} aria-label={title}>
            <h3>{title}</h3>
            {some.map(file => (
              <FileRow key={file.path} tab={tab} file={file} isFirst={file === first} />
            ))}
          </section>
        )
      })}
      {merging.kind === 'drafts' ? null : (
        <h3>
          Merged by git <span class="meta">{plural(byGit, 'file')}</span>
        </h3>
      )}
    </nav>
  )
}

function FileRow({ tab, file, isFirst }: { tab: Tab; file: MergingFile; isFirst: boolean }) {
  const page = usePage()
  const button = usePlace<HTMLButtonElement>(...(isFirst ? (['conflicted files'] as const) : []))
  const { state, left, all, words } = file
  const path = shownPath(file)
  const openMenu = (event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    page.openMenu(conflictMenu({ page, tab, file }), placeOfMenu(event, element), element)
  }
  return (
    <button
      type="button"
      ref={button}
      class="filerow plain"
      aria-current={tab.path === path}
      title={words === undefined ? readable(path) : `${readable(path)}: ${withoutTricks(words)}`}
      onContextMenu={event => openMenu(event, event.currentTarget)}
      onKeyDown={event => {
        if (asksForMenu(event)) openMenu(event, event.currentTarget)
      }}
      onClick={() => {
        const isShown = tab.path === path
        // A file that is still loading is clicked again: its conflict gets the focus when it is drawn.
        const isComing = !isShown || tab.merging.goingTo?.path === path
        if (state === 'open' && isComing) tab.merging.goTo(path, 1)
        tab.edit(path)
        // The choice of a whole file is no editor.
        if (isShown) page.wantFocus()
      }}
    >
      <Glyph file={file} />
      <Path of={path} />
      {state === 'open' ? (
        <span class="is-warn">{digits(left)} left</span>
      ) : state === 'odd' ? (
        <span class="is-warn">review</span>
      ) : (
        <span class="meta">{digits(all)}</span>
      )}
      <span class="vh">
        {state === 'settled' ? `, resolved${byWords(file)}` : ''}
        {words === undefined ? '' : `: ${withoutTricks(words)}`}
      </span>
    </button>
  )
}

/** Whether a model has resolved conflicts of a file. */
const isByModel = ({ by }: MergingFile): boolean => by !== undefined && by.settled !== 0

function byWords(file: MergingFile): string {
  const { by, all } = file
  if (!by || !isByModel(file)) return ''
  const part = (by.settled ?? all) < all ? ' in part' : ''
  return `${part} by ${withoutTricks(by.model)}${by.isChanged ? ', edited since' : ''}`
}

function Glyph({ file }: { file: MergingFile }) {
  const { state } = file
  if (state === 'open') return <Icon name="clash" size="xs" tone="is-warn" />
  if (state === 'odd') return <Icon name="warning" size="xs" tone="is-warn" />
  return isByModel(file) ? <Icon name="bot" size="xs" tone="by-ai" /> : <Icon name="check" size="xs" />
}

const FINISH = { last: 'Finish', other: 'Finish this commit' }
/** The button if nothing is left to commit: a merge makes a commit even then. */
const SKIP: Record<Merging['kind'], string> = {
  merge: FINISH.last,
  land: 'Skip the landing',
  rebase: 'Skip this commit',
  'cherry-pick': 'Skip this commit',
  revert: 'Skip the revert',
  drafts: FINISH.last,
}

/** The button that leaves out the commit in conflict: of several that are reverted, only this one. */
const skipOf = ({ kind, at }: Merging): string => (at && at.of > 1 && kind === 'revert' ? SKIP.rebase : SKIP[kind])

const AT_WORK = 'The AI is at work here: wait for it, or stop it.'

/**
 * The end of the list: the commit message once no conflict is left; the reason why the merge can't be finished yet, or
 * makes no commit; the results to review; Abort, disabled only while the AI works; and Finish.
 */
function End({ tab, merging }: { tab: Tab; merging: Merging }) {
  const page = usePage()
  const why = useId()
  const box = usePlace<HTMLDivElement>('end of merge')
  const button = usePlace<HTMLButtonElement>('finish')
  const branch = tab.at.kind === 'branch' ? tab.at.branch : ''
  const isLocked = isAtWork(page, branch)
  const reason = isLocked ? AT_WORK : whyNotFinished(page, merging)
  const { at, forklift, nothingLeft, files } = merging
  const words = reason ?? nothingLeft
  const isLast = !at || at.number >= at.of
  const { message, isEnding } = tab.merging
  const field = useRef<HTMLTextAreaElement>(null)
  useKeptSelection(field)
  // A field that the user types in stays, whatever other windows and programs do: the focus would go to the editor,
  // with the rest of the sentence.
  const [isTyping, setIsTyping] = useState(false)
  // Also while a conflict is shown as open: the answer to its choice may be on its way. finish() says what is left.
  const end = () => {
    if (isLocked) page.spoken.value = AT_WORK
    else void finish(page, tab)
  }
  const hasMessage = isTyping || (nothingLeft === undefined && files.every(({ state }) => state !== 'open'))
  return (
    <div class="finish" ref={box}>
      {hasMessage ? (
        <label class="field-label">
          Commit message
          <textarea
            ref={field}
            class="field"
            rows={3}
            value={message.value ?? merging.message}
            onInput={event => tab.merging.writeMessage(event.currentTarget.value)}
            onFocus={() => setIsTyping(true)}
            onBlur={() => setIsTyping(false)}
            aria-keyshortcuts="Control+Enter"
            title={`${shownKeys('Ctrl+Enter')} finishes`}
            onKeyDown={event => {
              if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
              event.preventDefault()
              end()
            }}
          />
        </label>
      ) : null}
      {words === undefined ? null : (
        <p class="reason" id={why}>
          <Icon name="alert" tone="is-warn" />
          <span>{withoutTricks(words)}</span>
        </p>
      )}
      <Odd tab={tab} merging={merging} />
      <div class="row">
        <Button words="Abort" isOff={isLocked} onClick={() => abort(page, tab)} />
        {merging.canUpdate ? <Button words="Update" isOff={isLocked} onClick={() => update(page, tab)} /> : null}
        <button
          type="button"
          ref={button}
          class="button main"
          aria-disabled={reason !== undefined || isEnding.value}
          aria-describedby={words === undefined ? undefined : why}
          onClick={end}
        >
          {nothingLeft === undefined ? FINISH[isLast ? 'last' : 'other'] : skipOf(merging)}
        </button>
      </div>
      {forklift ? (
        <p class="meta next">
          Then <b class="strong">Publish</b>: Forklift judges the merge and opens the pull request.
        </p>
      ) : null}
    </div>
  )
}

/**
 * Lists results that differ from what a merge of this kind makes. They should be reviewed, but do not prevent Finish.
 */
function Odd({ tab, merging: { files, odd } }: { tab: Tab; merging: Merging }) {
  const some = files.filter(({ state }) => state === 'odd')
  if (some.length + odd.length === 0) return null
  return (
    <ul class="odd" aria-label="To review">
      {odd.map(words => (
        <li key={words}>{withoutTricks(words)}</li>
      ))}
      {some.map(({ path, words }) => (
        <li key={path}>
          <button type="button" class="link-words" onClick={() => tab.edit(path)}>
            <Path of={path} />
          </button>
          {words === undefined ? null : <div>{withoutTricks(words)}</div>}
        </li>
      ))}
    </ul>
  )
}
