/** Chooses some of the changes of a commit: files, runs of changed lines, or single lines. */
import { type ReadonlySignal, type Signal, signal, useSignal } from '@preact/signals'
import { Fragment } from 'preact'
import { useEffect, useId, useMemo, useRef } from 'preact/hooks'
import type { Change, Part } from '../../contract/values.ts'
import { usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon } from '../ui/icons.tsx'
import { readable, visible } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { plural } from '../ui/times.ts'
import { Blobs, modeInWords } from './blobs.tsx'
import { ChangedPath, titleOf } from './changed-path.tsx'
import { type Diff, type DiffLine, diffOf, isWithoutNewline } from './diff.ts'
import { lineEndWords, NoNewline } from './diff-view.tsx'
import { LineCounts } from './line-counts.tsx'
import { keyOfLine, type LineRun, rangesOf, runsOf } from './line-runs.ts'
import { ChangeLetter } from './review-side.tsx'

/** A longer line is cut. */
const MAX_LINE_LENGTH = 500
/** Lines in a file's diff above which it can only be chosen as a whole. */
const MAX_LINES_TO_CHOOSE = 2_000

/** A change of a whole file that its lines do not include: that of all line endings, or of the mode. */
type OwnChange = typeof LINE_ENDS | typeof MODE
/** They stand among the keys of lines. */
const LINE_ENDS = 'line endings'
const MODE = 'file mode'

/** What can be chosen in a file: its changed lines, and changes of their own. */
interface Choosable {
  runs: readonly LineRun[]
  own: readonly OwnChange[]
}

const keysIn = ({ runs, own }: Choosable): string[] => [...runs.flatMap(({ lines }) => lines.map(keyOfLine)), ...own]

/** Files of these modes are texts or binaries; links and submodules have others. */
const FILE_MODES: readonly (string | undefined)[] = ['100644', '100755']

/**
 * The choice within one file: all of it, or some of its keys; of a renamed file without any of them, the rename alone.
 */
type Choice = 'whole' | { runs: readonly LineRun[]; keys: ReadonlySet<string> }

/** The part of a file that was chosen by keys. */
const linesOf = ({ runs, keys }: Exclude<Choice, 'whole'>): Pick<Part, 'lines' | 'lineEnds' | 'mode'> => ({
  lines: rangesOf(runs, keys),
  lineEnds: keys.has(LINE_ENDS),
  mode: keys.has(MODE),
})

/** The changes that the user has chosen, by path. */
export class PartChoice {
  readonly #files: Signal<ReadonlyMap<string, Choice>> = signal(new Map())
  /** The files whose chosen lines are not chosen any more, since the files have changed. */
  readonly dropped = signal<readonly string[]>([])
  #shown: ReadonlyMap<string, Change> = new Map()

  get files(): ReadonlySignal<ReadonlyMap<string, Choice>> {
    return this.#files
  }

