/** What can be done in the repository view, in the palette and by keys from everywhere in it. */
import type { Command } from '../app/command.ts'
import type { Page } from '../app/state.ts'
import { readable } from '../ui/names.ts'
import { stepsWithSelected } from './graph-menus.ts'
import { fetchRemotes, pull, push } from './graph-steps.ts'

/** The branch that pull and push are about: that of the selected commit, else the one that is checked out. */
export function branchInView(page: Page): string | undefined {
  const { oid } = page.graph.selected.value
  const label = oid === undefined ? undefined : page.graph.labels.value.get(oid)?.find(({ kind }) => kind === 'branch')
  return label?.name ?? page.desk.value?.head ?? page.desk.value?.branches[0]?.name
}

export function toggleAbandoned({ graph }: Page): void {
  const filter = graph.filter.peek()
  graph.setFilter({ ...filter, withAbandoned: !filter.withAbandoned }, graph.filterWords.peek())
}

export function repositoryCommands(page: Page): Command[] {
  const { graph } = page
  const branch = branchInView(page)
  const name = branch === undefined ? '' : readable(branch)
  return [
    {
      words: 'Find a commit…',
      keys: 'Alt+G',
      icon: 'search',
      run: () => {
        graph.isFinding.value = true
      },
    },
    {
      words: graph.filter.value.withAbandoned ? 'Hide unreachable commits' : 'Show unreachable commits',
      keys: 'Alt+Shift+G',
      icon: 'ghost',
      run: () => toggleAbandoned(page),
    },
    { words: 'Fetch', keys: 'Alt+U', icon: 'download', run: () => void fetchRemotes(page) },
    ...(branch === undefined
      ? []
      : ([
          { words: `Pull ${name}…`, keys: 'Alt+Shift+U', icon: 'arrow-down', run: () => void pull(page, branch) },
          { words: `Push ${name}…`, keys: 'Alt+Shift+P', icon: 'upload', run: () => push(page, branch) },
        ] satisfies Command[])),
    ...stepsWithSelected(page),
  ]
}
