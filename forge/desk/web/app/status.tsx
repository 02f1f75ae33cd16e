/** The status bar: the current branch, what is saved, and the message of the next commit. */

import { useEffect } from 'preact/hooks'
import type { BranchInfo } from '../../contract/branches.ts'
import type { Merging } from '../../contract/merging.ts'
import type { At } from '../../contract/values.ts'
import { AiDoing, AiFigures } from '../chat/turn-state.tsx'
import type { Cursor, OpenFile } from '../editor/open-file.ts'
import { fileActions } from '../files/file-actions.ts'
import { openIndentationMenu } from '../files/indentation-menu.ts'
import { openLineEndsMenu } from '../files/line-ends.ts'
import { REMOTE } from '../graph/branch-actions.ts'
import { pull, push } from '../graph/graph-steps.ts'
import { branchOf, changedIn, conflictsIn, draftsOf, MERGING, showsTurn, tallyOf } from '../page/branch-facts.ts'
import { comparedWith } from '../page/compared-with.ts'
import { usePlace } from '../page/places.ts'
import { save } from '../page/saving.ts'
import { type Page, REPOSITORY, TASKS, type Tab, usePage } from '../page/state.ts'
import { undo } from '../page/undo.ts'
import { TasksPlace } from '../tasks/tasks-place.tsx'
import { isPossible, itemsWith } from '../ui/action.ts'
import type { PlaceName } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { placeOfMenu } from '../ui/menu-content.ts'
import { named, readable, shortId } from '../ui/names.ts'
import { ago, digits, plural, timeTitle } from '../ui/times.ts'
import { Button } from '../ui/words.tsx'
import { MessageField, useSuggestion } from './save-message.tsx'
import { branchTabActions } from './tab-menus.ts'

export function StatusBar() {
  const page = usePage()
  const tab = page.tab.value
  const file = tab?.path === undefined ? undefined : page.files.find(tab.at, tab.path)
  return (
    <footer class="status" tabIndex={-1}>
      <div role="status" aria-label="Status">
        {tab ? (
          <Place tab={tab} />
        ) : page.active.value === TASKS ? (
          <TasksPlace tasks={page.tasks} />
        ) : (
          <RepositoryPlace />
        )}
        {tab ? <AiDoing tab={tab} /> : null}
        <span class="vh">{page.spoken.value}</span>
      </div>
      {tab?.at.kind === 'branch' && canSave(page, tab.at) ? <SaveForm tab={tab} branch={tab.at.branch} /> : null}
      <span class="grow" />
      {page.active.value === REPOSITORY ? <UndoSegment /> : null}
      <AiFigures tab={tab} />
      {tab && file ? <FilePlace tab={tab} file={file} /> : null}
    </footer>
  )
}

/** Whether drafts can be saved: not before an AI's turn in the branch is over, kept or discarded. */
function canSave(page: Page, at: At & { kind: 'branch' }): boolean {
  return !page.isGone(at) && !showsTurn(page, at.branch) && page.branch(at.branch)?.merging === undefined
}

function RepositoryPlace() {
  const page = usePage()
  const { value: desk } = page.desk
  const { value: refs } = page.graph.refs
  const { value: total } = page.graph.total
  const counts = [
    plural(desk?.branches.length ?? 0, 'branch', 'branches'),
    refs && refs.remotes.length > 0 ? plural(refs.remotes.length, 'remote') : '',
    total === undefined ? '' : plural(total, 'commit'),
  ]
  return (
    <>
      <span class="seg" title={desk?.folder}>
        <Icon name="graph" />
        <bdi class="cut">{desk?.name ?? ''}</bdi>
      </span>
      <span class="seg">{counts.filter(Boolean).join(' · ')}</span>
      {refs?.fetched === undefined ? null : (
        <span class="seg opt-wide" {...timeTitle(refs.fetched)}>
          <Icon name="check" tone="is-ok" />
          Fetched {ago(refs.fetched)}
        </span>
      )}
    </>
  )
}

