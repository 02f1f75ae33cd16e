/** A file of a waiting merge: its open conflicts, or, if it is not text, its sides as a whole. */

import { Text } from '@codemirror/state'
import type { RefObject } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { type ConflictFile, type MergingFile, nounOf, type WholeSide as Side } from '../../contract/merging.ts'
import { AskButton } from '../editor/conflict-box.tsx'
import { type ConflictSettings, conflictExtension, lineInFile } from '../editor/conflict-editor.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { BASES, canAskAi, isAtWork, isInConflict, isMerging, mergingFile } from '../page/branch-facts.ts'
import { usePlace } from '../page/places.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { ImageFigure } from '../ui/blob-image.tsx'
import { abortedByInput, isFocusLost } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'
import { keysOf } from '../ui/keys.ts'
import { readable, visible, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { digits, plural } from '../ui/times.ts'
import { ActionIcon, Button, Path } from '../ui/words.tsx'
import { askAi, sayUndo, takeSide } from './merging-actions.ts'
import { mergingActions } from './merging-commands.ts'

interface Props {
  tab: Tab
  file: OpenFile
}

/** The entry of a file in the merge that waits in the tab's branch, if there is one. */
export function useMergingFile(tab: Tab, path: string): MergingFile | undefined {
  const page = usePage()
  const isOn = isInConflict(page, tab)
  const file = isOn ? mergingFile(page, tab, path) : undefined
  useEffect(() => {
    if (isOn) tab.merging.load()
  }, [tab, isOn])
  const asked = file !== undefined && file.kind !== NO_CONFLICT ? file.path : undefined
  useEffect(() => {
    if (asked !== undefined) tab.merging.askFor(asked)
    // Loaded again when a rebase goes on to its next commit, which clears the loaded sides.
  }, [tab, asked, tab.merging.files.value.has(asked ?? '')])
  return file
}

/** The kind of a file that changed without a conflict. */
const NO_CONFLICT = 'no conflict'

/** Shows the conflicts of a text in its editor. */
export function useConflicts({ tab, file }: Props, known: MergingFile | undefined): void {
  const page = usePage()
  const sides = tab.merging.files.value.get(known?.path ?? file.path)
  const merging = tab.merging.latest.value
  const shown = file.file.value
  const mark = sides?.mark
  const canAsk = canAskAi(page, tab) && !known?.isOfDraft
  const isWholeOpen = known?.isWholeOpen === true
  const by = useModelOf(known)
  const isKnown = known !== undefined
  useLayoutEffect(() => {
    // The sides are loaded again when the branch has a new commit. The boxes stay meanwhile: a key that chooses a side
    // would be typed into the text.
    if (isKnown && merging && !sides && shown?.kind === 'text') return
    if (!isKnown || !sides || mark === undefined || !merging || shown?.kind !== 'text') {
      file.extend('', '', () => [])
      return
    }
    const { oursCommit, theirsCommit } = merging
    const { oursName: ours = merging.ours, theirsName: theirs = merging.theirs } = sides
    const isOfDrafts = sides.marked !== undefined
    const marked = sides.marked ?? shown.saved
    const key = JSON.stringify([file.path, mark, ours, theirs, oursCommit, theirsCommit, by, canAsk, marked])
    file.extend(key, `${oursCommit} ${theirsCommit}`, () =>
      conflictExtension({
        path: file.path,
        mark,
        marked: Text.of((marked ?? '').split('\n')),
        isSaved: !isOfDrafts,
        ends: { ours: endsWithLine(sides.ours), theirs: endsWithLine(sides.theirs) },
        names: { ours: readable(ours), base: BASES[merging.kind], theirs: readable(theirs) },
        noun: nounOf(merging.kind),
        by,
        askAi: canAsk ? only => askAi(page, tab, [file.path], only) : undefined,
        onCount: () => tab.merging.touch(),
      }),
    )
  }, [page, tab, file, isKnown, by, sides, mark, merging?.oursCommit, merging?.theirsCommit, canAsk, shown])
  const { open, left, all } = file.conflicts.value
  useEffect(() => {
    // The server counts the conflicts in its own copy of the file, so the counts are loaded again once it has all
    // edits.
    if (isKnown) file.sent().then(() => tab.merging.touch())
  }, [tab, file, isKnown, left])
  useEffect(() => {
    const { goingTo } = tab.merging
    // The choice of the name is behind the conflicts of the text, which may all be resolved.
    const isChoice = isWholeOpen && all > 0 && (open.length === 0 || goingTo?.by === -1)
    if (goingTo?.path !== file.path || (open.length === 0 && !isChoice)) return undefined
    const frame = requestAnimationFrame(() => {
      tab.merging.goingTo = undefined
      if (isChoice) takeFocus(page, tab, () => page.places.focus('versions'))
      else file.enterConflicts(goingTo.by, tab.merging.focusWish)
    })
    return () => cancelAnimationFrame(frame)
  }, [page, tab, file, open.length, all > 0, isWholeOpen])
}

/** Finds out whether markers that have come into a text are conflicts, and lets the user type once that is known. */
export function useUnknownMarkers({ tab, file }: Props): void {
  const isUnknown = file.hasUnknownMarkers.value
  const isUp = usePage().connection.isUp.value
  useEffect(() => {
    if (!isUnknown || !isUp) return undefined
    let isCurrent = true
    hasConflicts(tab, file.path).then(isConflict => {
      // Those of a conflict are known when it is shown.
      if (isCurrent && !isConflict) file.knowMarkers()
    })
    return () => {
      isCurrent = false
    }
  }, [tab, file, isUnknown, isUp])
}

/** Whether a text has conflicts that are going to be shown, according to the server. Loads their sides. */
async function hasConflicts({ merging }: Tab, path: string): Promise<boolean> {
  const find = () => merging.latest.peek()?.files.find(file => file.path === path || file.result === path)
  // What is known may be older than the text.
  if (!find()) await merging.refresh()
  const known = find()
  if (!known || known.kind === NO_CONFLICT || merging.problem.peek() !== undefined) return false
  await merging.askFor(known.path)
  return merging.files.peek().get(known.path)?.mark !== undefined
}

/** The model that resolved conflicts of a file, with the text that it made and the one before, once they are loaded. */
function useModelOf(known: MergingFile | undefined): ConflictSettings['by'] {
  const { model, oid, before } = known?.by ?? {}
  const text = useTextOf(oid)
  const textBefore = useTextOf(before)
  return useMemo(
    () =>
      model === undefined || text === undefined || (before !== undefined && textBefore === undefined)
        ? undefined
        : { model: withoutTricks(model), text, before: textBefore },
    [model, text, before, textBefore],
  )
}

/** The text of a blob as the editor would have it, once it is loaded. */
function useTextOf(oid: string | undefined): string | undefined {
  const { connection } = usePage()
  const blob = useServerValue(oid === undefined ? undefined : () => connection.ask('blob', { oid }), [oid])
  return oid === undefined ? undefined : blob.latest.value?.text?.replaceAll('\r\n', '\n')
}

const endsWithLine = (side: ConflictFile['ours']): boolean => side.is !== 'text' || /(^|\n)$/.test(side.text)

/** The bar above the file: its name, its open conflicts, and the buttons to go from one to the next. */
export function ConflictBar({ tab, file, known }: Props & { known: MergingFile }) {
  const page = usePage()
  const { strays } = file.conflicts.value
  const { kind } = known
  const sides = tab.merging.files.value.get(known.path)
  const isText = sides?.mark !== undefined
  const branch = tab.at.kind === 'branch' ? tab.at.branch : ''
  const isLocked = isAtWork(page, branch)
  const words = `${digits(known.left)} of ${digits(known.all)} left`
  const [stray] = strays
  const hasChoices = kind !== 'text' && sides && (isText || known.state !== 'open')
  return (
    <>
      <div class="conf-bar">
        <span class="mono cut">
          <Path of={file.path} />
        </span>
        {known.state === 'open' ? (
          <span class="tag warn">{words}</span>
        ) : (
          <span class={`tag ${known.state === 'odd' ? 'warn' : ''}`}>
            {known.state === 'odd' ? 'to review' : 'resolved'}
          </span>
        )}
        {stray ? (
          <button type="button" class="tag warn" onClick={() => file.goTo(stray.line)}>
            a conflict marker is left in line {file.state ? lineInFile(file.state, stray.line) : stray.line}
          </button>
        ) : null}
        {kind === 'text' || !isText || sides.names ? null : (
          <span class="meta cut" title={withoutTricks(known.words ?? kind)}>
            {withoutTricks(known.words ?? kind)}
          </span>
        )}
        <span class="grow" />
        {isLocked ? <span class="meta">read-only while the AI works</span> : null}
        {hasChoices && !sides.names ? <WholeChoices tab={tab} known={known} sides={sides} /> : null}
        <ActionIcon action={mergingActions.previous} about={{ page, tab }} />
        <ActionIcon action={mergingActions.next} about={{ page, tab }} />
        {known.state === 'open' && canAskAi(page, tab) ? (
          <Button look="small ask-all" icon="bot" words="Ask the AI for all" onClick={() => askAi(page, tab, 'all')} />
        ) : null}
      </div>
      {hasChoices && sides.names ? <NameBar tab={tab} known={known} sides={sides} /> : null}
    </>
  )
}

/** The bar above the text of a file that both sides renamed: its names, and which one is chosen. */
function NameBar({ tab, known, sides }: { tab: Tab; known: MergingFile; sides: ConflictFile }) {
  return (
    <div class="name-bar">
      <Icon name={known.isWholeOpen ? 'clash' : 'check'} tone={known.isWholeOpen ? 'is-warn' : 'is-ok'} />
      <p>
        <span class="strong">{known.isWholeOpen ? 'Select a name' : 'Name selected'}</span>:{' '}
        {withoutTricks(sides.words)}. The text below stays the same under each name.
      </p>
      <WholeChoices tab={tab} known={known} sides={sides} />
    </div>
  )
}

const SIDES = [
  { side: 'ours', words: 'Ours', key: '1' },
  { side: 'theirs', words: 'Theirs', key: '2' },
  { side: 'both', words: 'Both', key: '3' },
] as const

/** The choices of a file that both sides renamed, if git has merged its text. */
const NAMES = { ours: 'Our name', theirs: 'Their name', both: 'Both names', base: 'Old name' }

/**
 * The kinds of conflict in which git's result has both sides; for other kinds, the button for git's result says Keep as
 * is.
 */
const KEEPS_BOTH = ['text', 'file/folder', 'file/link', 'rename/rename']

/**
 * The choices for a file. Conflicts of drafts have no result of git, so "both" is not offered there, nor where git's
 * result is one of the sides.
 */
function offered(sides: ConflictFile, isMerge: boolean) {
  const isBoth = KEEPS_BOTH.includes(sides.kind)
  const hasBoth = isMerge && (isBoth || sides.leftAs === undefined)
  const three = SIDES.filter(({ side }) => hasBoth || side !== 'both').map(it => {
    return it.side === 'both' && !isBoth ? { ...it, words: 'Keep as is' } : it
  })
  const all = sides.base.is === 'nothing' ? three : [...three, { side: 'base', words: 'Base', key: '5' } as const]
  return sides.names ? all.map(it => ({ ...it, words: NAMES[it.side] })) : all
}

/** The choices beside a text or a version that was chosen: the one that is made is marked. Their keys choose, too. */
function WholeChoices({ tab, known, sides }: { tab: Tab; known: MergingFile; sides: ConflictFile }) {
  const page = usePage()
  const group = usePlace<HTMLFieldSetElement>('versions')
  const choices = offered(sides, isMerging(page, tab))
  const choose = useChoice(tab, known.path, group)
  useLayoutEffect(() => {
    if (tab.merging.choseAt !== known.path) return
    tab.merging.choseAt = undefined
    // Also if the text has the focus: the page gives it a lost focus before the versions are drawn.
    group.current?.focus()
  }, [tab, known.path, group])
  return (
    <fieldset
      class="whole-choices"
      aria-label={sides.names ? 'Names' : 'Versions'}
      tabIndex={-1}
      ref={group}
      onKeyDown={choiceKeys(page, tab, pressed => {
        const chosen = choices.find(({ key }) => key === pressed)
        if (chosen) choose(chosen.side)
        return chosen !== undefined
      })}
    >
      {choices.map(({ side, words, key }) => {
        const isTaken = known.taken === side
        const name = sides.names && side !== 'both' ? sides.names[side] : undefined
        return (
          <Button
            key={side}
            look="small"
            {...(isTaken && { icon: 'check' as const })}
            words={words}
            {...(sides.names && { keys: key })}
            {...(name !== undefined && { title: readable(name) })}
            isPressed={isTaken}
            onClick={() => choose(side)}
          />
        )
      })}
    </fieldset>
  )
}

/** The keys of the choices of a file. `press` returns whether it has used a key. */
function choiceKeys(page: Page, tab: Tab, press: (key: string) => boolean): (event: KeyboardEvent) => void {
  return event => {
    if (keysOf(event) === 'Ctrl+Z') sayUndo(page, tab)
    else if (event.altKey || event.ctrlKey || event.metaKey || !press(event.key)) return
    event.preventDefault()
  }
}

interface WholeProps {
  tab: Tab
  sides: ConflictFile
  known: MergingFile
  /** Whether the editor below shows our side, and the user can go on typing in it. */
  isTyped: boolean
}

/** A file that is not text on some side: one side is chosen as a whole. */
export function WholeConflict({ tab, sides, known, isTyped }: WholeProps) {
  const page = usePage()
  const merging = tab.merging.latest.value
  const { path, names } = sides
  const box = usePlace<HTMLElement>('home')
  useWholeFocus(tab, path)
  const canAsk = canAskAi(page, tab) && !known.isOfDraft
  const choices = offered(sides, isMerging(page, tab) && !known.isOfDraft)
  const choose = useChoice(tab, path, box)
  const skipped = linesToSkip(isTyped ? [sides.base, sides.theirs] : [sides.ours, sides.base, sides.theirs])
  return (
    // The section can have the focus, so that keys choose a side in it, as in a conflict of a text.
    <section
      class={`one-side ${isTyped ? 'above' : ''}`}
      aria-label="Conflict"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      ref={box}
      onKeyDown={choiceKeys(page, tab, pressed => {
        const chosen = choices.find(({ key }) => key === pressed)
        const isAsked = pressed === '4' && canAsk
        if (chosen) choose(chosen.side)
        else if (isAsked) askAi(page, tab, [path])
        return isAsked || chosen !== undefined
      })}
    >
      <div class={`conflict-box ${known.state === 'open' ? '' : 'chosen'}`}>
        <header>
          <Icon name={known.state === 'open' ? 'clash' : 'check'} tone={known.state === 'open' ? 'is-warn' : 'is-ok'} />
          <span class="strong grow cut">
            {known.state === 'open' ? `Select a ${names ? 'name' : 'version'}` : 'Resolved'}
          </span>
          {choices.map(({ side, words, key }) => (
            <button key={key} type="button" class="button small" onClick={() => choose(side)}>
              {words}
              <kbd>{key}</kbd>
            </button>
          ))}
          {canAsk ? <AskButton ask={() => askAi(page, tab, [path])} /> : null}
        </header>
        <p class="about">
          {withoutTricks(sides.words)}
          {names ? '. Git has merged the text, so it is the same under each name.' : ''}
          {isTyped ? '. The editor below has your draft (Ours).' : ''}
        </p>
        <div class="sides">
          {isTyped ? null : (
            <WholeSide
              look="ours"
              title={names ? NAMES.ours : 'Ours'}
              name={names?.ours ?? sides.oursName ?? merging?.ours ?? ''}
              side={sides.ours}
              skipped={skipped}
            />
          )}
          <WholeSide
            look="base"
            title="Base"
            name={BASES[merging?.kind ?? 'merge']}
            side={sides.base}
            skipped={skipped}
          />
          <WholeSide
            look="theirs"
            title={names ? NAMES.theirs : 'Theirs'}
            name={names?.theirs ?? sides.theirsName ?? merging?.theirs ?? ''}
            side={sides.theirs}
            skipped={skipped}
          />
        </div>
      </div>
    </section>
  )
}

/** Focuses the choice when the user has gone to its conflict. */
function useWholeFocus(tab: Tab, path: string): void {
  const page = usePage()
  useLayoutEffect(() => {
    if (tab.merging.goingTo?.path !== path) return
    tab.merging.goingTo = undefined
    takeFocus(page, tab, () => page.wantFocus())
  }, [page, tab, path])
}

/** Focuses what the user has gone to, unless the user has put the focus elsewhere meanwhile. */
function takeFocus(page: Page, { merging: { focusWish } }: Tab, focus: () => void): void {
  if (!focusWish.isOpen) return
  focusWish.end()
  page.dropFocusWishes()
  focus()
}

/**
 * The function that chooses a version of a file. When the choice leaves the page with the focus, the versions get it:
 * also those of a file that the choice renames, which are shown under the old name first. After an undo of the choice,
 * the conflict gets it. A choice in another window or by the AI gives it to the tab of the file: a key that was meant
 * for the choice here would change that one.
 */
function useChoice(tab: Tab, path: string, box: RefObject<HTMLElement | null>): (side: Side) => void {
  const page = usePage()
  const isChoosing = useRef(false)
  useLayoutEffect(() => {
    const { current: shown } = box
    return () => {
      if (!shown?.contains(document.activeElement)) return
      const isOpenAgain = tab.path === path && mergingFile(page, tab, path)?.state === 'open'
      if (isChoosing.current) passOn(page, tab, path)
      else if (isOpenAgain) tab.merging.goTo(path, 1)
      else page.places.focus('file tab')
    }
  }, [page, tab, path, box])
  return side => {
    isChoosing.current = true
    // What the choice changes is drawn by the next frame.
    const end = () => requestAnimationFrame(() => (isChoosing.current = false))
    takeSide(page, tab, path, side).finally(end)
  }
}

function passOn(page: Page, tab: Tab, path: string): void {
  tab.merging.choseAt = path
  // A key or a click of the user meanwhile decides where the focus goes.
  const used = abortedByInput()
  used.signal.addEventListener('abort', () => {
    tab.merging.choseAt = undefined
  })
  // They may be shown already; of a file that is renamed by the choice, only once that is loaded.
  requestAnimationFrame(() => {
    if (isFocusLost() && page.places.focus('versions')) used.abort()
  })
}

/** At most this many lines of a whole side are shown. */
const MAX_LINES = 200
/** Lines shown before the first one that differs. */
const CONTEXT_LINES = 3

/** The number of lines that all sides that are text have in common at their start, but for the last few of them. */
function linesToSkip(sides: readonly ConflictFile['ours'][]): number {
  const [first, ...others] = sides.flatMap(side => (side.is === 'text' ? [side.text.split('\n')] : []))
  if (!first || others.length === 0) return 0
  const same = first.findIndex((line, at) => others.some(other => other[at] !== line))
  return Math.max(0, (same < 0 ? Math.min(...others.map(({ length }) => length)) : same) - CONTEXT_LINES)
}

interface WholeSideProps {
  look: 'ours' | 'base' | 'theirs'
  title: string
  name: string
  side: ConflictFile['ours']
  /** This many lines at the start are left out, if the side is text. */
  skipped: number
}

function WholeSide({ look, title, name, side, skipped }: WholeSideProps) {
  return (
    <section class={look} aria-label={title}>
      <h3>
        {title}
        <span class="cut">{readable(name)}</span>
        {side.is !== 'nothing' && side.mode === '100755' ? <span>executable</span> : null}
      </h3>
      {side.is === 'other' && side.image ? (
        <ImageFigure look="thumbnail" oid={side.oid} image={side.image} alt={`${title}: an image`} />
      ) : (
        <pre>{wordsOf(side, skipped)}</pre>
      )}
    </section>
  )
}

function wordsOf(side: ConflictFile['ours'], skipped: number): string {
  if (side.is === 'nothing') return '(no file)'
  if (side.is === 'other') return withoutTricks(side.words)
  const lines = side.text.split('\n').slice(skipped)
  const before = skipped > 0 ? [`… ${plural(skipped, 'unchanged line')}`] : []
  const more = lines.length > MAX_LINES ? [`… and ${lines.length - MAX_LINES} more lines`] : []
  return [...before, ...lines.slice(0, MAX_LINES).map(visible), ...more].join('\n')
}
