/** Dragging a commit or a label onto a branch: the pointer's handling, and what is shown beside it. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Source } from '../../contract/steps.ts'
import type { Label } from '../page/graph-labels.ts'
import { type Page, usePage } from '../page/state.ts'
import type { Dragged, DropStep, DropTarget } from '../page/step-drag.ts'
import { ChangeList } from '../review/change-list.tsx'
import { openPickAll, openSteps, pickStep, waysFor } from '../steps/source-steps.ts'
import { commitSource, sourceOf, type Way } from '../steps/step-ways.ts'
import { keepFocusInList } from '../ui/focus.ts'
import { Icon, type IconName } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Path } from '../ui/words.tsx'
import { openRebase } from './graph-steps.ts'
import { outlookLook } from './step-words.tsx'

/** A press that moves less than this is a click. */
const CLICK_SLACK_PX = 5
/** Holding a touch this long starts a drag, in milliseconds: shorter than the browser's delay for a context menu. */
const HOLD_MS = 400
/** The list scrolls while the pointer is within this distance of its edge. */
const SCROLL_EDGE_PX = 36
/** At most this many files are listed in a preview. */
const MAX_FILES = 8

/** Starts to follow the pointer, if it is on something that can be dragged. */
export function pressOn(page: Page, event: PointerEvent): void {
  const root = event.currentTarget
  if (event.button !== 0 || !event.isPrimary || !(root instanceof HTMLElement)) return
  const grip = gripAt(page, event.target)
  if (!grip) return
  if (event.pointerType === 'touch') hold(page, root, grip, event)
  else follow(page, root, grip, event)
}

/** A touch that is held starts a drag; one that moves before that scrolls. */
function hold(page: Page, root: HTMLElement, grip: Grip, start: PointerEvent): void {
  const { target } = start
  if (!(target instanceof Element)) return
  let isHeld = false
  // Touch events go to the element where the touch began, even after it has left the page.
  const keepFromScrolling = (event: Event) => {
    if (isHeld) event.preventDefault()
  }
  const noMenuYet = (event: Event) => {
    event.preventDefault()
    event.stopPropagation()
  }
  const letGo = () => {
    clearTimeout(timer)
    window.removeEventListener('pointerup', letGo)
    window.removeEventListener('pointercancel', letGo)
    target.removeEventListener('touchmove', keepFromScrolling)
    window.removeEventListener('contextmenu', noMenuYet, { capture: true })
  }
  const timer = setTimeout(() => {
    isHeld = true
    // Prevents the click that would follow, which closes the menu.
    target.addEventListener('touchend', event => event.preventDefault(), { once: true })
    follow(page, root, grip, start, () => {
      letGo()
      // A touch that was held and ended without moving opens the context menu.
      const { clientX, clientY } = start
      target.dispatchEvent(new MouseEvent('contextmenu', { bubbles: true, cancelable: true, clientX, clientY }))
    })
  }, HOLD_MS)
  window.addEventListener('pointerup', letGo)
  window.addEventListener('pointercancel', letGo)
  target.addEventListener('touchmove', keepFromScrolling, { passive: false })
  window.addEventListener('contextmenu', noMenuYet, { capture: true })
}

/** The dragged source, what its drop offers, the default step of that, and what opens its dialog. */
interface Grip extends Pick<Dragged, 'source'>, Pick<DropTarget, 'offer'> {
  stepOnto: DropStep
  drop: (onto: string) => void
}

/**
 * A label stands for its ref with all commits of its history; a row for its commit alone, unless that is a merge, and a
 * selected row for all selected commits.
 */
function gripAt(page: Page, target: EventTarget | null): Grip | undefined {
  const { graph } = page
  if (!(target instanceof Element)) return undefined
  const ref = target.closest<HTMLElement>('[data-ref]')?.dataset.ref
  if (ref !== undefined) {
    for (const labels of graph.labels.peek().values()) {
      const label = labels.find(it => it.ref === ref)
      if (label) return gripOf(page, sourceOf(label), 'merge')
    }
  }
  const index = target.closest<HTMLElement>('[data-row]')?.dataset.row
  const row = index === undefined ? undefined : graph.rowAt(Number(index))
  if (!row) return undefined
  const { chosen } = graph
  if (chosen.some(({ oid }) => oid === row.oid)) return gripOfAll(page, chosen.map(({ oid }) => oid).reverse())
  return gripOf(page, commitSource(row.oid), row.parents.length > 1 ? 'merge' : 'cherry-pick')
}

function gripOf(page: Page, source: Source, wanted: 'merge' | 'cherry-pick'): Grip {
  const ways = waysFor(page, source)
  const way = ways.includes(wanted) ? wanted : 'cherry-pick'
  return {
    source,
    offer: dropWords(ways),
    stepOnto: onto => (way === 'merge' ? { step: way, source, onto } : pickStep([source.commit], onto)),
    drop: onto => openSteps(page, source, onto, way),
  }
}