/** What Undo would revert, in the views of the whole repository. */
function UndoSegment() {
  const page = usePage()
  const words = page.desk.value?.canUndo
  if (words === undefined) return null
  return (
    <span class="seg opt-wide">
      <Button look="quiet undo" icon="undo" words={`Undo: ${words}`} onClick={() => undo(page)} />
    </span>
  )
}

function Place({ tab }: { tab: Tab }) {
  const page = usePage()
  const { at } = tab
  if (at.kind === 'commit') {
    return (
      <>
        <span class="seg">
          <Icon name="clock" />
          <span class="mono">{shortId(at.commit)}</span>
        </span>
        <span class="seg">read-only</span>
      </>
    )
  }
  if (page.isGone(at)) {
    return (
      <span class="seg">
        <Icon name="alert" tone="is-bad" />
        <bdi class="cut">{readable(at.branch)}</bdi> · deleted
      </span>
    )
  }
  const branch = page.branch(at.branch)
  if (branch?.merging) return <MergingPlace tab={tab} branch={branch} />
  return (
    <>
      <span class="seg place">
        <Icon name="branch" />
        <bdi class="cut">{readable(at.branch)}</bdi>
      </span>
      {branch ? <Distance branch={branch} /> : null}
      <Saved tab={tab} branch={branch} />
    </>
  )
}

const INTO = { merge: 'into', land: 'on', rebase: 'onto', 'cherry-pick': 'onto', revert: 'in', drafts: 'into' }

/** What a merge goes into: of a rebase its new base; of a rewriting the commit that the one in conflict comes after. */
const targetOf = ({ onto, ours, rewrites }: Merging): string => (rewrites === undefined ? (onto ?? ours) : ours)

/** The state of a merge in progress, with Finish, which saves the merge with the resolutions as typed. */
function MergingPlace({ tab, branch }: { tab: Tab; branch: BranchInfo }) {
  const page = usePage()
  const merging = tab.merging.latest.value
  const { left, all } = tallyOf(page, tab)
  return (
    <>
      <span class="seg place">
        <Icon name="merge" tone="is-warn" />
        <bdi class="cut">{readable(branch.name)}</bdi> · {MERGING[branch.merging ?? 'merge']}
      </span>
      {merging ? (
        <span class="seg">
          <bdi class="cut">{readable(merging.reverts ?? merging.theirs)}</bdi> {INTO[merging.kind]}{' '}
          <bdi class="cut">{readable(targetOf(merging))}</bdi>
        </span>
      ) : null}
      {!page.connection.isLost.value ? (
        merging && (
          <span class="seg saved">
            {all - left} of {plural(all, 'conflict')} resolved
          </span>
        )
      ) : (
        <Saved tab={tab} branch={branch} />
      )}
    </>
  )
}

/**
 * How far a branch is ahead of and behind its upstream: each number is a button that pushes or pulls, and the upstream
 * opens a menu.
 */
