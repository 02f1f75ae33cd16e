/** The palette: finds commands with their keys, branches, files and commits by a few letters, without a mouse. */
import { useSignal } from '@preact/signals'
import fuzzysort from 'fuzzysort'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { GRAPH_CHUNK as CHUNK } from '../../contract/graph.ts'
import type { CommitRow } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import type { OpenFile } from '../editor/open-file.ts'
import type { CodeSymbol } from '../editor/symbols.ts'
import { chooseLanguage } from '../files/chosen-language.ts'
import { jump, openFile, openLine, openPlace } from '../files/open-line.ts'
import { attempt, newBranch } from '../page/actions.ts'
import { splitByRun } from '../page/branches-of-runs.ts'
import { findActions } from '../page/desk-actions.ts'
import type { NamedPlace, PaletteMode } from '../page/palette-mode.ts'
import { remoteBranches, switchTo } from '../page/remote-branches.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { byRank, NOT_TYPED, typedRank } from '../page/typed-refs.ts'
import { useFoundCommits } from '../review/found-commits.ts'
import type { Command } from '../ui/action.ts'
import { type Hold, heldKeys } from '../ui/held-keys.ts'
import { Icon } from '../ui/icons.tsx'
import { shownKeys } from '../ui/keys.ts'
import { LANGUAGE_NAMES } from '../ui/languages.ts'
import { useModal } from '../ui/modal.ts'
import { baseName, folderOf, markedPieces, named, readable, shortId, toName, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { age, plural } from '../ui/times.ts'
import { Waiting } from '../ui/words.tsx'
import { commandsOf } from './commands.ts'

interface Option {
  key: string
  icon: ComponentChildren
  words: ComponentChildren
  end?: ComponentChildren
  /** `isClick`: by a click instead of by Enter. */
  run: (isClick: boolean) => void
  /** For an option that continues the input: the text that it puts into the field, instead of closing the palette. */
  types?: string
  /** For a ref: see {@link typedRank}. */
  rank?: number
}

interface Group {
  title: string
  options: Option[]
}

/** At most this many files that were open last are listed before the others. */
const MAX_RECENT_FILES = 10
const MAX_FILES = 40
const MAX_SYMBOLS = 300
const MAX_SHOWN_PER_GROUP = 8
const MAX_LISTED = 60
/** At most one of this many listed branches is a deleted one. */
const DELETED_SHARE = 4
const MAX_NEWEST_COMMITS = 500
/** The key code of a key that an input method has handled; in Safari also of the Enter that ends a composition. */
const COMPOSING_KEY_CODE = 229

export function Palette() {
  const page = usePage()
  const mode = page.palette.value
  return mode ? <PaletteDialog mode={mode} /> : null
}

function PaletteDialog({ mode }: { mode: PaletteMode }) {
  const page = usePage()
  const dialog = useRef<HTMLDialogElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const words = useSignal(beginningOf(mode))
  const chosen = useSignal(0)
  const { groups, isWaiting } = useGroups(page, mode, words.value)
  // Enter was pressed before the files for these words had arrived: the first one is opened when they do. What is typed
  // meanwhile is for that file.
  const isEager = useSignal(false)
  const hold = useRef<Hold | undefined>(undefined)
  const options = groups.flatMap(group => group.options)
  const current = options[Math.min(chosen.value, options.length - 1)]
  const close = () => {
    page.palette.value = undefined
  }
  const run = (option: Option | undefined, isClick = false) => {
    if (!option) return
    if (option.types !== undefined) {
      words.value = option.types
      chosen.value = 0
      return
    }
    dialog.current?.close()
    close()
    option.run(isClick)
  }

  useModal(dialog)
  useEffect(() => void page.graph.needRefs(), [page])
  // If the keys of another mode are pressed while the palette is open, the same dialog changes to that mode, so that
  // the focus stays in the dialog.
  useLayoutEffect(() => {
    words.value = beginningOf(mode)
    chosen.value = 0
    isEager.value = false
    hold.current?.forget()
    field.current?.focus()
  }, [mode, words, chosen, isEager])
  const isForeseen = current !== undefined && !current.key.startsWith('file ')
  const canRun = !isWaiting || isForeseen
  useEffect(() => {
    if (!isEager.value || !canRun) return
    isEager.value = false
    if (current) hold.current?.release()
    else hold.current?.forget()
    run(current)
  })
  useEffect(() => () => hold.current?.forget(), [])
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  })

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Command palette"
      onClose={event => {
        // The browser reports the close late: the palette may be open again, and this dialog is out of the page.
        if (event.currentTarget.isConnected) close()
      }}
      onClick={event => {
        if (event.target === event.currentTarget) close()
      }}
      onKeyDown={event => {
        // While an input method composes text, it uses Enter, Escape and the arrow keys itself.
        if (event.isComposing || event.keyCode === COMPOSING_KEY_CODE) return
        const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key]
        if (step !== undefined) chosen.value = around(chosen.value + step, options.length)
        // Close at once, since the palette's key may be pressed again before the browser reports the close.
        else if (event.key === 'Escape') close()
        else if (event.key === 'Enter' && canRun) run(current)
        else if (event.key === 'Enter') {
          isEager.value = true
          hold.current = heldKeys.hold()
        } else return
        event.preventDefault()
      }}
    >
      <div class="ask">
        <Icon name="search" size="m" />
        <input
          ref={field}
          role="combobox"
          aria-expanded="true"
          aria-controls="found"
          aria-activedescendant={current ? optionId(current.key) : undefined}
          aria-label="Command palette"
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholderOf(mode)}
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value
            chosen.value = 0
            isEager.value = false
            hold.current?.forget()
          }}
        />
        {isNarrowMode(mode) ? null : <Prefixes />}
      </div>
      <div role="listbox" id="found" aria-label="Results" class="found">
        {groups.map(group => (
          <OptionGroup key={group.title} group={group} current={current} run={run} />
        ))}
      </div>
      {options.length === 0 && isWaiting ? <Waiting words="Searching…" /> : null}
      {options.length === 0 && !isWaiting ? <p class="none meta">{noneWords(mode, words.value)}</p> : null}
      <PaletteFoot mode={mode} />
    </dialog>
  )
}

