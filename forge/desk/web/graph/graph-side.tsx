/** The side of the repository view: its branches, remotes and tags. Each leads to its commit in the graph. */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import type { BranchInfo } from '../../contract/branches.ts'
import { type Page, usePage } from '../app/state.ts'
import { ForkliftPanel } from '../forklift/forklift.tsx'
import { BranchIcon, Icon } from '../ui/icons.tsx'
import { asksForMenu, placeOfMenu } from '../ui/menu-content.ts'
import { readable } from '../ui/names.ts'
import { digits } from '../ui/times.ts'
import { IconButton, Name } from '../ui/words.tsx'
import { runOfBranch, splitByRun } from './branches-of-runs.ts'
import type { Label } from './graph-labels.ts'
import { labelMenu } from './graph-menus.ts'
import { fetchRemotes } from './graph-steps.ts'
import { outlookLook, outlookWord } from './step-words.tsx'

/** So many of each kind are there at first, and so many more each time. */
const AT_FIRST = { branches: 14, runs: 4, tags: 4, remote: 20 }
const MORE = 100

export function GraphSide() {
  const page = usePage()
  return (
    <aside class="side" aria-label="Refs">
      <div class="side-head">
        <h2 class="grow cut">{page.desk.value?.name}</h2>
        <IconButton icon="refresh" words="Fetch" keys="F" onClick={() => fetchRemotes(page)} />
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
  const shown = useSignal(AT_FIRST.branches)
  const head = page.desk.value?.head
  const branches = splitByRun(page.graph.branches.value).own.toSorted(
    (one, other) =>
      Number(other.name === head) - Number(one.name === head) || other.committed - one.committed || byName(one, other),
  )
  return (
    <>
      <h3>Branches</h3>
      {branches.slice(0, shown.value).map(branch => (
        <BranchRef key={branch.name} branch={branch} isHead={branch.name === head} />
      ))}
      <More shown={shown} all={branches.length} />
    </>
  )
}

/** The branches of each run of the tasks behind its name, the newest run first. */
function Runs() {
  const page = usePage()
  const shown = useSignal(AT_FIRST.runs)
  const { ofRuns } = splitByRun(page.graph.branches.value)
  const runs = [...Map.groupBy(ofRuns, ({ name }) => runOfBranch(name) ?? '')].toSorted(
    ([, one], [, other]) => newest(other) - newest(one),
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
  const shown = useSignal(AT_FIRST.remote)
  const head = page.desk.value?.head
  // One that is checked out, or merged into right now, is never out of sight.
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
        <Name of={run} />
        <span class="count">{branches.length}</span>
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

const byName = (one: BranchInfo, other: BranchInfo): number => (one.name < other.name ? -1 : 1)

interface BranchRefProps {
  branch: BranchInfo
  isHead: boolean
  /** Behind its run, without that. */
  shownName?: string
}

function BranchRef({ branch, isHead, shownName }: BranchRefProps) {
  const page = usePage()
  const { drag } = page.graph
  const { name, tip, upstream, merging, session } = branch
  const label: Label = { kind: 'branch', ref: `refs/heads/${name}`, name, tip, branch, isHead }
  const outlook = drag.dragged.value ? drag.outlooks.value.get(name) : undefined
  const counts = [upstream?.ahead ? `↑${upstream.ahead}` : '', upstream?.behind ? `↓${upstream.behind}` : '']
  return (
    <RefButton
      label={label}
      look={`${shownName === undefined ? '' : 'inner'} ${drag.over.value === name ? `over ${outlook?.is ?? ''}` : ''}`}
    >
      {merging ? (
        <Icon name="merge" tone="is-warn" />
      ) : isHead && !session ? (
        <Icon name="branch" />
      ) : (
        <BranchIcon hasSession={session} />
      )}
      <Name of={shownName ?? name} />
      {outlook ? (
        <span class={`count outlook ${outlookLook(outlook).tone}`}>
          <Icon name={outlookLook(outlook).icon} size="xs" />
          {outlook.is === 'conflicts' ? `${outlook.conflicts}` : ''}
          <span class="vh">{outlookWord(outlook)}</span>
        </span>
      ) : (
        <span class="count" title={upstream ? `against ${readable(upstream.name)}` : undefined}>
          {merging ? 'merging' : counts.filter(Boolean).join(' ')}
        </span>
      )}
    </RefButton>
  )
}

function Remotes() {
  const page = usePage()
  const remotes = page.graph.refs.value?.remotes ?? []
  if (remotes.length === 0) return null
  return (
    <>
      <h3>Remotes</h3>
      {remotes.map(remote => (
        <Remote key={remote.name} remote={remote} />
      ))}
    </>
  )
}

type RemoteRefs = NonNullable<Page['graph']['refs']['value']>['remotes'][number]

function Remote({ remote: { name, url, branches } }: { remote: RemoteRefs }) {
  const isOpen = useSignal(false)
  const shown = useSignal(AT_FIRST.remote)
  return (
    <>
      <button
        type="button"
        class="ref"
        aria-expanded={isOpen.value}
        title={url === undefined ? readable(name) : readable(url)}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      >
        <Icon name="cloud" />
        <Name of={name} />
        <span class="count">{branches.length}</span>
      </button>
      {isOpen.value
        ? branches.slice(0, shown.value).map(branch => (
            <RefButton
              key={branch.ref}
              look="inner"
              label={{ kind: 'remote', ref: branch.ref, name: `${name}/${branch.name}`, tip: branch.tip, remote: name }}
            >
              <Name of={branch.name} />
            </RefButton>
          ))
        : null}
      {isOpen.value ? <More shown={shown} all={branches.length} /> : null}
    </>
  )
}

function Tags() {
  const page = usePage()
  const shown = useSignal(AT_FIRST.tags)
  // By name, with numbers as numbers: the highest version first.
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

function byVersion<Tag extends { name: string }>(tags: readonly Tag[]): Tag[] {
  // Where there is nothing to sort, what knows of languages is not loaded.
  if (tags.length < 2) return [...tags]
  const versions = new Intl.Collator('en', { numeric: true })
  return tags.toSorted((one, other) => versions.compare(other.name, one.name))
}

function More({ shown, all }: { shown: Signal<number>; all: number }) {
  const rest = all - shown.value
  if (rest <= 0) return null
  return (
    <button
      type="button"
      class="ref"
      onClick={() => {
        shown.value += MORE
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

/** The arrows go from line to line. */
function moveFocus(event: KeyboardEvent): void {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (by === undefined || !(event.currentTarget instanceof Element)) return
  const lines = [...event.currentTarget.querySelectorAll<HTMLElement>('.ref')]
  const at = lines.indexOf(document.activeElement as HTMLElement)
  lines[Math.max(0, Math.min(at + by, lines.length - 1))]?.focus()
  event.preventDefault()
}