function Distance({ branch }: { branch: BranchInfo }) {
  const page = usePage()
  const { name, upstream, goneUpstream } = branch
  const areRemotesNeeded = !upstream && !page.graph.refs.value
  useEffect(() => {
    if (areRemotesNeeded) void page.graph.needRefs()
  }, [areRemotesNeeded])
  if (!upstream) {
    const hasRemote = (page.graph.refs.value?.remotes.length ?? 0) > 0
    if (!hasRemote) return null
    return (
      <span class="seg distance">
        {goneUpstream === undefined ? null : <span class="meta cut">{readable(goneUpstream)} is gone</span>}
        <button
          type="button"
          class="button quiet small"
          title={`Publish ${named(name)}: push it to a remote…`}
          onClick={() => void push(page, name)}
        >
          <Icon name="upload" />
          <span class="vh">Publish branch…</span>
        </button>
      </span>
    )
  }
  const { ahead, behind, isLocal } = upstream
  const other = readable(upstream.name)
  // The number is that of the upstream, whose remote is offered first. A push never goes to a local upstream.
  const pushing = `Push ${named(name)}: ${plural(ahead, 'commit')} ahead of ${other}`
  const upToDate = `Up to date with ${other}${isLocal ? '' : ', as fetched last'}`
  return (
    <span class="seg distance">
      {ahead > 0 ? (
        <button
          type="button"
          class="button quiet small"
          title={`${pushing}…`}
          onClick={() => void push(page, name, { upstream: upstream.name })}
        >
          <span aria-hidden="true">↑{digits(ahead)}</span>
          <span class="vh">{pushing}</span>
        </button>
      ) : null}
      {behind > 0 ? (
        <button
          type="button"
          class="button quiet small"
          title={`Pull ${plural(behind, 'commit')} from ${other}…`}
          onClick={() => void pull(page, name)}
        >
          <span aria-hidden="true">↓{digits(behind)}</span>
          <span class="vh">
            Pull {plural(behind, 'commit')} from {other}
          </span>
        </button>
      ) : null}
      {ahead + behind > 0 ? null : (
        <button
          type="button"
          class="button quiet small"
          aria-haspopup="menu"
          title={upToDate}
          onClick={event => {
            const button = event.currentTarget
            page.openMenu(
              { title: other, groups: [itemsWith({ page, branch: name }, REMOTE)] },
              placeOfMenu(event, button),
              button,
            )
          }}
        >
          <Icon name="cloud" />
          <span class="vh">{upToDate}</span>
        </button>
      )}
    </span>
  )
}

function Saved({ tab, branch }: { tab: Tab; branch: BranchInfo | undefined }) {
  const page = usePage()
  if (page.connection.isLost.value) {
    return (
      <span class="seg">
        <Icon name="warning" tone="is-warn" />
        Not connected
      </span>
    )
  }
  const drafts = changedIn(page, branchOf(tab) ?? '').length
  if (!branch)
    return <span class="seg">{drafts > 0 ? `${plural(drafts, 'draft')}, no commits yet` : 'no commits yet'}</span>
  if (drafts > 0) {
    return (
      <span class="seg saved">
        <span class="dot" />
        {branch.changedByAi ? `${plural(drafts, 'file')} changed` : plural(drafts, 'draft')} since{' '}
        <span class="mono">{shortId(comparedWith(branch))}</span>
      </span>
    )
  }
  if (page.savedLast.value.get(branch.name) !== branch.tip) {
    return (
      <span class="seg saved">
        No drafts since <span class="mono">{shortId(branch.tip)}</span>
      </span>
    )
  }
  return (
    <span class="seg saved">
      <Icon name="check" tone="is-ok" />
      Saved → <span class="mono">{shortId(branch.tip)}</span>
    </span>
  )
}

/** The message of the next commit, and Save. The message is the server's suggestion until another one is typed. */
function SaveForm({ tab, branch }: { tab: Tab; branch: string }) {
  const page = usePage()
  const { path } = tab
  const drafts = draftsOf(page, branch)
  const isThis = path !== undefined && drafts.includes(path)
  const suggested = useSuggestion(branch, isThis ? [path] : 'all')
  const conflicts = conflictsIn(page, branch)
  const hasConflict = isThis ? conflicts.includes(path) : conflicts.length > 0
  const reason = offReason(drafts.length, hasConflict)
  const { save: saveThis, saveAll } = branchTabActions

  const submit = () => {
    if (!reason) save(page, tab, isThis ? 'this' : 'all')
  }

  return (
    <form
      class="seg save-form"
      onSubmit={event => {
        event.preventDefault()
        submit()
      }}
    >
      <MessageField tab={tab} suggested={suggested} reason={reason} hasDrafts={drafts.length > 0} submit={submit} />
      <button
        type="submit"
        class="button save"
        aria-disabled={reason !== undefined}
        title={reason ?? (isThis ? saveThis.label : saveAll.label)}
      >
        {page.saves.running.value.has(branch) ? 'Saving' : 'Save'}
        <kbd>{shownKeys(isThis || drafts.length === 0 ? saveThis.keys : saveAll.keys)}</kbd>
      </button>
      {isThis && drafts.length > 1 ? (
        <button
          type="button"
          class="button save-all opt-wide"
          title={`Save all drafts in one commit  ${shownKeys(saveAll.keys)}`}
          onClick={() => save(page, tab, 'all')}
        >
          All {digits(drafts.length)}
        </button>
      ) : null}
    </form>
  )
}

