/** The side bar of the repository view: branches, remotes and tags. Each selects its commit in the graph. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { BranchInfo } from '../../contract/branches.ts'
import { ForkliftPanel } from '../forklift/forklift.tsx'
import { branchTitle, draftsOf, MERGING } from '../page/branch-facts.ts'
import { runOfBranch, splitByRun } from '../page/branches-of-runs.ts'
import type { Label } from '../page/graph-labels.ts'
import { usePlace } from '../page/places.ts'
import { type Page, usePage } from '../page/state.ts'
import { BranchIcon, Icon } from '../ui/icons.tsx'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { readable, shortId } from '../ui/names.ts'
import { age, digits, plural } from '../ui/times.ts'
import { byVersion } from '../ui/versions.ts'
import { IconButton, Name, RefName } from '../ui/words.tsx'
import { graphActions } from './graph-actions.ts'
import { labelMenu } from './graph-menus.ts'
import { type RemoteRefs, remoteMenu } from './remote-actions.ts'
import { splitByAge } from './stale-branches.ts'
import { outlookLook, outlookWord } from './step-words.tsx'

/** The number of entries of each kind shown at first, and added by Show more. */
const FIRST_SHOWN = { branches: 14, runs: 4, tags: 4, remote: 20 }
const MORE_SHOWN = 100

export function GraphSide({ width }: { width: number | undefined }) {
  const page = usePage()
  const side = usePlace<HTMLElement>('refs')
  return (
    <aside ref={side} class="side" aria-label="Refs" style={{ width: width === undefined ? '' : `${width}px` }}>
      <div class="side-head">
        <h2 class="grow cut">{page.desk.value?.name}</h2>
        <IconButton
          icon="refresh"
          words={graphActions.fetch.label}
          keys={graphActions.fetch.keys}
          onClick={() => graphActions.fetch.run(page)}
        />
      </div>
      <nav class="list" aria-label="Branches and tags" onKeyDown={moveFocus}>
        <Branches />
        <Runs />
        <Remotes />
        <Tags />
      </nav>
      <ForkliftPanel />
    </aside>
  )
}

function Branches() {
  const page = usePage()
  const shown = useSignal(FIRST_SHOWN.branches)
  const head = page.desk.value?.head
  const branches = useSteady(
    splitByRun(page.graph.branches.value).own.toSorted(
      (one, other) =>
        Number(other.name === head) - Number(one.name === head) ||
        other.committed - one.committed ||
        byName(one, other),
    ),
    ({ name }) => name,
  )
  return (
    <>
      <h3>Branches</h3>
      <DetachedHead />
      {branches.slice(0, shown.value).map(branch => (
        <BranchRef key={branch.name} branch={branch} isHead={branch.name === head} />
      ))}
      <More shown={shown} all={branches.length} />
    </>
  )
}

/**
 * The entries, during a drag in the order that they had when it began, with new ones last: none moves away from under
 * the pointer.
 */
function useSteady<Entry>(entries: Entry[], keyOf: (entry: Entry) => string): Entry[] {
  const { drag } = usePage().graph
  const order = useRef<readonly string[]>([])
  if (!drag.isOn.value) {
    order.current = entries.map(keyOf)
    return entries
  }
  const rankOf = (entry: Entry) => {
    const rank = order.current.indexOf(keyOf(entry))
    return rank === -1 ? entries.length : rank
  }
  return entries.toSorted((one, other) => rankOf(one) - rankOf(other))
}

/** The commit of a HEAD that is on no branch, in git's words. */
function DetachedHead() {
  const page = usePage()
  const oid = page.graph.refs.value?.detached
  if (oid === undefined) return null
  const words = `HEAD detached at ${shortId(oid)}`
  return (
    <button type="button" class="ref" title={`${words}: on no branch`} onClick={() => page.graph.goTo(oid)}>
      <Icon name="commit" />
      <span class="cut">{words}</span>
    </button>
  )
}

/** The branches of each run of the tasks, folded under its name, newest run first. */
function Runs() {
  const page = usePage()
  const shown = useSignal(FIRST_SHOWN.runs)
  const { ofRuns } = splitByRun(page.graph.branches.value)
  const runs = useSteady(
    [...Map.groupBy(ofRuns, ({ name }) => runOfBranch(name) ?? '')].toSorted(
      ([, one], [, other]) => newest(other) - newest(one),
    ),
    ([run]) => run,
  )
  if (runs.length === 0) return null
  return (
    <>
      <h3>Branches of runs</h3>
      {runs.slice(0, shown.value).map(([run, branches]) => (
        <RunBranches key={run} run={run} branches={branches} />
      ))}
      <More shown={shown} all={runs.length} />
    </>
  )
}

const newest = (branches: readonly BranchInfo[]): number => Math.max(...branches.map(({ committed }) => committed))

