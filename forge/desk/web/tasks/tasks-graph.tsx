/** The tasks of a run with their dependencies: a list, drawn in columns with lines between them. */
import { useSignal } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { Run } from '../../contract/tasks.ts'
import { usePlace } from '../page/places.ts'
import type { TasksState } from '../page/tasks-state.ts'
import { Icon } from '../ui/icons.tsx'
import { withoutTricks } from '../ui/names.ts'
import { layOut, neighbour, type Placed } from './tasks-layout.ts'
import { TASK_SIGNS, taskWords } from './tasks-words.tsx'

export function TaskGraphView({ run, tasks }: { run: Run; tasks: TasksState }) {
  const list = useRef<HTMLOListElement>(null)
  const box = useRef<HTMLDivElement>(null)
  const room = useRoom(box)
  const layout = useMemo(() => layOut(run.tasks, room), [run.tasks, room])
  const chosen = tasks.chosenTask.value
  // Tab reaches one task, the arrow keys the others.
  const home = layout.nodes.some(({ task }) => task.id === chosen) ? chosen : layout.nodes[0]?.task.id
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const here = event.target instanceof HTMLElement ? event.target.dataset.task : undefined
    const next = neighbour(layout, here, event.key)
    if (next === undefined) return
    event.preventDefault()
    list.current?.querySelector<HTMLElement>(`[data-task="${next}"]`)?.focus()
  }
  return (
    <div class="plan" ref={box}>
      <div class="plan-grid" style={{ width: `${layout.width}px`, height: `${layout.height}px` }}>
        <svg width={layout.width} height={layout.height} aria-hidden="true">
          {layout.lines.map(({ from, to, path, isDone }) => (
            <path key={`${from} ${to}`} class={isDone ? 'e done' : 'e'} d={path} />
          ))}
        </svg>
        <ol aria-label="Tasks of the run" ref={list} onKeyDown={onKeyDown}>
          {layout.nodes.map(node => (
            <Node
              key={node.task.id}
              node={node}
              width={layout.nodeWidth}
              height={layout.nodeHeight}
              run={run}
              isChosen={node.task.id === chosen}
              isHome={node.task.id === home}
              choose={() => tasks.chooseTask(node.task.id)}
            />
          ))}
        </ol>
      </div>
    </div>
  )
}

/** The width of an element, in pixels; known before the first frame. */
function useRoom(box: { current: HTMLElement | null }): number {
  const room = useSignal(0)
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return undefined
    const observer = new ResizeObserver(() => {
      room.value = element.clientWidth
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [box, room])
  return room.value
}

interface NodeProps {
  node: Placed
  /** In pixels. */
  width: number
  height: number
  run: Run
  isChosen: boolean
  isHome: boolean
  choose: () => void
}

function Node({ node: { task, left, top }, width, height, run, isChosen, isHome, choose }: NodeProps) {
  const { icon, tone, word } = TASK_SIGNS[task.state]
  const button = usePlace<HTMLButtonElement>(...(isHome ? (['home'] as const) : []))
  const words = withoutTricks(taskWords(task, run.tasks))
  const title = withoutTricks(task.title)
  return (
    <li style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` }}>
      <button
        type="button"
        ref={button}
        class={`node is-${task.state}`}
        data-task={task.id}
        tabIndex={isHome ? 0 : -1}
        aria-current={isChosen}
        title={`${title} (${task.id}): ${words}`}
        onClick={choose}
      >
        <span class="name">{title}</span>
        <span class="state">
          <Icon name={icon} size="xs" tone={tone} />
          <span class="words">{words}</span>
          {words.startsWith(word) ? null : <span class="vh">, {word}</span>}
          {task.dependsOn.length > 0 && task.state !== 'waits' ? (
            <span class="vh">, after {task.dependsOn.join(', ')}</span>
          ) : null}
        </span>
      </button>
    </li>
  )
}
