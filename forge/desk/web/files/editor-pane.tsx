/** A file: text in the editor, an image, or a sentence that describes its content. */

import type { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { File } from '../../contract/branches.ts'
import type { Answer } from '../../contract/contract.ts'
import type { BlamedCommit } from '../../contract/reading.ts'
import { blameWords } from '../editor/blame-gutter.ts'
import type { OpenFile } from '../editor/open-file.ts'
import {
  ConflictBar,
  useConflicts,
  useMergingFile,
  useUnknownMarkers,
  WholeConflict,
} from '../merging/merging-pane.tsx'
import { branchOf, draftsOnServer, isAtWork, isMerging, mergingFile } from '../page/branch-facts.ts'
import { comparedWith } from '../page/compared-with.ts'
import { usePlace } from '../page/places.ts'
import { type Page, type Tab, usePage } from '../page/state.ts'
import { SUBMODULE } from '../page/tree.ts'
import { type PreviewKind, previewKindOf } from '../preview/kinds.ts'
import { ImageFigure } from '../ui/blob-image.tsx'
import { FailedLine } from '../ui/failed.tsx'
import { isFocusLost } from '../ui/focus.ts'
import { type Hold, heldKeys } from '../ui/held-keys.ts'
import { Icon } from '../ui/icons.tsx'
import { isEditingKey, isTypingKey, shownKeys } from '../ui/keys.ts'
import { placeOfMenu } from '../ui/menu-content.ts'
import { baseName, readable, shortId, withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { digits } from '../ui/times.ts'
import { ActionIcon, Button, Empty, Waiting } from '../ui/words.tsx'
import { codeActions } from './code-actions.ts'
import { fileActions, linesMenu } from './file-actions.ts'
import { deleteFiles, restoreFile, restoreFiles } from './file-dialogs.ts'
import { useLanguage } from './language.ts'
import { LanguageLine } from './language-line.tsx'
import { openLine } from './open-line.ts'

interface EditorPaneProps {
  tab: Tab
  file: OpenFile
  /** Whether the pane is in the half with the focus; always if the editor is not split. */
  isActive: boolean
}

export function EditorPane({ tab, file, isActive }: EditorPaneProps) {
  const page = usePage()
  const shown = file.file.value
  const merging = useMergingFile(tab, file.path)
  useConflicts({ tab, file }, merging)
  useUnknownMarkers({ tab, file })
  const blame = useBlame(tab, file)
  useLanguage(page, file)
  const sides = merging && tab.merging.files.value.get(merging.path)
  const whole = merging?.state === 'open' && sides && sides.mark === undefined ? sides : undefined
  // The user can go on typing in a text draft, in the editor below the choice of a side. The editor stays the same
  // element.
  const isDraft = merging?.isOfDraft || tab.merging.latest.value?.kind === 'drafts'
  const isTyped = isDraft && shown?.kind === 'text'
  return (
    <>
      {merging ? <ConflictBar tab={tab} file={file} known={merging} /> : <Crumbs tab={tab} file={file} blame={blame} />}
      {whole ? null : <ReadOnlyReason tab={tab} file={file} />}
      <WasDeleted tab={tab} file={file} />
      {whole && !isTyped ? null : <Problem file={file} />}
      {whole && merging ? <WholeConflict tab={tab} sides={whole} known={merging} isTyped={isTyped} /> : null}
      {whole && !isTyped ? null : shown ? (
        <Content tab={tab} file={file} shown={shown} isActive={isActive} />
      ) : (
        <NotYet tab={tab} file={file} isActive={isActive} />
      )}
    </>
  )
}

interface CrumbsProps {
  tab: Tab
  file: OpenFile
  blame: BlameState
}

/** How the loading of a blame stands. `isLoading`: whether the first one is on its way; `problem`: why none comes. */
interface BlameState {
  isLoading: boolean
  problem: string | undefined
}

function Crumbs({ tab, file, blame }: CrumbsProps) {
  const page = usePage()
  const folders = file.path.split('/').slice(0, -1)
  const branch = tab.at.kind === 'branch' ? page.branch(tab.at.branch) : undefined
  const { added, deleted } = file.counts.value
  const isText = file.file.value?.kind === 'text'
  const about = { page, tab, path: file.path }
  return (
    <div class="crumbs">
      <bdi class="crumb-path" title={readable(file.path)}>
        <span class="crumb-folders cut">
          {folders.map((folder, index) => (
            <span key={index} class="crumb">
              {readable(folder)}
              <Icon name="chevron-right" size="xs" />
            </span>
          ))}
        </span>
        <span class="here cut">{readable(baseName(file.path))}</span>
      </bdi>
      <SymbolCrumbs file={file} />
      <BlameOfLine file={file} {...blame} />
      <span class="grow" />
      {isText ? <LanguageLine tab={tab} file={file} /> : null}
      {branch && isAtWork(page, branch.name) ? <span class="meta">read-only while the AI works</span> : null}
      {branch && isText && added + deleted > 0 ? (
        <span class="opt-wide">
          <span class="add-n">+{digits(added)}</span> <span class="del-n">−{digits(deleted)}</span> since{' '}
          {shortId(comparedWith(branch))}
        </span>
      ) : null}
      {isText ? (
        <>
          <ActionIcon action={fileActions.nextChange} about={about} />
          {previewKindOf(file.path) === undefined ? null : (
            <ActionIcon action={fileActions.preview} about={about} isPressed={page.isPreviewed.value} />
          )}
          <ActionIcon action={fileActions.blame} about={about} isPressed={page.isBlamed.value} />
          <ActionIcon action={fileActions.wordWrap} about={about} isPressed={page.isWrapped.value} />
        </>
      ) : null}
    </div>
  )
}

interface ShownFileProps {
  tab: Tab
  file: OpenFile
  isActive: boolean
}

function NotYet({ tab, file, isActive }: ShownFileProps) {
  const page = usePage()
  // If the editor is split, typed keys go to the half with the focus.
  const canType =
    isActive && file.problem.value === undefined && tab.at.kind === 'branch' && !isAtWork(page, tab.at.branch)
  const box = usePlace<HTMLDivElement>(...(isActive ? (['coming'] as const) : []))
  const hold = useRef<Hold | undefined>(undefined)
  // From the first moment: an effect after the next frame would miss the keys until then.
  useLayoutEffect(() => {
    if (!canType) return undefined
    const listen = (event: KeyboardEvent) => {
      const isHere = event.target === document.body || event.target === box.current
      // A key that chooses a side in the conflict that is coming is no text.
      if (!isHere || tab.merging.isGoingTo(file.path)) return
      if (isTypingKey(event) && file.typeEarly(event.key)) event.preventDefault()
      else if (isEditingKey(event)) {
        event.preventDefault()
        hold.current = heldKeys.hold(event)
      }
    }
    window.addEventListener('keydown', listen)
    return () => {
      window.removeEventListener('keydown', listen)
      // A key that needs the text, such as End, has waited for it, with all that follow.
      if (file.state) hold.current?.release()
      else hold.current?.forget()
    }
  }, [tab, file, canType])
  const { focusWish } = tab
  const wanted = focusWish.made.value
  const isCovered = page.dialog.value !== undefined || page.palette.value !== undefined
  // The place of the text has the focus that the text takes over once it is there: no other view gets the keys.
  useLayoutEffect(() => {
    if (isCovered || !isActive || !focusWish.isOpen) return
    box.current?.focus()
    // A dialog that closes returns the focus to the element that had it before: ask for the focus again after that.
    page.wantFocus()
  }, [page, focusWish, wanted, isCovered, isActive, box])
  return (
    <div class="editor" aria-busy="true" tabIndex={-1} ref={box}>
      {file.problem.value === undefined ? <Waiting words={`Opening ${readable(baseName(file.path))}`} /> : null}
    </div>
  )
}

/** Opens a commit at a line of the file, by the path it had there. */
function openBlamed(
  page: Page,
  file: OpenFile,
  { oid, path = file.path }: Pick<BlamedCommit, 'oid' | 'path'>,
  line: number,
): void {
  void openLine(page, page.open({ kind: 'commit', commit: oid }), path, line, undefined)
}

/** Opens the file as it was before the commit of a line, at the place that the line had then. */
async function openBefore(
  page: Page,
  file: OpenFile,
  { oid, path = file.path }: Pick<BlamedCommit, 'oid' | 'path'>,
  previous: NonNullable<BlamedCommit['previous']>,
): Promise<void> {
  const later = { commit: oid, path }
  const earlier = { commit: previous.oid, path: previous.path ?? file.path }
  const line = file.blamedLine
  // Without an answer, the commit opens nevertheless.
  const before = await page.connection.ask('line before', { later, earlier, line }).catch(() => line)
  openBlamed(page, file, previous, before)
}

/** Loads the blame while it is shown, and again when the branch has a new commit. */
function useBlame(tab: Tab, file: OpenFile): BlameState {
  const page = usePage()
  const { at } = tab
  const branch = at.kind === 'branch' ? page.branch(at.branch) : undefined
  const commit = at.kind === 'branch' ? branch && comparedWith(branch) : at.commit
  const isWanted = page.isBlamed.value && !isMerging(page, tab) && file.file.value?.kind === 'text'
  const asked = useServerValue(isWanted ? () => page.connection.ask('blame', { at, path: file.path }) : undefined, [
    `${commit} ${file.path} ${isWanted}`,
  ])
  const blame = isWanted ? asked.latest.value : undefined
  useEffect(() => file.showBlame(blame, (commit, line) => openBlamed(page, file, commit, line)), [file, page, blame])
  const problem = isWanted ? asked.problem.value : undefined
  return { isLoading: isWanted && blame === undefined && problem === undefined, problem }
}

/** The commit of the cursor's line, and a button to the commit before it. */
function BlameOfLine({ file, isLoading, problem }: BlameState & { file: OpenFile }) {
  const page = usePage()
  const { value: commit } = file.blamed
  if (problem !== undefined) return <span class="is-bad cut">{problem}</span>
  if (isLoading) return <span class="crumb-blame waiting meta">Loading the blame</span>
  if (commit === null) return null
  if (commit === undefined)
    return (
      <span class="crumb-blame meta">
        <Icon name="commit" size="xs" />
        This line is not saved
      </span>
    )
  const words = `${blameWords(commit)}: ${withoutTricks(commit.subject)}`
  const { previous } = commit
  return (
    <>
      <button
        type="button"
        class="crumb-blame crumb-symbols cut"
        aria-label={`This line: ${words}`}
        title={`${shortId(commit.oid)} ${words}`}
        onClick={() => openBlamed(page, file, commit, file.blamedLine)}
      >
        <Icon name="commit" size="xs" />
        <bdi class="cut">{words}</bdi>
      </button>
      {previous === undefined ? null : (
        <Button
          look="small"
          words="Before this"
          title={`Blame this file as it was before ${shortId(commit.oid)}`}
          onClick={() => openBefore(page, file, commit, previous)}
        />
      )}
    </>
  )
}

/** The functions, classes or headings around the cursor. */
function SymbolCrumbs({ file }: { file: OpenFile }) {
  const page = usePage()
  const names = file.symbols.value.map(({ name }) => withoutTricks(name))
  if (names.length === 0) return null
  return (
    <button
      type="button"
      class="crumb-symbols cut"
      aria-label={`In ${names.join(', ')}: go to another symbol`}
      title={`${names.join(' › ')}: go to symbol  ${shownKeys(fileActions.goToSymbol.keys)}`}
      onClick={() => {
        page.palette.value = 'symbols'
      }}
    >
      {names.map((name, index) => (
        <span key={index} class="crumb">
          <Icon name="chevron-right" size="xs" />
          <bdi>{name}</bdi>
        </span>
      ))}
    </button>
  )
}

/** Why a file that looks editable is read-only, unless its problem says so already. */
function ReadOnlyReason({ tab, file }: { tab: Tab; file: OpenFile }) {
  const shown = file.file.value
  const reason = shown?.kind === 'text' ? shown.readOnly : undefined
  if (tab.at.kind === 'commit' || reason === undefined || reason === file.problem.value) return null
  return (
    <div class="notice" role="status">
      <Icon name="alert" />
      <p class="grow">{reason}</p>
    </div>
  )
}

/** That the file was deleted while it had unsaved changes, also in another window, and what becomes of these. */
function WasDeleted({ tab, file }: { tab: Tab; file: OpenFile }) {
  const page = usePage()
  const shown = file.file.value
  const branch = branchOf(tab)
  if (branch === undefined || shown?.kind !== 'text' || !shown.deleted) return null
  const { path } = file
  const name = readable(baseName(path))
  const { by, isRestored } = shown.deleted
  const close = () => page.closePane(tab, { kind: 'file', path })
  return (
    <div class="notice" role="status">
      <Icon name="alert" />
      <div class="grow">
        <p class="strong">
          {name} was deleted {by === 'draft' ? 'on the desk' : `by a commit to ${readable(branch)}`}
        </p>
        {isRestored ? (
          <p>What was typed here is a draft, which restores the file when you save.</p>
        ) : (
          <p>What was typed here is kept: saving it or typing on restores the file with it, and so does Undo.</p>
        )}
      </div>
      {isRestored ? (
        <Button words="Delete…" onClick={() => deleteFiles(page, tab, [path])} />
      ) : (
        <>
          <Button words="Restore" onClick={() => restoreFile(page, branch, path)} />
          <Button words="Close" onClick={close} />
        </>
      )}
    </div>
  )
}

function Problem({ file }: { file: OpenFile }) {
  const words = file.problem.value
  if (words === undefined) return null
  return (
    <div class="notice bad" role="alert">
      <Icon name="alert" />
      <div class="grow">
        <p class="strong">{words}</p>
        {file.isUnsettled ? (
          <p>What you typed last is kept in this window, and sent again when this is resolved or when you type on.</p>
        ) : null}
      </div>
      {file.isUnsettled || !file.file.value ? (
        <Button words="Try again" onClick={() => (file.isUnsettled ? file.sendAgain() : file.ask())} />
      ) : null}
    </div>
  )
}

function Content({ tab, file, shown, isActive }: ShownFileProps & { shown: File }) {
  switch (shown.kind) {
    case 'text':
      return <TextWithPreview tab={tab} file={file} isActive={isActive} />
    case 'image':
      return <ImageFigure look="picture" oid={shown.oid} image={shown} alt={readable(baseName(file.path))} />
    case 'other':
      return (
        <Empty title={readable(baseName(file.path))}>
          <p class="lede">{shown.what}</p>
          <p class="meta after">
            {shown.mode === SUBMODULE ? '' : `${shown.size.toLocaleString('en')} bytes, mode ${shown.mode}. `}It is not
            edited here.
          </p>
        </Empty>
      )
    case 'nothing':
      return <NoFile tab={tab} path={file.path} />
  }
}

function TextWithPreview({ tab, file, isActive }: ShownFileProps) {
  const page = usePage()
  const kind = previewKindOf(file.path)
  const isPreviewed = kind !== undefined && page.isPreviewed.value
  // The editor stays the same element, so that it keeps its state when the preview comes or goes.
  return (
    <div class={isPreviewed ? 'beside' : 'alone'}>
      <TextEditor tab={tab} file={file} isActive={isActive} />
      {isPreviewed ? <LazyPreview tab={tab} file={file} kind={kind} /> : null}
    </div>
  )
}

type PreviewModule = typeof import('../preview/preview.tsx')

/** The preview's code is loaded when the first one is shown. */
function LazyPreview({ tab, file, kind }: { tab: Tab; file: OpenFile; kind: PreviewKind }) {
  const [loaded, setLoaded] = useState<PreviewModule | 'failed' | undefined>(undefined)
  useEffect(() => {
    import('../preview/preview.tsx').then(setLoaded, () => setLoaded('failed'))
  }, [])
  if (loaded === 'failed') return <p class="preview meta">The preview could not be loaded: reload the page.</p>
  return loaded ? <loaded.Preview tab={tab} file={file} kind={kind} /> : <div class="preview" />
}

/** A file that does not exist, or that a draft deletes. */
function NoFile({ tab, path }: { tab: Tab; path: string }) {
  const page = usePage()
  const name = readable(baseName(path))
  const branch = branchOf(tab)
  if (branch === undefined)
    return (
      <Empty title={`${name} was not found`}>
        <p class="lede">The file is not in this commit. It may have been renamed, or not been there yet.</p>
      </Empty>
    )
  const close = () => page.closePane(tab, { kind: 'file', path })
  if (!draftsOnServer(page, branch).includes(path))
    return <DeletedFile key={path} branch={branch} path={path} close={close} />
  const isNew = isMerging(page, tab) && isNotOurs(page, tab, path)
  return (
    <Empty title={isNew ? `${name} is left out` : `${name} is deleted`}>
      <p class="lede">
        {isNew
          ? `${readable(branch)} does not have the file, and does not get it when you finish.`
          : isMerging(page, tab)
            ? 'The file leaves the branch when you finish.'
            : 'The deletion is a draft: the file leaves the branch when you save.'}
      </p>
      <div class="row-of-buttons">
        <Button words="Restore" onClick={() => restoreFiles(page, branch, [path])} />
        <Button words="Close" onClick={close} />
      </div>
    </Empty>
  )
}

/** Whether the branch has no such file before what waits is finished. */
function isNotOurs(page: Page, tab: Tab, path: string): boolean {
  // Ours of a rebase is the other branch: this one has the file by its commit.
  if (tab.merging.latest.value?.kind === 'rebase') return false
  const sides = tab.merging.files.value.get(mergingFile(page, tab, path)?.path ?? path)
  return sides?.ours.is === 'nothing'
}

/** What became of a file that the branch does not have, as the end of a sentence; undefined: it is not known. */
function fateOf(known: Answer<'deleted file'> | undefined, place: string): string {
  if (known?.renamedTo !== undefined) return 'was renamed'
  if (known?.commit) return 'was deleted'
  return known?.canRestore ? `is not in ${place}` : 'was not found'
}

/** A file that the branch does not have: which commit deleted or renamed it, if it was there. */
function DeletedFile({ branch, path, close }: { branch: string; path: string; close: () => void }) {
  const page = usePage()
  const name = readable(baseName(path))
  const openRenamed = (to: string) => {
    close()
    page.tab.peek()?.edit(to)
  }
  const { tip, merging } = page.branch(branch) ?? {}
  const asked = useServerValue(
    () => page.connection.ask('deleted file', { branch, path }),
    [`${branch} ${tip} ${merging} ${path}`],
  )
  const known = asked.latest.value
  const problem = known ? undefined : asked.problem.value
  if (!known && problem === undefined) return <Waiting words={`Looking for ${name} in the history`} />
  const { commit, renamedTo, canRestore = false } = known ?? {}
  const place = readable(branch)
  return (
    <Empty title={`${name} ${fateOf(known, place)}`}>
      {commit ? (
        <p class="lede">
          By commit{' '}
          <button
            type="button"
            class="link"
            title="Open this commit"
            onClick={() => page.open({ kind: 'commit', commit: commit.oid }).show({ kind: 'review' })}
          >
            <span class="mono">{shortId(commit.oid)}</span> <bdi>{withoutTricks(commit.subject)}</bdi>
          </button>
        </p>
      ) : (
        <p class="lede">Neither the commit of {place} nor its drafts have the file.</p>
      )}
      {renamedTo === undefined ? null : (
        <p class="lede">
          It is <bdi class="mono">{readable(renamedTo)}</bdi> now.
        </p>
      )}
      <FailedLine problem={problem} again={() => asked.refresh()} />
      <div class="row-of-buttons">
        {renamedTo === undefined ? null : (
          <Button look="main" words={`Open ${readable(baseName(renamedTo))}`} onClick={() => openRenamed(renamedTo)} />
        )}
        {canRestore ? <Button words="Restore" onClick={() => restoreFile(page, branch, path)} /> : null}
        <Button words="Close" onClick={close} />
      </div>
    </Empty>
  )
}

/** Moves the cursor to the line at the height of the pointer, unless that line is already in the selection. */
function selectClicked(view: EditorView, { clientY }: MouseEvent): void {
  const { from, to } = view.lineBlockAtHeight(clientY - view.documentTop)
  const isSelected = view.state.selection.ranges.some(range => range.from <= to && range.to >= from)
  if (!isSelected) view.dispatch({ selection: { anchor: from }, userEvent: 'select.pointer' })
}

function TextEditor({ tab, file, isActive }: ShownFileProps) {
  const page = usePage()
  const isLocked = tab.at.kind === 'branch' && isAtWork(page, tab.at.branch)
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef<EditorView | undefined>(undefined)
  const isFocused = useRef(isActive)
  isFocused.current = isActive

  useLayoutEffect(() => {
    if (!box.current || !file.state) return undefined
    const view = file.makeView(box.current, isFocused.current)
    shown.current = view
    if (isFocusLost() && isFocused.current && !tab.merging.isGoingTo(file.path)) view.focus()
    const keep = () => {
      file.scrolled(view)
      page.keepLayout()
    }
    file.onDefinition = () => codeActions.goToDefinition.run({ page, tab, path: file.path })
    file.onNoComments = () => {
      const title = `No comments are known for files like ${readable(baseName(file.path))}`
      page.tell({ topic: 'comments', title }, 'info')
    }
    file.onUndoCut = () => {
      const words =
        'The undo of the editor ends where conflicts began or ended, and where Discard or another step took back what ' +
        'was typed. Undo of the desk takes such a step back.'
      page.tell({ topic: 'undo typing', title: 'There is nothing left to undo here', words }, 'info')
    }
    view.scrollDOM.addEventListener('scroll', keep, { passive: true })
    view.dom.addEventListener('contextmenu', event => {
      if (!(event.target instanceof Element && event.target.closest('.cm-gutters'))) return
      event.preventDefault()
      selectClicked(view, event)
      page.openMenu(linesMenu(page, tab, file.path), placeOfMenu(event, view.dom), view.contentDOM)
    })
    return () => {
      shown.current = undefined
      file.hide(view)
      view.destroy()
    }
  }, [file, page, tab])

  // The window's layout has the place of the cursor, for when the page is loaded again.
  useLayoutEffect(() => {
    const { value: first } = file.cursor
    return effect(() => {
      if (file.cursor.value !== first) page.keepLayout()
    })
  }, [file, page])

  // If the editor is split, actions apply to the half that had the focus last.
  useLayoutEffect(() => {
    if (isActive && shown.current) file.lookAt(shown.current)
    const content = box.current?.querySelector<HTMLElement>('.cm-content')
    return isActive && content ? page.places.add(content, ['editor']) : undefined
  }, [file, page, isActive])

  const { focusWish } = tab
  const wanted = focusWish.made.value
  const isCovered = page.dialog.value !== undefined || page.palette.value !== undefined
  useLayoutEffect(() => {
    if (isCovered || !isActive || !focusWish.isOpen) return
    focusWish.end()
    if (tab.merging.isGoingTo(file.path)) return
    shown.current?.focus()
    // A dialog that closes returns the focus to the element that had it before: ask for the focus again after that.
    page.wantFocus()
  }, [page, focusWish, file, wanted, isCovered, isActive])

  useLayoutEffect(() => {
    file.isLocked = isLocked
  }, [file, isLocked])

  useEffect(() => {
    file.adjust()
  }, [file, page.settings.values.value])

  useEffect(() => {
    file.isWrapped = page.isWrapped.value
  }, [file, page, page.isWrapped.value])

  return <div class={`editor ${isLocked ? 'locked' : ''}`} ref={box} />
}