/** The initial text of the field. */
function beginningOf(mode: PaletteMode): string {
  if (mode === 'line') return ':'
  return mode === 'branches' ? '@' : ''
}

function around(index: number, count: number): number {
  if (count === 0) return 0
  return Math.max(0, Math.min(index, count - 1))
}

function optionId(key: string): string {
  return `option-${key.replace(/[^a-z0-9]/gi, '-')}`
}

/** Whether the palette lists one kind of things only, without prefixes for others. */
function isNarrowMode(mode: PaletteMode): boolean {
  return ['files', 'symbols', 'branch symbols', 'named', 'languages'].includes(mode)
}

function placeholderOf(mode: PaletteMode): string {
  if (mode === 'named') return 'Part of a path or of a line'
  if (mode === 'languages') return 'Name of a language'
  if (mode === 'symbols') return 'Name of a function, a class or a heading'
  if (mode === 'branch symbols') return 'Name of a function or a class in any file'
  return mode === 'files' ? 'Search files by name' : 'Search commands, branches, files, commits'
}

function noneWords(mode: PaletteMode, words: string): string {
  if (mode === 'symbols' && words === '') return 'No symbols in this file'
  if (mode === 'branch symbols' && words.trim() === '') return 'Type a part of a name'
  if (words.startsWith(':')) return 'Type the number of a line'
  return 'No results'
}

function Prefixes() {
  return (
    <span class="prefixes micro opt-wide">
      <span>
        <kbd>&gt;</kbd> commands
      </span>
      <span>
        <kbd>@</kbd> branches
      </span>
      <span>
        <kbd>#</kbd> commits
      </span>
      <span>
        <kbd>:</kbd> line
      </span>
    </span>
  )
}

