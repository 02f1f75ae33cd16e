/** A search in all text of a branch or a commit. Matches arrive in pieces. */
import { batch, computed, signal } from '@preact/signals'
import type { SearchLayout } from '../../contract/desk.ts'
import type { News } from '../../contract/news.ts'
import type { Match } from '../../contract/reading.ts'
import type { At } from '../../contract/values.ts'
import { FocusWish } from '../ui/focus.ts'
import type { Connection } from '../ui/socket.ts'
import {
  afterReplacing,
  type EarlierHit,
  editsOf,
  type Hit,
  type Hits,
  hitsOf,
  leftOutNow,
  type Replacing,
} from './replacing.ts'

type Found = Extract<News, { say: 'found' }>
type ReadOnlyFile = NonNullable<Found['readOnly']>[number]

/** At most this many matches are kept; above that, the list is marked as cut. */
const MAX_MATCHES = 20_000
/** Delay between what is typed and the search, in milliseconds. */
const SEARCH_DELAY_MS = 200
/** At most this many files follow renames at a time: the server takes no more. */
const MAX_FOLLOWED_FILES = 1_000
/** At most this many of the hits that are left out are kept when the page is loaded again. */
const MAX_LEFT_OUT_KEPT = 1_000

export class TextSearch {
  readonly words = signal('')
  /** Requests the focus for a field: see {@link wantedField}. */
  readonly focusWish = new FocusWish()
  readonly isRegex = signal(false)
  readonly matchCase = signal(false)
  readonly matchWord = signal(false)
  /** Path filters, such as `*.ts, !test`. */
  readonly files = signal('')
  /** Whether the matches are to be replaced, by {@link replacement}. */
  readonly isReplacing = signal(false)
  readonly replacement = signal('')
  /** Whether each replacement has the case of its match. */
  readonly preservesCase = signal(false)
  /** The field that gets the focus: see {@link focusWish}. */
  readonly wantedField = signal<'words' | 'replacement'>('words')
  /** The hits that are not to be replaced, by their keys. */
  readonly leftOut = signal<ReadonlySet<string>>(new Set())
  /** The index of the selected row. */
  readonly active = signal(1)
  /** The tree in which the shown matches were found. */
  tree: string | undefined
  /** The words and options with which the shown matches were found; their replacements are made with these. */
  readonly asked = signal<Pick<Replacing, 'words' | 'isRegex' | 'matchCase'> | undefined>(undefined)
  readonly matches = signal<Match[]>([])
  /** The files with matches that can't be edited: their matches are left out when they are to be replaced. */
  readonly readOnly = signal<readonly ReadOnlyFile[]>([])
  readonly isRunning = signal(false)
  readonly isCut = signal(false)
  /** Whether files in other encodings than UTF-8 were not searched. */
  readonly isOfUtf8Alone = signal(false)
  readonly problem = signal<string | undefined>(undefined)
  /** The query of the matches that are shown; undefined before the first search. */
  readonly found = signal<string | undefined>(undefined)
  /** What would be replaced, of the shown matches. */
  readonly hits = computed((): Hits => {
    const asked = this.asked.value
    if (!asked || !this.isReplacing.value) return { hits: [], tooLong: 0, unread: 0 }
    const [replacement, preservesCase] = [this.replacement.value, this.preservesCase.value]
    return hitsOf(this.matches.value, { ...asked, replacement, preservesCase })
  })
  /** What is kept of the search when the page is loaded again; undefined where nothing was typed. */
  readonly layout = computed((): SearchLayout | undefined => {
    const texts = { words: this.words.value, files: this.files.value, replacement: this.replacement.value }
    const leftOut = this.#keptNow()
      .filter(({ isLeftOut }) => isLeftOut)
      .slice(0, MAX_LEFT_OUT_KEPT)
    const switches = {
      isReplacing: this.isReplacing.value,
      isRegex: this.isRegex.value,
      matchCase: this.matchCase.value,
      matchWord: this.matchWord.value,
      preservesCase: this.preservesCase.value,
    }
    const isEmpty = Object.values({ ...texts, ...switches }).every(value => !value)
    return isEmpty
      ? undefined
      : { ...texts, ...switches, leftOut: leftOut.map(({ path, line, from, text }) => ({ path, line, from, text })) }
  })

