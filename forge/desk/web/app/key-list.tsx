/** The list of all keys, with a search: those that work now first, from the same tables as the palette. */

import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Page, usePage } from '../page/state.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { shownKeys } from '../ui/keys.ts'
import { commandsOf, keysOfView, TABLES } from './commands.ts'

interface KeyGroup {
  title: string
  rows: [keys: readonly string[], label: string][]
}

export function KeyList({ close }: { close: () => void }) {
  const page = usePage()
  const words = useSignal('')
  const groups = useMemo(() => keyGroups(page), [page])
  const found = groups
    .map(({ title, rows }) => ({ title, rows: rows.filter(row => isFound(row, words.value)) }))
    .filter(({ rows }) => rows.length > 0)
  return (
    <DialogFrame title="Keyboard shortcuts" close={close}>
      <div class="dialog-search">
        <input
          class="field"
          type="search"
          aria-label="Search shortcuts"
          placeholder="Search by name or keys"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value
          }}
        />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls, so the keyboard must be able to focus it */}
      <div class="key-groups" tabIndex={0}>
        {found.length === 0 ? <p class="none meta">No results</p> : null}
        {found.map(({ title, rows }) => (
          <section key={title} aria-label={title}>
            <h3>{title}</h3>
            <dl class="key-list">
              {rows.map(([keys, label]) => (
                <div key={`${keys.join(' ')} ${label}`}>
                  <dt>
                    {keys.map(one => (
                      <kbd key={one}>{shownKeys(one)}</kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <footer>
        <span class="grow" />
        <CloseButton words="Close" close={close} />
      </footer>
    </DialogFrame>
  )
}

/** All groups of keys: first those that work now, then those of each part of the page. */
function keyGroups(page: Page): KeyGroup[] {
  const now = commandsOf(page).flatMap(({ keys, otherKeys, words }) => rowsOf(words, [keys, otherKeys]))
  const all = TABLES.map(({ title, tables }) => ({
    title,
    rows: tables
      .flatMap(table => Object.values(table))
      .flatMap(({ label, keys, otherKeys, listKeys }) => rowsOf(label, [keys, otherKeys, listKeys])),
  }))
  const ofView = keysOfView(page).flatMap(([keys, label]) => rowsOf(label, [keys]))
  return [{ title: 'Here, now', rows: [...now, ...ofView] }, ...all]
}

/** The row of an action with all of its keys; none for an action without keys. */
function rowsOf(label: string, keys: readonly (string | undefined)[]): KeyGroup['rows'] {
  const known = keys.filter(one => one !== undefined)
  return known.length === 0 ? [] : [[known, label]]
}

/** Whether all words occur in the row's name or in its keys, in our notation (Ctrl+S) or as shown (⌘S). */
function isFound([keys, label]: KeyGroup['rows'][number], words: string): boolean {
  const text = [label, ...keys, ...keys.map(shownKeys)].join(' ').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}