function offReason(drafts: number, hasConflict: boolean): string | undefined {
  if (hasConflict) return 'Resolve the conflicts first'
  return drafts === 0 ? 'Nothing to save' : undefined
}

function FilePlace({ tab, file }: { tab: Tab; file: OpenFile }) {
  const page = usePage()
  const shown = file.file.value
  if (shown?.kind !== 'text') return null
  const { line, column } = file.cursor.value
  return (
    <>
      <span class="seg line-column">
        <button
          type="button"
          class="button quiet small"
          title={`Line ${line}, column ${column}: go to a line…  ${shownKeys('Ctrl+G')}`}
          onClick={() => {
            page.palette.value = 'line'
          }}
        >
          {line}:{column}
          {selectionWords(file.cursor.value)}
        </button>
      </span>
      <span class="seg opt-wide">
        <IndentationButton file={file} />
      </span>
      <span class="seg opt-wide">
        <LineEnds tab={tab} file={file} /> · {shown.encoding ?? 'UTF-8'}
        {shown.bom ? ' with BOM' : ''}
      </span>
      <span class="seg opt-wide">
        <button
          type="button"
          class="button quiet small"
          aria-haspopup="dialog"
          title={`Change the language  ${shownKeys(fileActions.language.keys)}`}
          onClick={() => fileActions.language.run({ page, tab, path: file.path })}
        >
          {file.languageName.value}
        </button>
      </span>
    </>
  )
}

/** The number of cursors, or of selected characters, after a blank; empty for a cursor without a selection. */
function selectionWords({ selected, cursors }: Cursor): string {
  if (cursors > 1) return ` (${cursors} cursors)`
  return selected > 0 ? ` (${selected.toLocaleString('en')} selected)` : ''
}

/** The line endings of a file, and a menu that changes them where the file can be edited. */
function LineEnds({ tab, file }: { tab: Tab; file: OpenFile }) {
  const page = usePage()
  const { lineEnd = '' } = file
  const words = lineEnd === 'mixed' ? 'mixed line endings' : lineEnd
  if (!isPossible(fileActions.lineEnds, { page, tab, path: file.path })) return <>{words}</>
  return (
    <MenuButton
      place="line endings"
      title={`Change the line endings  ${shownKeys(fileActions.lineEnds.keys)}`}
      words={words}
      open={opener => openLineEndsMenu(page, file, opener)}
    />
  )
}

/** What Tab inserts, such as `Spaces: 4`, and a menu that changes it. */
function IndentationButton({ file }: { file: OpenFile }) {
  const page = usePage()
  return (
    <MenuButton
      place="indentation"
      title={`Change the indentation  ${shownKeys(fileActions.indentation.keys)}`}
      words={file.indent.value}
      open={opener => openIndentationMenu(page, file, opener)}
    />
  )
}

interface MenuButtonProps {
  place: PlaceName
  title: string
  words: string
  open: (opener: HTMLElement) => void
}

/** A button of the status bar that opens a menu above itself. */
function MenuButton({ place, title, words, open }: MenuButtonProps) {
  const button = usePlace<HTMLButtonElement>(place)
  return (
    <button
      ref={button}
      type="button"
      class="button quiet small"
      aria-haspopup="menu"
      title={title}
      onClick={event => open(event.currentTarget)}
    >
      {words}
    </button>
  )
}