  readonly #connection: Connection
  #at: At
  #search: number | undefined
  #turn = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Whether the matches that arrive first take the place of the shown ones, or of those before a reload. */
  #replacesShown = false
  /** Whether the search is that of before a reload, and was not repeated yet. */
  #isRestored = false
  /**
   * The hits of the search before, in the files in which some are left out: these are left out of its repetition, too.
   */
  #kept: readonly EarlierHit[]
  /** The commit of the branch up to which the files of these hits have followed renames. */
  #followedTo: string | undefined
  readonly #tip: () => string | undefined
  /** Matches that arrived before the id of their search was known. */
  #early: Found[] = []

  /**
   * `kept`: what was searched for when the page was loaded before; {@link again} searches for it. `tip`: gives the
   * commit of the branch now.
   */
  constructor(connection: Connection, at: At, kept: SearchLayout | undefined, tip: () => string | undefined) {
    this.#connection = connection
    this.#at = at
    this.#tip = tip
    this.#kept = kept?.leftOut.map(hit => ({ ...hit, isLeftOut: true })) ?? []
    if (!kept) return
    this.#isRestored = true
    this.#replacesShown = true
    this.words.value = kept.words
    this.files.value = kept.files
    this.replacement.value = kept.replacement
    this.isReplacing.value = kept.isReplacing
    this.isRegex.value = kept.isRegex
    this.matchCase.value = kept.matchCase
    this.matchWord.value = kept.matchWord
    this.preservesCase.value = kept.preservesCase ?? false
  }

  /** Follows the branch to its new name. */
  moveTo(at: At): void {
    this.#at = at
  }

  /**
   * Searches again, such as after files have changed. The shown matches stay until the new ones arrive; for the same
   * words, what was left out of the replacement stays so.
   */
  async again(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#isRestored || this.words.peek() === this.found.peek()) await this.#begin(this.#keptNow())
    else await this.start()
  }