  get parts(): Part[] {
    return [...this.#files.value].map(([path, choice]) => {
      const change = this.#shown.get(path)
      const shown = change && { shown: { before: change.before?.oid, after: change.after?.oid } }
      return { path, ...(choice !== 'whole' && linesOf(choice)), ...shown }
    })
  }

  /** Takes the changes as they are now. What is chosen stays, except for lines of files that have changed. */
  follow(changes: readonly Change[]): void {
    const before = this.#shown
    this.#shown = new Map(changes.map(change => [change.path, change]))
    const chosen = [...this.#files.peek()]
    const isKept = ([path, choice]: (typeof chosen)[number]) => {
      const [old, now] = [before.get(path), this.#shown.get(path)]
      const isSame = old?.before?.oid === now?.before?.oid && old?.after?.oid === now?.after?.oid
      return now !== undefined && (choice === 'whole' || old === undefined || isSame)
    }
    const dropped = chosen.filter(it => !isKept(it)).map(([path]) => path)
    if (dropped.length === 0) return
    this.#files.value = new Map(chosen.filter(([path]) => !dropped.includes(path)))
    this.dropped.value = dropped
  }

  setWhole(path: string, isChosen: boolean): void {
    this.dropped.value = []
    this.#set(path, isChosen ? 'whole' : undefined)
  }

  /** Chooses the rename of a file without its lines, or takes both back: lines are those of the new path. */
  setRename(path: string, isChosen: boolean): void {
    this.dropped.value = []
    this.#set(path, isChosen ? { runs: [], keys: new Set() } : undefined)
  }

  has(path: string, key: string): boolean {
    const choice = this.#files.value.get(path)
    return choice === 'whole' || choice?.keys.has(key) === true
  }

  /**
   * Chooses some of what can be chosen in a file, by keys, or takes it back. All of it together is the whole file; of a
   * renamed file, the rename stays chosen without it.
   */
  set(path: string, choosable: Choosable, keys: readonly string[], isChosen: boolean): void {
    this.dropped.value = []
    const all = keysIn(choosable)
    const choice = this.#files.peek().get(path)
    const chosen = new Set(choice === 'whole' ? all : choice?.keys)
    for (const key of keys) {
      if (isChosen) chosen.add(key)
      else chosen.delete(key)
    }
    const isRenamed = this.#shown.get(path)?.from !== undefined
    if (chosen.size === 0 && !isRenamed) this.#set(path, undefined)
    else this.#set(path, chosen.size === all.length ? 'whole' : { runs: choosable.runs, keys: chosen })
  }

  #set(path: string, choice: Choice | undefined): void {
    const files = new Map(this.#files.peek())
    if (choice) files.set(path, choice)
    else files.delete(path)
    this.#files.value = files
  }
}

interface PickerProps {
  changes: readonly Change[]
  choice: PartChoice
  /** The accessible name of the list. */
  label: string
  /** The drafts in conflict with the branch, which can't be chosen. */
  conflicts?: readonly string[]
}

export function PartPicker({ changes, choice, label, conflicts = [] }: PickerProps) {
  const box = useRef<HTMLElement>(null)
  // The choice comes after its dialog was shown, so its first file takes the focus itself.
  useEffect(() => box.current?.querySelector<HTMLElement>('input')?.focus(), [])
  return (
    <section ref={box} class="part-picker" aria-label={label}>
      {changes.map((change, index) =>
        conflicts.includes(change.path) ? (
          <ConflictedFile key={change.path} change={change} />
        ) : (
          <PickedFile key={change.path} change={change} choice={choice} isOpenFirst={index === 0} />
        ),
      )}
    </section>
  )
}

/** A draft in conflict: its text has conflict markers, which are no changes to choose. */
function ConflictedFile({ change }: { change: Change }) {
  const name = readable(change.path)
  return (
    <article aria-label={name}>
      <header class="part-file">
        <Icon name="warning" tone="is-warn" />
        <span class="meta">{name} has conflicts between your draft and the branch: resolve them first.</span>
      </header>
    </article>
  )
}

interface FileProps {
  change: Change
  choice: PartChoice
}

function PickedFile({ change, choice, isOpenFirst }: FileProps & { isOpenFirst: boolean }) {
  const isOpen = useSignal(isOpenFirst)
  const { path } = change
  const chosen = choice.files.value.get(path)
  const name = readable(path)
  return (
    <article aria-label={name}>
      <header class="part-file">
        <Check
          words={`All changes of ${name}`}
          isChecked={chosen === 'whole'}
          isMixed={chosen !== undefined && chosen !== 'whole'}
          onChange={isChosen => choice.setWhole(path, isChosen)}
        />
        <button
          type="button"
          class="filerow"
          aria-expanded={isOpen.value}
          title={titleOf(change)}
          onClick={() => {
            isOpen.value = !isOpen.value
          }}
        >
          <Icon name={isOpen.value ? 'chevron-down' : 'chevron-right'} size="xs" />
          <ChangeLetter status={change.status} />
          <ChangedPath of={change} />
          <LineCounts count={change} />
        </button>
      </header>
      {isOpen.value ? <FileLines change={change} choice={choice} /> : null}
    </article>
  )
}

/** The changed lines of a file. Only those of a text that exists before and after can be chosen one by one. */
function FileLines({ change, choice }: FileProps) {
  const page = usePage()
  const { path, from, status, before, after } = change
  const isEdited = status === 'changed' || (status === 'renamed' && before?.oid !== after?.oid)
  const isFile = [before, after].every(entry => FILE_MODES.includes(entry?.mode))
  const isText = isEdited && isFile && change.added !== undefined
  const ask = async () => {
    const [old, now] = await Promise.all([before, after].map(it => page.connection.ask('blob', { oid: it?.oid ?? '' })))
    return { old: old?.text, now: now?.text, isGuess: (old?.encoding ?? now?.encoding) !== undefined }
  }
  const texts = useServerValue(isText ? ask : undefined, [page, path, before?.oid, after?.oid])
  const known = texts.latest.value
  const diff = useMemo(() => {
    return known && typeof known.old === 'string' && typeof known.now === 'string'
      ? diffOf(known.old, known.now, false)
      : undefined
  }, [known])
  if (!isText) return <Blobs change={change} isSideBySide={false} ignoresBlanks={false} />
  if (texts.problem.value !== undefined) {
    return <FailedLine problem={texts.problem.value} again={() => texts.refresh()} />
  }
  if (!known) return <div class="diff-far" aria-busy="true" />
  const runs = diff ? runsOf(diff) : []
  const count = runs.reduce((sum, { lines }) => sum + lines.length, 0)
  if (!diff || count === 0 || count > MAX_LINES_TO_CHOOSE) {
    return <Blobs change={change} isSideBySide={false} ignoresBlanks={false} />
  }
  const words = { [LINE_ENDS]: diff.lineEnds && lineEndWords(diff.lineEnds), [MODE]: modeInWords(change) }
  const own = ([MODE, LINE_ENDS] as const).filter(key => words[key] !== undefined)
  const choosable = { runs, own }
  return (
    <div class="diff-code">
      {from === undefined ? null : <RenameLine path={path} from={from} choice={choice} />}
      {own.map(key => (
        <OwnLine key={key} change={key} words={words[key] ?? ''} {...{ path, choosable, choice }} />
      ))}
      {runs.map(run => (
        <Run key={`${run.range.fromA} ${run.range.fromB}`} {...{ path, diff, choosable, run, choice }} />
      ))}
    </div>
  )
}

/** The rename of a file whose lines can be chosen. */
function RenameLine({ path, from, choice }: { path: string; from: string; choice: PartChoice }) {
  const id = useId()
  return (
    <label class="part-head" for={id}>
      <Check
        id={id}
        words={`Rename of ${readable(path)}`}
        isChecked={choice.files.value.has(path)}
        onChange={isChosen => choice.setRename(path, isChosen)}
      />
      <span class="meta">Renamed from {readable(from)}. Selected lines include the rename.</span>
    </label>
  )
}

interface OwnLineProps {
  path: string
  change: OwnChange
  /** The change in a sentence. */
  words: string
  choosable: Choosable
  choice: PartChoice
}

/** The change of the mode or of all line endings of a file whose lines can be chosen. */
function OwnLine({ path, change, words, choosable, choice }: OwnLineProps) {
  const id = useId()
  return (
    <label class="part-head" for={id}>
      <Check
        id={id}
        words={`${TITLES[change]} of ${readable(path)}`}
        isChecked={choice.has(path, change)}
        onChange={isChosen => choice.set(path, choosable, [change], isChosen)}
      />
      <span class="meta">{words} Selected lines do not include it.</span>
    </label>
  )
}

const TITLES: Record<OwnChange, string> = { [LINE_ENDS]: 'Line endings', [MODE]: 'File mode' }

interface RunProps {
  path: string
  diff: Diff
  choosable: Choosable
  run: LineRun
  choice: PartChoice
}

function Run({ path, diff, choosable, run, choice }: RunProps) {
  const { lines, range } = run
  const chosen = lines.filter(line => choice.has(path, keyOfLine(line))).length
  const id = useId()
  const at = range.toB > range.fromB ? range.fromB + 1 : range.fromA + 1
  return (
    <div class="part-run">
      <label class="part-head" for={id}>
        <Check
          id={id}
          words={`Change at line ${at} of ${readable(path)}`}
          isChecked={chosen === lines.length}
          isMixed={chosen > 0 && chosen < lines.length}
          onChange={isChosen => choice.set(path, choosable, lines.map(keyOfLine), isChosen)}
        />
        <span class="meta">
          Line {at}: {plural(lines.length, 'changed line')}
        </span>
      </label>
      {lines.map(line => {
        const [text, sign, look] = wordsOf(diff, line)
        const key = keyOfLine(line)
        const isUnended = isWithoutNewline(diff, line)
        return (
          <Fragment key={key}>
            <label class={`dl part-line ${look}`} for={`${id}${key}`}>
              <Check
                id={`${id}${key}`}
                words={`${line.kind} ${text}${isUnended ? ', no newline at end of file' : ''}`}
                isChecked={choice.has(path, key)}
                onChange={isChosen => choice.set(path, choosable, [key], isChosen)}
              />
              <b>{sign}</b>
              <span>{text}</span>
            </label>
            {isUnended ? (
              <div class="dl part-line">
                <i />
                <NoNewline />
              </div>
            ) : null}
          </Fragment>
        )
      })}
    </div>
  )
}

function wordsOf(diff: Diff, { kind, before = 0, after = 0 }: DiffLine): [text: string, sign: string, look: string] {
  const cut = (text: string) => visible(text.slice(0, MAX_LINE_LENGTH))
  return kind === 'deleted'
    ? [cut(diff.before.line(before).text), '−', 'm']
    : [cut(diff.after.line(after).text), '+', 'a']
}

interface CheckProps {
  id?: string
  words: string
  isChecked: boolean
  isMixed?: boolean
  onChange: (isChecked: boolean) => void
}

function Check({ id, words, isChecked, isMixed = false, onChange }: CheckProps) {
  const box = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (box.current) box.current.indeterminate = isMixed
  }, [isMixed])
  return (
    <input
      ref={box}
      id={id}
      type="checkbox"
      aria-label={words}
      checked={isChecked}
      onChange={event => onChange(event.currentTarget.checked)}
    />
  )
}
