/** Actions on the remotes of the repository, and their menu. */
import { STEP_TOPIC } from '../merging/after-step.ts'
import type { Page } from '../page/state.ts'
import { type Actions, itemsWith } from '../ui/action.ts'
import type { Offer } from '../ui/menu-content.ts'
import { readable, typedName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { fetchRemotes } from './graph-steps.ts'

export type RemoteRefs = NonNullable<Page['graph']['refs']['value']>['remotes'][number]

interface OneRemote {
  page: Page
  remote: RemoteRefs
}

/** Asks for the name and the URL of a new remote. */
export async function addRemote(page: Page): Promise<void> {
  const refs = await page.graph.needRefs()
  const names = (refs?.remotes ?? []).map(({ name }) => name)
  page.dialog.value = {
    kind: 'ask',
    title: 'Add a remote',
    label: 'Name',
    value: names.includes('origin') ? '' : 'origin',
    button: 'Continue',
    run: async words => {
      const name = typedName(words, '')
      if (names.includes(name)) throw new Error(`There is a remote ${readable(name)} already: choose another name.`)
    },
    goOn: words => askForUrl(page, typedName(words, '')),
  }
}

function askForUrl(page: Page, name: string): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Add the remote ${readable(name)}`,
    label: 'URL',
    value: '',
    button: 'Add',
    run: async url => {
      await page.connection.ask('add remote', { name, url })
      const fetching = { words: 'Fetch', run: () => fetchRemotes(page, { remote: name }) }
      page.tell({ topic: STEP_TOPIC, title: `Added the remote ${readable(name)}`, actions: [fetching] })
    },
  }
}

export const remoteActions = {
  fetch: {
    label: 'Fetch',
    icon: 'download',
    run: ({ page, remote }) => fetchRemotes(page, { remote: remote.name }),
  },
  changeUrl: { label: 'Change URL…', icon: 'pencil', run: changeUrl },
  add: { label: 'Add a remote…', icon: 'plus', run: ({ page }) => addRemote(page) },
  remove: { label: 'Remove…', icon: 'trash', run: remove },
} satisfies Actions<OneRemote>

export const remoteMenu = (page: Page, remote: RemoteRefs): Offer => {
  const { fetch, changeUrl: changing, add, remove: removing } = remoteActions
  const about = { page, remote }
  return {
    title: readable(remote.name),
    groups: [itemsWith(about, [fetch, changing], 'none'), itemsWith(about, [add, removing], 'none')],
  }
}

function changeUrl({ page, remote: { name, url } }: OneRemote): void {
  page.dialog.value = {
    kind: 'ask',
    title: `Change the URL of ${readable(name)}`,
    label: 'New URL',
    value: '',
    button: 'Change',
    ...(url !== undefined && { hint: `Now: ${readable(url)}` }),
    run: async typed => {
      await page.connection.ask('change remote url', { name, url: typed })
      page.tell({ topic: STEP_TOPIC, title: `Changed the URL of ${readable(name)}` })
    },
  }
}

/** Asks whether to remove a remote. There is no Undo: its URL may have a secret, which no operation is to keep. */
function remove({ page, remote: { name, url, branches } }: OneRemote): void {
  const tracked = new Set(branches.map(branch => `${name}/${branch.name}`))
  const tracking = (page.desk.value?.branches ?? []).filter(({ upstream, goneUpstream }) =>
    goneUpstream === undefined ? tracked.has(upstream?.name ?? '') : goneUpstream.startsWith(`${name}/`),
  )
  const lose = tracking.length === 1 ? 'branch loses its upstream' : 'branches lose their upstreams'
  // It is needed to add the remote again.
  const known = url === undefined ? '' : ` (${readable(url)})`
  page.dialog.value = {
    kind: 'confirm',
    title: `Remove the remote ${readable(name)}?`,
    words: [
      `Its URL${known}, its other settings and its ${plural(branches.length, 'remote branch', 'remote branches')} are removed from this repository. On the remote, nothing changes.`,
      ...(tracking.length === 0
        ? []
        : [`${tracking.length} local ${lose}: ${tracking.map(branch => readable(branch.name)).join(', ')}.`]),
      'There is no Undo: add it again by its URL, and fetch.',
    ],
    button: 'Remove',
    isDangerous: true,
    run: async () => {
      await page.connection.ask('remove remote', { name })
      page.tell({ topic: STEP_TOPIC, title: `Removed the remote ${readable(name)}` })
    },
  }
}