function PaletteFoot({ mode }: { mode: PaletteMode }) {
  return (
    <footer>
      <span>
        <kbd>↑</kbd> <kbd>↓</kbd> select
      </span>
      <span>
        <kbd>Enter</kbd> {mode === 'languages' ? 'choose' : 'open'}
      </span>
      <span>
        <kbd>Esc</kbd> close
      </span>
    </footer>
  )
}

interface OptionGroupProps {
  group: Group
  current: Option | undefined
  run: (option: Option, isClick: boolean) => void
}

function OptionGroup({ group, current, run }: OptionGroupProps) {
  // A space in an id would make aria-labelledby name several elements.
  const id = `group-${group.title.replace(/\s+/g, '-')}`
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group of options in a list box has no element of its own
    <div role="group" aria-labelledby={id}>
      <div class="group" id={id} role="presentation">
        {group.title}
      </div>
      {group.options.map(option => (
        // The keys of the options are those of the field, which has the focus.
        // biome-ignore lint/a11y/useKeyWithClickEvents: see above
        <div
          key={option.key}
          id={optionId(option.key)}
          role="option"
          class="opt"
          tabIndex={-1}
          aria-selected={option.key === current?.key}
          onMouseDown={event => event.preventDefault()}
          onClick={() => run(option, true)}
        >
          {option.icon}
          <span class="cut">{option.words}</span>
          <span class="row">{option.end}</span>
        </div>
      ))}
    </div>
  )
}

/**
 * The options for the typed words. Files and commits, which the server finds, are added below the others when they
 * arrive.
 */