function RunBranches({ run, branches }: { run: string; branches: readonly BranchInfo[] }) {
  const page = usePage()
  const isOpen = useSignal(false)
  const shown = useSignal(FIRST_SHOWN.remote)
  const head = page.desk.value?.head
  // The checked out branch and branches with a waiting merge are always listed.
  const isNeeded = ({ name, merging }: BranchInfo) => name === head || merging
  const listed = isOpen.value ? branches.toSorted(byName).slice(0, shown.value) : branches.filter(isNeeded)
  return (
    <>
      <button
        type="button"
        class="ref"
        aria-expanded={isOpen.value}
        title={run}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <Icon name="workflow" />
        <bdi class="cut">{wordsOfRun(run)}</bdi>
        <span class="count">
          {dayOfRun(run)} · {digits(branches.length)}
        </span>
      </button>
      {listed.map(branch => (
        <BranchRef
          key={branch.name}
          branch={branch}
          isHead={branch.name === head}
          shownName={branch.name.slice(`forge/${run}/`.length)}
        />
      ))}
      {isOpen.value ? <More shown={shown} all={branches.length} /> : null}
    </>
  )
}

/** A run's name without its date. */
const wordsOfRun = (run: string): string => run.replace(/^\d{8}-/, '')
const dayOfRun = (run: string): string => run.replace(/^\d{4}(\d\d)(\d\d)-.*$/, '$1-$2')

const byName = (one: BranchInfo, other: BranchInfo): number => (one.name < other.name ? -1 : 1)

interface BranchRefProps {
  branch: BranchInfo
  isHead: boolean
  /** The name without the prefix of its run. */
  shownName?: string
}

function BranchRef({ branch, isHead, shownName }: BranchRefProps) {
  const page = usePage()
  const { drag } = page.graph
  const { name, tip, upstream, goneUpstream, merging, session } = branch
  const label: Label = { kind: 'branch', ref: `refs/heads/${name}`, name, tip, branch, isHead }
  const outlook = drag.isOn.value ? drag.outlooks.value.get(name) : undefined
  const isOver = drag.over.value?.ref === label.ref
  const drafts = draftsOf(page, name).length
  const counts = [
    upstream?.ahead ? `↑${digits(upstream.ahead)}` : '',
    upstream?.behind ? `↓${digits(upstream.behind)}` : '',
  ]
  return (
    <RefButton
      label={label}
      look={`${shownName === undefined ? '' : 'inner'} ${isOver ? `over ${outlook?.is ?? ''}` : ''}`}
    >
      {merging ? (
        <Icon name="merge" tone="is-warn" />
      ) : isHead && !session ? (
        <Icon name="branch" />
      ) : (
        <BranchIcon hasSession={session} />
      )}
      <RefName of={name} shown={shownName ?? name} title={branchTitle(name, branch.checkout)} />
      {drafts > 0 && !merging ? (
        <>
          <span class="vh">, {plural(drafts, 'draft')}</span>
          <span class="dot small" title={plural(drafts, 'unsaved draft')} />
        </>
      ) : null}
      {outlook ? (
        <span class={`count outlook ${outlookLook(outlook).tone}`}>
          <Icon name={outlookLook(outlook).icon} size="xs" />
          {outlook.is === 'conflicts' ? `${outlook.conflicts}` : ''}
          <span class="vh">{outlookWord(outlook)}</span>
        </span>
      ) : (
        <span class="count" title={upstreamWords(branch)}>
          {merging ? MERGING[merging] : goneUpstream === undefined ? counts.filter(Boolean).join(' ') : 'upstream gone'}
        </span>
      )}
    </RefButton>
  )
}

function Remotes() {
  const page = usePage()
  const remotes = page.graph.refs.value?.remotes ?? []
  return (
    <>
      <h3>Remotes</h3>
      {page.graph.refs.value && remotes.length === 0 ? (
        <button type="button" class="ref" onClick={() => graphActions.addRemote.run(page)}>
          <Icon name="plus" />
          <span class="cut">{graphActions.addRemote.label}</span>
        </button>
      ) : null}
      {remotes.map(remote => (
        <Remote key={remote.name} remote={remote} />
      ))}
    </>
  )
}

type RemoteBranch = RemoteRefs['branches'][number]

function Remote({ remote }: { remote: RemoteRefs }) {
  const page = usePage()
  const { name, url, branches } = remote
  const isOpen = useSignal(false)
  const { fresh, stale } = useMemo(() => splitByAge(branches), [branches])
  const openMenu = (event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    page.openMenu(remoteMenu(page, remote), placeOfMenu(event, element), element)
  }
  return (
    <>
      <button
        type="button"
        class="ref"
        aria-expanded={isOpen.value}
        title={url === undefined ? readable(name) : readable(url)}
        onContextMenu={event => openMenu(event, event.currentTarget)}
        onKeyDown={event => {
          if (asksForMenu(event)) openMenu(event, event.currentTarget)
        }}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <Icon name="cloud" />
        <Name of={name} />
        <span class="count">{digits(branches.length)}</span>
      </button>
      {isOpen.value ? (
        <>
          <RemoteBranches remote={name} branches={fresh} />
          {stale.length > 0 ? <StaleBranches remote={name} branches={stale} /> : null}
        </>
      ) : null}
    </>
  )
}

