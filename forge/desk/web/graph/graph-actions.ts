/** The actions of the repository view, for the palette, the list of commits, and its toolbar. */
import type { Page } from '../page/state.ts'
import type { Actions } from '../ui/action.ts'
import { readable } from '../ui/names.ts'
import { fetchRemotes, pull, push } from './graph-steps.ts'
import { addRemote } from './remote-actions.ts'

/** The branch that pull and push apply to: that of the selected commit, else the checked out one. */
export function branchInView(page: Page): string | undefined {
  const { oid } = page.graph.selected.value
  const label = oid === undefined ? undefined : page.graph.labels.value.get(oid)?.find(({ kind }) => kind === 'branch')
  return label?.name ?? page.desk.value?.head ?? page.desk.value?.branches[0]?.name
}

const nameInView = (page: Page): string => readable(branchInView(page) ?? '')

function withBranch(run: (page: Page, branch: string) => unknown) {
  return (page: Page): void => {
    const branch = branchInView(page)
    if (branch !== undefined) run(page, branch)
  }
}

export const graphActions = {
  find: {
    label: 'Find a commit…',
    keys: 'Ctrl+F',
    otherKeys: 'Alt+G',
    listKeys: '/',
    icon: 'search',
    run: ({ graph, places }) => {
      // In a narrow window the whole commit covers the list, and the field above it.
      if (places.find('home')?.offsetParent === null) graph.panes.isCommitLarge.value = false
      graph.isFinding.value = true
      graph.findWanted.value++
    },
  },
  abandoned: {
    label: 'Show or hide unreachable commits',
    inPalette: ({ graph }) =>
      graph.filter.value.withAbandoned ? 'Hide unreachable commits' : 'Show unreachable commits',
    keys: 'Alt+Shift+G',
    listKeys: 'A',
    icon: 'ghost',
    run: ({ graph }) => {
      const filter = graph.filter.peek()
      graph.setFilter({ ...filter, withAbandoned: !filter.withAbandoned }, graph.filterWords.peek())
    },
  },
  fetch: { label: 'Fetch', keys: 'Alt+U', listKeys: 'F', icon: 'download', run: page => fetchRemotes(page) },
  pull: {
    label: 'Pull…',
    inPalette: page => `Pull ${nameInView(page)}…`,
    keys: 'Alt+Shift+U',
    icon: 'arrow-down',
    isPossible: page => branchInView(page) !== undefined,
    run: withBranch(pull),
  },
  push: {
    label: 'Push…',
    inPalette: page => `Push ${nameInView(page)}…`,
    keys: 'Alt+Shift+P',
    icon: 'upload',
    isPossible: page => branchInView(page) !== undefined,
    run: withBranch(push),
  },
  addRemote: { label: 'Add a remote…', keys: 'Alt+Shift+N', icon: 'cloud', run: addRemote },
} satisfies Actions<Page>

/** Actions with keys in the list of commits only, which the palette does not offer. */
export const graphListActions = {
  nextFound: { label: 'Next result', listKeys: 'N', icon: 'arrow-down', run: ({ graph }) => graph.findNext(1) },
  previousFound: {
    label: 'Previous result',
    listKeys: 'Shift+N',
    icon: 'arrow-up',
    run: ({ graph }) => graph.findNext(-1),
  },
  zoomIn: { label: 'Zoom in', listKeys: '+', icon: 'zoom-in', run: ({ graph }) => graph.zoom(1) },
  zoomOut: { label: 'Zoom out', listKeys: '-', icon: 'minus', run: ({ graph }) => graph.zoom(-1) },
  resetZoom: { label: 'Reset zoom', listKeys: '0', icon: 'search', run: ({ graph }) => graph.zoom(0) },
  panRight: { label: 'Scroll the lanes right', listKeys: 'ArrowRight', icon: 'arrow-down', run: pan(2) },
  panLeft: { label: 'Scroll the lanes left', listKeys: 'ArrowLeft', icon: 'arrow-up', run: pan(-2) },
} satisfies Actions<Page>

/** Pans by this many lanes. */
function pan(lanes: number) {
  return ({ graph }: Page): void => graph.panBy(lanes * graph.laneGap.peek())
}
