/** What can be done with a commit and with each label that stands at it, as the items of a menu. */
import type { GraphRow } from '../../contract/graph.ts'
import type { Source } from '../../contract/steps.ts'
import { copy, deleteBranch, newBranch, renameBranch } from '../app/actions.ts'
import type { Command } from '../app/command.ts'
import type { Page } from '../app/state.ts'
import type { IconName } from '../ui/icons.tsx'
import type { MenuItem, Offer } from '../ui/menu-content.ts'
import { readable, shortId } from '../ui/names.ts'
import { remoteItems } from './branch-steps.ts'
import type { Label } from './graph-labels.ts'
import { chooseTarget, deleteTag, fetchRemotes, tagAt } from './graph-steps.ts'
import { commitSource, sourceOf, titleInto, WAYS, type Way, wordsInto } from './step-ways.ts'

const ICONS: Record<Way, IconName> = {
  merge: 'merge',
  land: 'land',
  rebase: 'rebase',
  'cherry-pick': 'pick',
  move: 'move',
}
const KEYS: Record<Way, string> = { merge: 'M', land: 'L', rebase: 'R', 'cherry-pick': 'C', move: 'V' }

/** The letters that do something with the row that is selected, as they stand in its menu. */
export function letterOf(page: Page, row: GraphRow, letter: string): (() => void) | undefined {
  const items = commitMenu(page, row).groups.flat()
  return items.find(({ keys }) => keys === letter.toUpperCase())?.run
}

/** A commit as what is merged or moved to: what is done with a branch that stands there is done in its name. */
function sourceAt({ graph }: Page, { oid }: GraphRow): Source {
  const branch = graph.labels.value.get(oid)?.find(label => label.kind === 'branch')
  return branch ? sourceOf(branch) : commitSource(oid)
}

/** What can be done with the commit that is selected, in whole words. */
export function stepsWithSelected(page: Page): Command[] {
  const { row } = page.graph
  if (!row) return []
  const source = sourceAt(page, row)
  return waysOf(source).map(way => ({
    words: titleInto(way, source),
    ...{ icon: ICONS[way], keys: KEYS[way], isOfList: true },
    run: () => chooseTarget(page, source, way),
  }))
}

export function commitMenu(page: Page, row: GraphRow): Offer {
  const labels = page.graph.labels.peek().get(row.oid) ?? []
  const source = sourceAt(page, row)
  const travel: MenuItem = {
    words: 'Browse files at this commit',
    icon: 'eye',
    keys: 'Enter',
    run: () => page.open({ kind: 'commit', commit: row.oid }),
  }
  const { panes } = page.graph
  const large: MenuItem = {
    words: panes.isCommitLarge.peek() ? 'Show the graph again' : 'Show the whole commit',
    icon: panes.isCommitLarge.peek() ? 'shrink' : 'enlarge',
    keys: 'O',
    run: () => {
      panes.isCommitLarge.value = !panes.isCommitLarge.peek()
    },
  }
  const others = labels.map(
    (label): MenuItem => ({
      words: `${readable(label.name)}…`,
      icon: label.kind === 'branch' ? 'branch' : label.kind === 'remote' ? 'cloud' : 'tag',
      run: () => openAgain(page, labelMenu(page, label)),
    }),
  )
  return {
    title: `${shortId(row.oid)} ${row.subject}`,
    groups: [
      [travel, large, ...makingItems(page, commitSource(row.oid))],
      stepItems(page, source),
      others,
      [{ words: 'Copy the hash', icon: 'copy', run: () => void copy(page, row.oid) }],
    ],
  }
}

/** A menu that opens where the one before it was. */
function openAgain(page: Page, offer: Offer): void {
  const active = document.activeElement
  const element = document.querySelector('.graph-list [aria-selected="true"]') ?? active
  const { left, bottom } = element?.getBoundingClientRect() ?? { left: 0, bottom: 0 }
  page.openMenu(offer, { x: left + 120, y: bottom }, active instanceof HTMLElement ? active : undefined)
}

function makingItems(page: Page, source: Source): MenuItem[] {
  return [
    { words: 'Branch from here…', icon: 'branch', keys: 'B', run: () => newBranch(page, source) },
    { words: 'Tag here…', icon: 'tag', keys: 'T', run: () => tagAt(page, source) },
  ]
}

const waysOf = ({ branch }: Source): Way[] => WAYS.filter(way => way !== 'rebase' || branch !== undefined)

function stepItems(page: Page, source: Source): MenuItem[] {
  return waysOf(source).map(way => ({
    words: wordsInto(way),
    icon: ICONS[way],
    keys: KEYS[way],
    run: () => chooseTarget(page, source, way),
  }))
}

export function labelMenu(page: Page, label: Label): Offer {
  const title = readable(label.name)
  const source = sourceOf(label)
  const { name } = label
  const steps = stepItems(page, source).map(({ keys: _, ...item }) => item)
  const making = makingItems(page, source).map(({ keys: _, ...item }) => item)
  const only: MenuItem = {
    words: 'Show only this',
    icon: 'funnel',
    run: () => page.graph.setFilter({ ...page.graph.filter.peek(), refs: [label.ref] }, title),
  }
  if (label.kind === 'tag') {
    const remove: MenuItem = { words: 'Delete the tag…', icon: 'trash', run: () => deleteTag(page, name) }
    return { title, groups: [making.slice(0, 1), steps, [only, remove]] }
  }
  if (label.kind === 'remote') {
    const { remote } = label
    const fetch: MenuItem = {
      words: `Fetch ${readable(remote)}`,
      icon: 'download',
      run: () => void fetchRemotes(page, { remote }),
    }
    return { title, groups: [[...making, fetch], steps, [only]] }
  }
  const open: MenuItem = {
    words: 'Open',
    icon: label.branch.session ? 'bot' : 'sprout',
    run: () => page.open({ kind: 'branch', branch: name }),
  }
  return {
    title,
    groups: [
      [open, ...making],
      steps,
      remoteItems(page, label.branch).map(({ keys: _, ...item }) => item),
      [
        only,
        { words: 'Rename…', icon: 'pencil', run: () => renameBranch(page, name) },
        { words: 'Delete…', icon: 'trash', run: () => deleteBranch(page, name) },
      ],
    ],
  }
}