function useGroups(page: Page, mode: PaletteMode, typed: string): { groups: Group[]; isWaiting: boolean } {
  const prefix = mode === 'named' ? undefined : /^[>@#:]/.exec(typed)?.[0]
  const words = (prefix ? typed.slice(1) : typed).trim()
  const isNarrow = isNarrowMode(mode)
  const wantsFiles = (mode === 'files' && prefix !== ':') || (!isNarrow && !prefix && words !== '')
  const wantsCommits = !isNarrow && (prefix === '#' || (!prefix && words.length > 1))
  const { name, place } = placeIn(words)
  const { options: files, isWaiting } = useFiles(page, name, wantsFiles, place)
  const { options: commits, isWaiting: isFinding } = useCommits(page, words, wantsCommits)
  const isOfFile = mode === 'symbols'
  const file = isOfFile ? fileHere(page) : undefined
  const told = file?.structures.value
  const symbols = useMemo(() => file?.allSymbols() ?? [], [file, told])
  const ofBranch = useBranchSymbols(page, typed.trim(), mode === 'branch symbols')
  // Until the branches are known, the words can't be told apart from the name of a new branch.
  if (!page.desk.value) return { groups: [], isWaiting: true }
  if (prefix === ':' && !isOfFile && mode !== 'branch symbols') {
    const options = lineOptions(page, words)
    return { groups: [{ title: 'Line', options }].filter(hasOptions), isWaiting: false }
  }
  if (mode === 'languages') {
    const options = languageOptions(page, typed.trim())
    return { groups: [{ title: 'Languages', options }].filter(hasOptions), isWaiting: false }
  }
  if (mode === 'named') {
    return { groups: [namedGroup(page, words)].filter(hasOptions), isWaiting: false }
  }
  if (mode === 'branch symbols') {
    return {
      groups: [{ title: ofBranch.title, options: ofBranch.options }].filter(hasOptions),
      isWaiting: ofBranch.isWaiting,
    }
  }
  if (isOfFile) {
    const options = symbolOptions(page, symbols, typed.trim())
    return { groups: [{ title: 'Symbols', options }].filter(hasOptions), isWaiting: told === 0 }
  }
  if (mode === 'files') {
    const recent = words === '' ? recentOptions(page) : []
    const known = new Set(recent.map(({ key }) => key))
    const others = files.filter(({ key }) => !known.has(key))
    const groups = [
      { title: 'Recently opened', options: recent },
      { title: 'Files', options: others },
    ]
    return { groups: groups.filter(hasOptions), isWaiting }
  }
  const isAlone = prefix !== undefined
  const groups: Group[] = []
  if (!prefix || prefix === '>') groups.push({ title: 'Commands', options: commandOptions(page, words, isAlone) })
  if (!prefix || prefix === '@') groups.push({ title: 'Branches', options: branchOptions(page, words, isAlone) })
  const typedRefs = typedRefOptions(page, words)
  if (!prefix) groups.push({ title: 'Tags', options: typedRefs.filter(({ kind }) => kind === 'tag') })
  if (wantsFiles) groups.push({ title: 'Files', options: files.slice(0, MAX_SHOWN_PER_GROUP) })
  if (wantsCommits) {
    const some = commits.slice(0, isAlone ? MAX_LISTED : MAX_SHOWN_PER_GROUP)
    groups.push({ title: 'Commits', options: isAlone ? [...typedRefs, ...some] : some })
  }
  const ranked = byRank(groups.filter(hasOptions), ({ options }) => Math.min(...options.map(rankOf)))
  return { groups: ranked, isWaiting: isWaiting || (isAlone && isFinding) }
}

function hasOptions({ options }: Group): boolean {
  return options.length > 0
}

const rankOf = ({ rank = NOT_TYPED }: { rank?: number }): number => rank

/** The best matches in a list for some words; the beginning of the list if there are no words. */
function best<T>(list: T[], words: string, nameOf: (item: T) => string, limit: number) {
  if (limit <= 0) return []
  if (words === '') return list.slice(0, limit).map(item => ({ item, name: nameOf(item) as ComponentChildren }))
  const prepared = list.map(item => ({ item, name: nameOf(item) }))
  return fuzzysort.go(words, prepared, { key: 'name', limit, threshold: 0.4 }).map(result => ({
    item: result.obj.item,
    name: result.highlight((piece, index) => <mark key={index}>{piece}</mark>) as ComponentChildren,
  }))
}

function commandOptions(page: Page, words: string, isAlone: boolean): Option[] {
  const limit = isAlone ? MAX_LISTED : MAX_SHOWN_PER_GROUP
  // The palette itself is open already.
  const commands = commandsOf(page).filter(({ keys }) => keys !== findActions.find.keys)
  return best<Command>(commands, words, ({ words }) => words, limit).map(({ item, name }) => ({
    key: `command ${item.words}`,
    icon: <Icon name={item.icon} />,
    words: name,
    end: <KeysOf command={item} />,
    run: () => item.run(),
  }))
}

function KeysOf({ command: { keys, listKeys = '' } }: { command: Command }) {
  const shown = keys ?? listKeys
  return shown === '' ? null : <kbd>{shownKeys(shown)}</kbd>
}

function branchOptions(page: Page, words: string, isAlone: boolean): Option[] {
  const branches = (page.desk.value?.branches ?? []).toSorted((one, other) => other.committed - one.committed)
  const limit = isAlone ? MAX_LISTED : MAX_SHOWN_PER_GROUP
  // Branches of runs are found by name, and come after the other branches.
  const { own, ofRuns } = splitByRun(branches)
  const found = best(own, words, ({ name }) => readable(name), limit)
  if (words !== '') found.push(...best(ofRuns, words, ({ name }) => readable(name), limit))
  const local = found.map(
    ({ item, name }): Option => ({
      key: `branch ${item.name}`,
      rank: typedRank(words, 'branch', item.name),
      icon: <Icon name={item.session ? 'bot' : 'sprout'} tone={item.session ? 'by-ai' : ''} />,
      words: <bdi>{name}</bdi>,
      end: (
        <span class="meta">
          {item.drafts.length > 0 ? 'draft · ' : ''}
          {age(item.committed)}
        </span>
      ),
      run: () => {
        page.open({ kind: 'branch', branch: item.name })
        page.wantFocusBack()
      },
    }),
  )
  const deleted = deletedOptions(page, words, limit / DELETED_SHARE)
  const there = byRank([...local, ...remoteOptions(page, words, limit)], rankOf).slice(0, limit - deleted.length)
  const options = byRank([...there, ...deleted], rankOf)
  if (!isAlone) return options
  const isTaken = branches.some(({ name }) => readable(name) === words)
  const make: Option = {
    key: 'new branch',
    icon: <Icon name="plus" />,
    words: words === '' || isTaken ? 'New branch…' : `New branch ${named(toName(words))}…`,
    run: () => newBranch(page, undefined, isTaken ? '' : words),
  }
  const more: Option = {
    key: 'branches of runs',
    icon: <Icon name="workflow" />,
    words: plural(ofRuns.length, 'branch of runs', 'branches of runs'),
    run: () => {},
    types: '@forge/',
  }
  return [...options, ...(words === '' && ofRuns.length > 0 ? [more] : []), make]
}

/** Deleted branches with drafts or a turn of their AI: their tab offers to restore them. */
function deletedOptions(page: Page, words: string, limit: number): Option[] {
  return best(page.desk.value?.deleted ?? [], words, ({ branch }) => readable(branch), limit).map(({ item, name }) => ({
    key: `deleted ${item.branch}`,
    rank: typedRank(words, 'branch', item.branch),
    icon: <Icon name="alert" tone="is-bad" />,
    words: <bdi>{name}</bdi>,
    end: <span class="meta">deleted, has {item.hasTurn ? 'a turn' : 'drafts'}</span>,
    run: () => {
      page.open({ kind: 'branch', branch: item.branch })
      page.wantFocusBack()
    },
  }))
}

/**
 * Remote branches without a local branch of their name: it is created, and tracks the remote branch. If the words begin
 * with the name of the remote, those with a local branch are listed, too: choosing one opens the local branch.
 */
function remoteOptions(page: Page, words: string, limit: number): Option[] {
  const offered = remoteBranches(page).filter(
    ({ name, remote }) => !page.branch(name) || words.startsWith(`${remote}/`),
  )
  const newest = offered.toSorted((one, other) => (other.committed ?? 0) - (one.committed ?? 0))
  return best(newest, words, it => readable(it.words), limit).map(({ item, name }) => ({
    key: `remote ${item.words}`,
    rank: typedRank(words, 'remote branch', item.words, item.name),
    icon: <Icon name="cloud" />,
    words: <bdi>{name}</bdi>,
    end: (
      <span class="meta">
        {page.branch(item.name) ? `remote branch of ${named(item.name)}` : 'remote branch'}
        {item.committed === undefined ? '' : ` · ${age(item.committed)}`}
      </span>
    ),
    run: () => void attempt(page, () => switchTo(page, item)),
  }))
}

const REF_ICONS = { branch: 'branch', tag: 'tag', 'remote branch': 'cloud' } as const

/** The commits of the refs whose name is typed in full. */
function typedRefOptions(page: Page, words: string): (Option & { kind: keyof typeof REF_ICONS })[] {
  const branches = page.desk.value?.branches ?? []
  const refs = [
    ...branches.map(({ name, tip }) => ({ kind: 'branch', name, names: [name], tip }) as const),
    ...(page.graph.refs.value?.tags ?? []).map(({ name, tip }) => ({ kind: 'tag', name, names: [name], tip }) as const),
    ...remoteBranches(page).map(
      ({ words: name, name: short, tip }) => ({ kind: 'remote branch', name, names: [name, short], tip }) as const,
    ),
  ].flatMap(ref => {
    const rank = typedRank(words, ref.kind, ...ref.names)
    return rank < NOT_TYPED ? [{ ...ref, rank }] : []
  })
  return byRank(refs, rankOf).map(({ kind, name, tip, rank }) => ({
    kind,
    key: `commit of ${kind} ${name}`,
    rank,
    icon: <Icon name={REF_ICONS[kind]} />,
    words: <bdi>{readable(name)}</bdi>,
    end: (
      <>
        <span class="meta">{kind}</span>
        <span class="mono meta">{shortId(tip)}</span>
      </>
    ),
    run: () => openCommit(page, tip),
  }))
}

function openCommit(page: Page, commit: string): void {
  page.open({ kind: 'commit', commit })
  page.wantFocusBack()
}

/** The file that is shown. */
function fileHere(page: Page): OpenFile | undefined {
  const tab = page.tab.value
  return tab?.path === undefined ? undefined : page.files.find(tab.at, tab.path)
}

function symbolOptions(page: Page, symbols: CodeSymbol[], words: string): Option[] {
  const tab = page.tab.value
  const path = tab?.path
  if (!tab || path === undefined) return []
  return best(symbols, words, ({ name }) => withoutTricks(name), MAX_SYMBOLS).map(({ item, name }) => ({
    key: `symbol ${item.at}`,
    icon: <Icon name="list" />,
    words: (
      <bdi>
        {words === '' ? '\u2003'.repeat(Math.min(item.depth, 8)) : ''}
        {name}
      </bdi>
    ),
    end: <span class="meta">{item.kind}</span>,
    run: () => {
      const file = page.files.find(tab.at, path)
      if (file) jump(page, file, () => file.goToPlace(item.at))
      tab.edit(path)
    },
  }))
}

const DETECT = 'Auto detect'

/** The languages that the shown file can be coloured by. */
function languageOptions(page: Page, words: string): Option[] {
  const file = fileHere(page)
  if (!file) return []
  const current = file.languageName.value
  const choices = [DETECT, ...LANGUAGE_NAMES] as const
  return best([...choices], words, it => it, MAX_LISTED).map(({ item, name }) => ({
    key: `language ${item}`,
    icon: <Icon name={item === DETECT ? 'search' : item === current ? 'check' : 'file'} />,
    words: name,
    end: item === DETECT ? <span class="meta">{file.detectedLanguage}</span> : null,
    run: () => void chooseLanguage(page, file, item === DETECT ? undefined : item),
  }))
}

/** The pause before the symbols of a branch are asked for again, while files are still being read, in milliseconds. */
const ASK_AGAIN_MS = 700

/** The definitions in all files of the tab that match some words. While files are being read, more are added. */
function useBranchSymbols(
  page: Page,
  words: string,
  isWanted: boolean,
): { title: string; options: Option[]; isWaiting: boolean } {
  const tab = page.tab.value
  const find = async (at: At) => {
    const asked = { at, words: words.slice(0, 400), count: MAX_SYMBOLS }
    return { words, ...(await page.connection.ask('find symbol', asked)) }
  }
  const round = useSignal(0)
  const ask = tab && isWanted ? () => find(tab.at) : undefined
  const { value: found } = useServerValue(ask, [page, tab, words, isWanted, round.value]).latest
  const left = isWanted ? (found?.left ?? 0) : 0
  useEffect(() => {
    if (left === 0) return undefined
    const timer = setTimeout(() => {
      round.value++
    }, ASK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [found, left])
  const title = left > 0 ? `Symbols by name (${plural(left, 'file')} still to be read)` : 'Symbols by name'
  if (!tab || !isWanted || words === '') return { title, options: [], isWaiting: false }
  const options = (found?.symbols ?? []).map(
    ({ path, name, kind, container, line, shownLine = line, column }, index) => ({
      key: `symbol ${index} ${path} ${line} ${column}`,
      icon: <Icon name="list" />,
      words: (
        <>
          <bdi>
            <WithMark text={withoutTricks(name)} words={words} />
          </bdi>{' '}
          <bdi class="meta">{withoutTricks(container)}</bdi>
        </>
      ),
      end: (
        <bdi class="meta cut">
          {kind} · {`${readable(path)}:${shownLine}`}
        </bdi>
      ),
      run: () => openLine(page, tab, path, line, [column, column + name.length]),
    }),
  )
  return { title, options, isWaiting: found?.words !== words || (options.length === 0 && left > 0) }
}

/** The icons of problems. */
const SEVERITY_ICONS = {
  error: { name: 'alert', tone: 'is-bad' },
  warning: { name: 'warning', tone: 'is-warn' },
  info: { name: 'info', tone: '' },
  hint: { name: 'info', tone: '' },
} as const

/** The places of a name, as found for the action that opened the palette. */
function namedGroup(page: Page, words: string): Group {
  const { value: shown } = page.named
  if (!shown) return { title: '', options: [] }
  const { tab, title, places } = shown
  const textOf = ({ path, text }: NamedPlace) => `${withoutTricks(text.trim())} ${readable(path)}`
  const options = best([...places], words, textOf, MAX_SYMBOLS).map(({ item }) => ({
    // Several places can be in one line.
    key: `place ${places.indexOf(item)}`,
    icon: item.severity ? <Icon {...SEVERITY_ICONS[item.severity]} /> : <Icon name="list" />,
    words: <bdi class="mono">{withoutTricks(item.text.trim())}</bdi>,
    end: (
      <span class="meta">
        {item.severity ? `${item.severity} · ` : ''}
        <bdi>{`${readable(item.path)}:${item.shownLine ?? item.line}`}</bdi>
      </span>
    ),
    run: (isClick: boolean) => openLine(page, tab, item.path, item.line, item.ranges[0], isClick),
  }))
  return { title, options }
}

/**
 * The option that goes to a line of the shown file by its number; a column can follow after a second colon or a comma.
 */
function lineOptions(page: Page, words: string): Option[] {
  const tab = page.tab.value
  const path = tab?.path
  const [, line, column = '1'] = /^(\d{1,9})(?:[:,](\d{1,9})?)?$/.exec(words) ?? []
  if (!tab || path === undefined || line === undefined) return []
  const at = Math.max(0, Number(column) - 1)
  const run = () => {
    const file = page.files.find(tab.at, path)
    file?.goWhenOpened(() => jump(page, file, () => file.goToShownLine(Number(line), at)))
    tab.edit(path)
  }
  return [{ key: `line ${words}`, icon: <Icon name="list" />, words: `Go to line ${Number(line)}`, run }]
}

/** A line from 1, and a column from 0. */
interface LinePlace {
  line: number
  column: number
}

/** Splits `file:12`, `file:12:5` or `file(12,5)`, as compilers print it, into the name and the place in the file. */
function placeIn(words: string): { name: string; place?: LinePlace } {
  const [, name, line, column = '1'] =
    /^(.+?):(\d{1,9})(?:[:,](\d{1,9})?)?:?$/.exec(words) ?? /^(.+?)\((\d{1,9})(?:,(\d{1,9}))?\)?$/.exec(words) ?? []
  if (name === undefined || line === undefined) return { name: words.replace(/(?<=.):$/, '') }
  return { name: name.trim(), place: { line: Number(line), column: Math.max(0, Number(column) - 1) } }
}

/** Shows a file, at a place in it where one is given. `isPreview`: in the preview tab. */
async function openAt(
  page: Page,
  tab: Tab,
  path: string,
  place: LinePlace | undefined,
  isPreview: boolean,
): Promise<void> {
  if (place) await openPlace(page, tab, path, file => file.goToShownLine(place.line, place.column), isPreview)
  else openFile(page, tab, path, isPreview)
}

/** The options for files whose path matches some words. Until the answer arrives, those for the previous words stay. */
function useFiles(
  page: Page,
  words: string,
  isWanted: boolean,
  place: LinePlace | undefined,
): { options: Option[]; isWaiting: boolean } {
  const tab = page.tab.value
  const find = async (at: At) => ({
    words,
    files: await page.connection.ask('find file', { at, words: words.slice(0, 400), count: MAX_FILES }),
  })
  const ask = tab && isWanted ? () => find(tab.at) : undefined
  const { value: found } = useServerValue(ask, [page, tab, words, isWanted]).latest
  if (!tab || !isWanted) return { options: [], isWaiting: false }
  const options = (found?.files ?? []).map(({ path, ranges }) => fileOption(page, tab, path, { ranges, place }))
  return { options, isWaiting: found?.words !== words }
}

type Found = { ranges?: [number, number][]; place?: LinePlace | undefined }

const fileOption = (page: Page, tab: Tab, path: string, { ranges = [], place }: Found = {}): Option => ({
  key: `file ${path}`,
  icon: <Icon name="file" />,
  words: <FoundFile path={path} ranges={ranges} />,
  end: place ? <span class="meta">{`line ${place.line}`}</span> : null,
  run: (isClick: boolean) => openAt(page, tab, path, place, isClick),
})

/** The files of the shown tab that were open last: Enter goes back to the one before. */
function recentOptions(page: Page): Option[] {
  const tab = page.tab.value
  return tab ? tab.recentFiles.slice(0, MAX_RECENT_FILES).map(path => fileOption(page, tab, path)) : []
}

function FoundFile({ path, ranges }: { path: string; ranges: [number, number][] }) {
  const folder = folderOf(path)
  const inName = ranges.flatMap(([from, to]): [number, number][] => {
    return to > folder.length ? [[Math.max(0, from - folder.length), to - folder.length]] : []
  })
  return (
    <>
      <bdi>
        <Marked name={baseName(path)} ranges={inName} />
      </bdi>{' '}
      <bdi class="meta">
        <Marked name={folder} ranges={ranges.filter(([, to]) => to <= folder.length)} />
      </bdi>
    </>
  )
}

function Marked({ name, ranges }: { name: string; ranges: [number, number][] }) {
  return markedPieces(name, ranges).map(({ text, isFound }, index) => {
    return isFound ? <mark key={index}>{text}</mark> : text
  })
}

/**
 * Commits for some words: at once the newest ones whose subject matches; then those of all history, on any branch, with
 * the words in their message or author, or as the beginning of their hash.
 */
function useCommits(page: Page, words: string, isWanted: boolean): { options: Option[]; isWaiting: boolean } {
  const tab = page.tab.value
  const newestIn = async (): Promise<CommitRow[]> => {
    const { rows } = tab
      ? await page.connection.ask('history', { at: tab.at, from: 0, count: MAX_NEWEST_COMMITS })
      : await page.connection.ask('graph', { filter: { withAbandoned: false }, from: 0, count: CHUNK })
    return rows
  }
  const newest = useServerValue(isWanted ? newestIn : undefined, [page, tab, isWanted]).latest.value ?? []
  const { commits: rows, isWaiting } = useFoundCommits(isWanted ? words : '', MAX_LISTED)
  if (!isWanted) return { options: [], isWaiting: false }
  const near = best(newest, words, ({ subject }) => withoutTricks(subject), MAX_LISTED)
  const known = new Set(near.map(({ item }) => item.oid))
  const far = rows
    .filter(({ oid }) => !known.has(oid))
    .map(item => ({ item, name: (<WithMark text={withoutTricks(item.subject)} words={words} />) as ComponentChildren }))
  const isNamed = ({ item }: { item: CommitRow }) => /^[0-9a-f]{4,64}$/.test(words) && item.oid.startsWith(words)
  const all = [...near, ...far].sort((one, other) => Number(isNamed(other)) - Number(isNamed(one)))
  const options = all.map(({ item, name }) => ({
    key: `commit ${item.oid}`,
    icon: <Icon name="commit" />,
    words: <bdi>{name}</bdi>,
    end: (
      <>
        <span class="mono meta">{shortId(item.oid)}</span>
        <span class="meta">{age(item.committed)}</span>
      </>
    ),
    run: () => openCommit(page, item.oid),
  }))
  return { options, isWaiting }
}

/** A text in which the matches of the words are highlighted. */
function WithMark({ text, words }: { text: string; words: string }) {
  const at = text.toLowerCase().indexOf(words.toLowerCase())
  if (at < 0) return <>{text}</>
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + words.length)}</mark>
      {text.slice(at + words.length)}
    </>
  )
}