/** Several commits, oldest first, which can be cherry-picked alone. */
function gripOfAll(page: Page, commits: string[]): Grip {
  return {
    source: { commit: commits.at(-1) ?? '', words: plural(commits.length, 'commit') },
    offer: dropWords(['cherry-pick']),
    stepOnto: onto => pickStep(commits, onto),
    drop: onto => openPickAll(page, commits, onto),
  }
}

/**
 * Follows the pointer until it is released or Escape is pressed. `held`, only for a touch: called if the finger is
 * lifted without having moved.
 */
function follow(page: Page, root: HTMLElement, grip: Grip, start: PointerEvent, held?: () => void): void {
  const { source } = grip
  const { drag } = page.graph
  const isTouch = held !== undefined
  const isOn = () => drag.isOn.peek()
  let frame = 0
  let hasMoved = false
  const pickUp = (x: number, y: number) => {
    drag.begin(source, grip.stepOnto)
    drag.dragged.value = { source, x, y, isTouch }
    drag.lookAt(targetsInView(root, y))
  }
  const move = (event: PointerEvent) => {
    const [x, y] = [event.clientX, event.clientY]
    hasMoved ||= Math.hypot(x - start.clientX, y - start.clientY) >= CLICK_SLACK_PX
    if (!hasMoved) return
    if (!isOn()) pickUp(x, y)
    drag.dragged.value = { source, x, y, isTouch }
    drag.point(targetAt(page, grip, x, y))
    event.preventDefault()
  }
  const scroll = () => {
    cancelAnimationFrame(frame)
    frame = requestAnimationFrame(() => {
      const { y } = drag.dragged.peek() ?? {}
      if (y !== undefined) drag.lookAt(targetsInView(root, y))
    })
  }
  const finish = () => {
    clearInterval(clock)
    cancelAnimationFrame(frame)
    window.removeEventListener('pointermove', move)
    window.removeEventListener('pointerup', drop)
    window.removeEventListener('pointercancel', finish)
    window.removeEventListener('keydown', stop, { capture: true })
    root.removeEventListener('scroll', scroll, { capture: true })
    drag.end()
    // The press has focused the row. A dialog of the drop would give the focus back to it.
    const list = root.querySelector<HTMLElement>('.graph-list')
    if (list) keepFocusInList({ currentTarget: list })
  }
  const drop = ({ clientX, clientY }: PointerEvent) => {
    const target = isOn() ? drag.over.peek() : undefined
    const remote = isOn() ? remoteAt(page, clientX, clientY) : undefined
    finish()
    if (target) target.drop()
    else if (remote) sayWhyNotOnRemote(page, source, remote)
    else if (!hasMoved) held?.()
  }
  const stop = (event: KeyboardEvent) => {
    if (event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    finish()
  }
  if (isTouch) pickUp(start.clientX, start.clientY)
  const clock = setInterval(() => scrollAtEdge(root, drag.dragged.peek()?.y), 40)
  window.addEventListener('pointermove', move)
  window.addEventListener('pointerup', drop)
  window.addEventListener('pointercancel', finish)
  window.addEventListener('keydown', stop, { capture: true })
  root.addEventListener('scroll', scroll, { capture: true })
}

function scrollAtEdge(root: HTMLElement, y: number | undefined): void {
  const list = root.querySelector('.graph-list')
  if (y === undefined || !list) return
  const { top, bottom } = list.getBoundingClientRect()
  if (y > top && y < top + SCROLL_EDGE_PX) list.scrollTop -= 26
  else if (y < bottom && y > bottom - SCROLL_EDGE_PX) list.scrollTop += 26
}

/** The visible branches, those near the pointer first. */
function targetsInView(root: HTMLElement, y: number): string[] {
  const found: { branch: string; away: number }[] = []
  for (const element of root.querySelectorAll<HTMLElement>('[data-branch]')) {
    const { top, bottom } = element.getBoundingClientRect()
    const { branch } = element.dataset
    if (branch !== undefined && bottom > 0 && top < window.innerHeight) found.push({ branch, away: Math.abs(top - y) })
  }
  found.sort((one, other) => one.away - other.away)
  return [...new Set(found.map(({ branch }) => branch))]
}

/**
 * What a drop under the pointer would do: on the label of a remote branch, or of a branch, or on a row of one. A remote
 * branch moves by pushes alone, so a branch that is dropped on it is rebased onto it.
 */
function targetAt(page: Page, { source, ...grip }: Grip, x: number, y: number): DropTarget | undefined {
  const remote = remoteAt(page, x, y)
  if (remote) return source.branch === undefined ? undefined : rebaseOnto(page, source.branch, remote)
  const element = document.elementFromPoint(x, y)
  const label = element?.closest<HTMLElement>('[data-branch]')
  const name = label?.dataset.branch ?? element?.closest<HTMLElement>('[data-onto]')?.dataset.onto
  if (name === undefined || name === source.branch) return undefined
  const { offer, stepOnto, drop } = grip
  return { ref: `refs/heads/${name}`, name, step: stepOnto(name), offer, drop: () => drop(name) }
}

function rebaseOnto(page: Page, branch: string, remote: Label): DropTarget {
  const { ref, name } = remote
  const onto = sourceOf(remote)
  const step = { step: 'rebase', branch, onto } as const
  return { ref, name, step, offer: 'Drop to rebase', drop: () => openRebase(page, branch, onto) }
}

/** The label of a remote branch under the pointer. */
function remoteAt(page: Page, x: number, y: number): Label | undefined {
  const element = document.elementFromPoint(x, y)
  const ref = element?.closest<HTMLElement>('[data-ref]')?.dataset.ref
  const labels = [...page.graph.labels.peek().values()].flat()
  return labels.find(label => label.kind === 'remote' && label.ref === ref)
}

function sayWhyNotOnRemote(page: Page, source: Source, remote: Label): void {
  if (source.words === remote.name) return
  const why = `${readable(remote.name)} is a remote branch, which only a push moves: drop a branch on it to rebase that.`
  page.tell({ topic: 'drag', title: why }, 'info')
}

/** The elements beside the pointer: the name of the source, and what a drop would do. */
export function DragLayer() {
  const page = usePage()
  const { drag } = page.graph
  const { value: dragged } = drag.dragged
  const ghost = useRef<HTMLDivElement>(null)
  const card = useRef<HTMLDivElement>(null)
  const { value: over } = drag.over
  const { value: previewed } = drag.previewed
  useLayoutEffect(() => {
    if (!dragged) return
    const { x, y, isTouch } = dragged
    // For touch, the label and the card are placed above the finger.
    put(ghost.current, x + 8, isTouch ? y - 44 : y + 12)
    put(card.current, x + 8, isTouch ? y - 52 - (card.current?.offsetHeight ?? 0) : y + 40)
  })
  if (!dragged) return null
  return (
    <>
      <div ref={ghost} class="drag-ghost">
        <Icon name={iconOf(page, dragged.source)} size="xs" />
        <bdi class="cut">{readable(dragged.source.words)}</bdi>
      </div>
      {over === undefined ? null : (
        <div ref={card} class="drop-preview" role="status" aria-label="Preview of the drop">
          <header>
            {previewed ? (
              <Icon name={outlookLook(previewed.preview).icon} tone={outlookLook(previewed.preview).tone} />
            ) : null}
            <span class="strong">
              {readable(dragged.source.words)} → {readable(over.name)}
            </span>
            <span class="grow" />
            {previewed && previewed.preview.is !== 'impossible' ? (
              <span class={`outlook ${outlookLook(previewed.preview).tone}`}>
                {withoutTricks(previewed.preview.words)}
              </span>
            ) : null}
          </header>
          {previewed?.preview.is === 'impossible' ? (
            <p class="drop-why">{withoutTricks(previewed.preview.words)}</p>
          ) : (
            <PreviewFiles />
          )}
          <footer>
            <span>{previewed && previewed.preview.commits > 0 ? plural(previewed.preview.commits, 'commit') : ''}</span>
            <span class="grow" />
            <span>{over.offer}</span>
            <kbd>Esc</kbd>
          </footer>
        </div>
      )}
    </>
  )
}

/** The card has no room for all ways that the dialog offers: a move of the branch is left out. */
function dropWords(ways: readonly Way[]): string {
  if (ways.includes('rebase')) return 'Drop to merge, land, rebase or pick'
  return ways.includes('merge') ? 'Drop to merge, land or pick' : 'Drop to pick'
}

function iconOf(page: Page, { branch }: Source): IconName {
  if (branch === undefined) return 'commit'
  return page.branch(branch)?.session ? 'bot' : 'sprout'
}

function PreviewFiles() {
  const { value: previewed } = usePage().graph.drag.previewed
  if (!previewed) return null
  const { preview, changes } = previewed
  if (preview.conflictsIn.length > 0) {
    return (
      <div class="card-list">
        {preview.conflictsIn.slice(0, MAX_FILES).map(({ path, words }) => (
          <div class="conflict-row" key={path}>
            <Icon name="warning" size="xs" tone="is-warn" />
            <Path of={path} />
            <span class="meta cut">{withoutTricks(words)}</span>
          </div>
        ))}
      </div>
    )
  }
  if (!changes || changes.length === 0) return null
  return (
    <div class="card-list">
      <ChangeList changes={changes} most={MAX_FILES} />
    </div>
  )
}

/** Moves an element to a position, kept inside the window. */
function put(element: HTMLElement | null, x: number, y: number): void {
  if (!element) return
  const { offsetWidth, offsetHeight } = element
  const left = Math.max(4, Math.min(x, window.innerWidth - offsetWidth - 4))
  const isBelow = y + offsetHeight + 4 > window.innerHeight
  const top = Math.max(4, isBelow ? y - offsetHeight - 56 : y)
  element.style.transform = `translate(${left}px, ${top}px)`
}