function StaleBranches({ remote, branches }: { remote: string; branches: readonly RemoteBranch[] }) {
  const isOpen = useSignal(false)
  return (
    <>
      <button
        type="button"
        class="ref inner"
        aria-expanded={isOpen.value}
        title="No commit within 90 days of the newest one there"
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <Icon name={isOpen.value ? 'chevron-down' : 'chevron-right'} />
        <span class="cut">Stale</span>
        <span class="count">{digits(branches.length)}</span>
      </button>
      {isOpen.value ? <RemoteBranches remote={remote} branches={branches} /> : null}
    </>
  )
}

function RemoteBranches({ remote, branches }: { remote: string; branches: readonly RemoteBranch[] }) {
  const { drag } = usePage().graph
  const shown = useSignal(FIRST_SHOWN.remote)
  const over = drag.over.value?.ref
  return (
    <>
      {branches.slice(0, shown.value).map(branch => (
        <RefButton
          key={branch.ref}
          look={`inner ${branch.ref === over ? `over ${drag.previewed.value?.preview.is ?? 'nothing'}` : ''}`}
          label={{ kind: 'remote', ref: branch.ref, name: `${remote}/${branch.name}`, tip: branch.tip, remote }}
        >
          <RefName of={branch.name} />
          <span class="count">{branch.committed === undefined ? '' : age(branch.committed)}</span>
        </RefButton>
      ))}
      <More shown={shown} all={branches.length} />
    </>
  )
}

function Tags() {
  const page = usePage()
  const shown = useSignal(FIRST_SHOWN.tags)
  const { value: refs } = page.graph.refs
  const tags = useMemo(() => byVersion(refs?.tags ?? []), [refs])
  if (tags.length === 0) return null
  return (
    <>
      <h3>Tags</h3>
      {tags.slice(0, shown.value).map(({ ref, name, tip }) => (
        <RefButton key={ref} label={{ kind: 'tag', ref, name, tip }}>
          <Icon name="tag" />
          <Name of={name} />
        </RefButton>
      ))}
      <More shown={shown} all={tags.length} />
    </>
  )
}

/** Shows more entries, and moves the focus to the first one that was added. */
function More({ shown, all }: { shown: Signal<number>; all: number }) {
  const lastShown = useRef<Element | null>(null)
  const count = shown.value
  useLayoutEffect(() => {
    const added = lastShown.current?.nextElementSibling
    lastShown.current = null
    const button = added?.matches('button') ? added : added?.querySelector('button')
    if (button instanceof HTMLElement) button.focus()
  }, [count])
  const rest = all - count
  if (rest <= 0) return null
  return (
    <button
      type="button"
      class="ref"
      onClick={event => {
        lastShown.current = event.currentTarget.previousElementSibling
        shown.value += MORE_SHOWN
      }}
    >
      <Icon name="more" />
      <span class="cut">{digits(rest)} more</span>
    </button>
  )
}

function RefButton({ label, look = '', children }: { label: Label; look?: string; children: ComponentChildren }) {
  const page = usePage()
  const isCurrent = page.graph.selected.value.oid === label.tip
  const openMenu = (event: MouseEvent | KeyboardEvent, element: HTMLElement) => {
    event.preventDefault()
    page.openMenu(labelMenu(page, label), placeOfMenu(event, element), element)
  }
  return (
    <button
      type="button"
      class={`ref ${look}`}
      aria-current={isCurrent}
      data-ref={label.ref}
      data-branch={label.kind === 'branch' ? label.name : undefined}
      onClick={() => showRef(page, label)}
      onDblClick={() => {
        if (label.kind === 'branch') page.open({ kind: 'branch', branch: label.name })
      }}
      onContextMenu={event => openMenu(event, event.currentTarget)}
      onKeyDown={event => {
        if (asksForMenu(event)) openMenu(event, event.currentTarget)
      }}
    >
      {children}
    </button>
  )
}

async function showRef(page: Page, { ref, name }: Label): Promise<void> {
  const isThere = await page.graph.goTo(ref)
  if (!isThere) page.spoken.value = `${readable(name)} is not among the refs that are shown`
}

/** Moves the focus from line to line by the arrow keys. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (by === undefined || !(event.currentTarget instanceof Element)) return
  const lines = [...event.currentTarget.querySelectorAll<HTMLElement>('.ref')]
  const at = lines.indexOf(document.activeElement as HTMLElement)
  lines[Math.max(0, Math.min(at + by, lines.length - 1))]?.focus()
  event.preventDefault()
}

function upstreamWords({ upstream, goneUpstream }: BranchInfo): string | undefined {
  if (goneUpstream !== undefined) return `Its upstream ${readable(goneUpstream)} is gone on the remote`
  return upstream ? `against ${readable(upstream.name)}` : undefined
}
