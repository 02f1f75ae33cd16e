/** The repository: its branches, the newest first, each a click away. */
import { useSignal } from '@preact/signals'
import type { BranchInfo } from '../messages.ts'
import { deleteBranch, newBranch, renameBranch } from './actions.ts'
import { BranchIcon } from './icons.tsx'
import { shortId, withoutTricks } from './names.ts'
import { usePage } from './state.ts'
import { age, fullTime, plural } from './times.ts'
import { VirtualList } from './virtual-list.tsx'
import { Button, Name } from './words.tsx'

const ROW_HEIGHT = 26

export function Repository() {
  const page = usePage()
  const desk = page.desk.value
  const selected = useSignal(0)
  if (!desk) return null
  const branches = desk.branches.toSorted((one, other) => other.committed - one.committed)
  const current = branches[selected.value]
  const open = (branch: BranchInfo | undefined) => {
    if (branch) page.open({ kind: 'branch', branch: branch.name })
  }
  return (
    <section class="middle" aria-label="Repository">
      <div class="review-bar">
        <h2 class="strong">{plural(branches.length, 'branch', 'branches')}</h2>
        <span class="meta cut grow">{desk.folder}</span>
        <Button look="small" icon="branch" words="New branch" onClick={() => newBranch(page)} />
        {current ? (
          <>
            <Button look="small quiet" icon="pencil" words="Rename" onClick={() => renameBranch(page, current.name)} />
            <Button look="small quiet" icon="trash" words="Delete" onClick={() => deleteBranch(page, current.name)} />
          </>
        ) : null}
      </div>
      <VirtualList
        class="list branch-list"
        role="listbox"
        aria-label="All branches"
        tabIndex={0}
        aria-activedescendant={current ? `branch-${selected.value}` : undefined}
        count={branches.length}
        rowHeight={ROW_HEIGHT}
        active={selected.value}
        onKeyDown={event => {
          if (event.altKey || event.ctrlKey || event.metaKey) return
          const next = { ArrowDown: selected.value + 1, ArrowUp: selected.value - 1 }[event.key]
          if (event.key === 'Enter') open(current)
          else if (next === undefined) return
          else selected.value = Math.max(0, Math.min(next, branches.length - 1))
          event.preventDefault()
        }}
        row={index => {
          const branch = branches[index]
          if (!branch) return null
          return (
            <BranchRow
              key={branch.name}
              branch={branch}
              index={index}
              isSelected={index === selected.value}
              select={() => {
                selected.value = index
              }}
              open={() => open(branch)}
            />
          )
        }}
      />
    </section>
  )
}

/** How far a branch is from the one that it follows; nothing where both are the same. */
function distanceOf(upstream: BranchInfo['upstream']): string {
  if (!upstream || upstream.ahead + upstream.behind === 0) return ''
  return `↑${upstream.ahead} ↓${upstream.behind}`
}

interface BranchRowProps {
  branch: BranchInfo
  index: number
  isSelected: boolean
  select: () => void
  open: () => void
}

function BranchRow({ branch, index, isSelected, select, open }: BranchRowProps) {
  const { upstream, drafts, checkout } = branch
  return (
    // The keys of the rows are those of the list, which has the focus.
    // biome-ignore lint/a11y/useKeyWithClickEvents: see above
    <div
      role="option"
      id={`branch-${index}`}
      tabIndex={-1}
      aria-selected={isSelected}
      class="crow branch-row"
      onClick={select}
      onDblClick={open}
    >
      <span class="subject">
        <BranchIcon hasSession={branch.session} />
        <Name of={branch.name} class="strong" />
        {drafts.length > 0 ? <span class="tag you">{plural(drafts.length, 'draft')}</span> : null}
        {checkout ? (
          <span class="tag" title={checkout}>
            checked out
          </span>
        ) : null}
        <bdi class="meta cut">{withoutTricks(branch.subject)}</bdi>
      </span>
      <span class="meta counts">{distanceOf(upstream)}</span>
      <span class="hash">{shortId(branch.tip)}</span>
      <span class="age" title={fullTime(branch.committed)}>
        {age(branch.committed)}
      </span>
    </div>
  )
}