  /** Starts the search after a delay, since more may be typed, in this field or another one. */
  startSoon(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.start(), SEARCH_DELAY_MS)
  }

  async start(): Promise<void> {
    clearTimeout(this.#timer)
    this.active.value = 1
    await this.#begin(undefined)
  }

  /** `kept`: the hits before a repetition, with those that stay left out; undefined for a new search. */
  async #begin(kept: readonly EarlierHit[] | undefined): Promise<void> {
    const turn = ++this.#turn
    this.stop()
    this.#early = []
    this.#isRestored = false
    this.#kept = kept ?? []
    this.#replacesShown = kept !== undefined
    if (!kept) {
      this.matches.value = []
      this.readOnly.value = []
      this.leftOut.value = new Set()
    }
    this.isCut.value = false
    this.isOfUtf8Alone.value = false
    this.problem.value = undefined
    this.tree = undefined
    // Without hits to follow, those of this search follow renames from here on.
    if (this.#kept.length === 0) this.#followedTo = this.#tip()
    const words = this.words.peek()
    const asked = { words, isRegex: this.isRegex.peek(), matchCase: this.matchCase.peek() }
    this.asked.value = asked
    this.found.value = words || undefined
    if (words === '') return
    this.isRunning.value = true
    try {
      // A page that was just loaded is not connected yet.
      await this.#connection.up()
      if (turn !== this.#turn) return
      const { search, tree } = await this.#connection.ask('find text', {
        at: this.#at,
        ...asked,
        matchWord: this.matchWord.peek(),
        files: this.files.peek(),
        wholeLines: this.isReplacing.peek(),
      })
      const followed = await this.#followed()
      if (turn !== this.#turn) {
        this.#stop(search)
        return
      }
      this.#kept = followed.kept
      this.#followedTo = followed.to
      this.tree = tree
      this.#started(search)
    } catch (error) {
      if (turn !== this.#turn) return
      this.isRunning.value = false
      this.problem.value = (error as Error).message
    }
  }

  /** Shows or hides the field of the replacement. The search is repeated, since a replacement needs whole lines. */
  replaces(isReplacing: boolean): void {
    this.isReplacing.value = isReplacing
    this.start()
  }

  /** Focuses a field. */
  focus(field: 'words' | 'replacement'): void {
    batch(() => {
      this.wantedField.value = field
      this.focusWish.make()
    })
  }

  /** Leaves hits out of the replacement, or takes them in again. */
  leaveOut(keys: readonly string[], isLeftOut: boolean): void {
    const leftOut = new Set(this.leftOut.peek())
    for (const key of keys) {
      if (isLeftOut) leftOut.add(key)
      else leftOut.delete(key)
    }
    this.leftOut.value = leftOut
  }

  /**
   * The hits in the files in which some are left out now; those of a repetition without results yet are the ones before
   * it.
   */
  #keptNow(): readonly EarlierHit[] {
    const [leftOut, { hits }] = [this.leftOut.value, this.hits.value]
    if (this.#replacesShown) return this.#kept
    const all = hits.map(({ key, path, line, from, text }) => ({ path, line, from, text, isLeftOut: leftOut.has(key) }))
    const paths = new Set(all.flatMap(({ path, isLeftOut }) => (isLeftOut ? [path] : [])))
    return all.filter(({ path }) => paths.has(path))
  }

  /**
   * The hits that stay left out, also under the new paths of files that were renamed since the search before, and the
   * commit up to which these are known. The old paths stay, too: the search may have begun before the rename.
   */
  async #followed(): Promise<{ kept: readonly EarlierHit[]; to: string | undefined }> {
    const [kept, since] = [this.#kept, this.#followedTo ?? this.#tip()]
    const paths = [...new Set(kept.map(({ path }) => path))].slice(0, MAX_FOLLOWED_FILES)
    if (this.#at.kind !== 'branch' || since === undefined || paths.length === 0) return { kept, to: since }
    const now = await this.#connection
      .ask('paths now', { branch: this.#at.branch, since, paths })
      .catch(() => ({ paths, tip: since }))
    const renamed = new Map(paths.map((path, at) => [path, now.paths[at] ?? path]))
    const all = [...kept, ...kept.map(hit => ({ ...hit, path: renamed.get(hit.path) ?? hit.path }))]
    const byPlace = new Map(all.map(hit => [`${hit.path}\0${hit.line}\0${hit.from}`, hit]))
    return { kept: [...byPlace.values()], to: now.tip }
  }

  /** Searches again after hits have been replaced. */
  async afterReplacing(hits: readonly Hit[]): Promise<void> {
    await this.#begin(afterReplacing(this.#keptNow(), hits))
  }

  /** Replaces hits in the files of a branch. */
  async replace(branch: string, hits: readonly Hit[]) {
    const { tree } = this
    if (tree === undefined) throw new Error('The search has not begun yet: try again in a moment.')
    const { words } = this.asked.peek() ?? { words: '' }
    const named = `“${shortened(words)}” by “${shortened(this.replacement.peek())}”`
    return await this.#connection.ask('replace in files', { branch, tree, words: named, files: editsOf(hits) })
  }

  stop(): void {
    if (this.#search !== undefined && this.isRunning.peek()) this.#stop(this.#search)
    this.#search = undefined
    this.isRunning.value = false
  }

  receive(found: Found): void {
    if (found.search === this.#search) this.#take(found)
    else if (this.isRunning.peek() && this.#search === undefined) this.#early.push(found)
  }

  #started(search: number): void {
    this.#search = search
    for (const found of this.#early.splice(0)) this.receive(found)
  }

  #take(found: Found): void {
    const [before, readOnly] = this.#replacesShown ? [[], []] : [this.matches.peek(), this.readOnly.peek()]
    const added = found.readOnly ?? []
    if (!this.#replacesShown || found.matches.length + added.length > 0 || found.isDone) {
      this.#replacesShown = false
      batch(() => {
        this.readOnly.value = [...readOnly, ...added]
        this.matches.value = [...before, ...found.matches].slice(0, MAX_MATCHES)
        if (this.#kept.length > 0) this.leftOut.value = leftOutNow(this.#kept, this.hits.value.hits)
      })
    }
    if (found.isCut || this.matches.peek().length === MAX_MATCHES) this.isCut.value = true
    if (found.isOfUtf8Alone) this.isOfUtf8Alone.value = true
    if (found.isDone) this.isRunning.value = false
  }

  #stop(search: number): void {
    this.#connection.ask('stop finding', { search }).catch(() => {})
  }
}

/** At most this many characters of a search are in the name of its operation. */
const MAX_NAMED_CHARS = 40

function shortened(text: string): string {
  return text.length <= MAX_NAMED_CHARS ? text : `${text.slice(0, MAX_NAMED_CHARS - 1)}…`.toWellFormed()
}
