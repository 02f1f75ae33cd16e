/** The dialog with the lessons that runs have learned, in which they are read, edited as files, and removed. */
import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Lesson, TasksWord } from '../../contract/tasks.ts'
import { usePage } from '../page/state.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { withoutTricks } from '../ui/names.ts'
import { useServerValue } from '../ui/server-value.ts'
import { Button, Waiting } from '../ui/words.tsx'

export function LessonsDialog({ close }: { close: () => void }) {
  const page = usePage()
  const lessons = useServerValue(() => page.connection.ask('tasks lessons', {}), [])
  const edited = useSignal<Lesson | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  const isBusy = useSignal(false)
  const known = lessons.latest.value

  /** Sends a change of a lesson, and loads the lessons again. Returns whether the change was made. */
  const tell = async (word: TasksWord): Promise<boolean> => {
    if (isBusy.peek()) return false
    isBusy.value = true
    problem.value = undefined
    try {
      await page.connection.ask('tell tasks', { word })
      await lessons.refresh()
    } catch (error) {
      problem.value = (error as Error).message
    }
    isBusy.value = false
    return problem.peek() === undefined
  }

  return (
    <DialogFrame title="Lessons" close={close}>
      <div class="dialog-body lessons">
        <p class="meta">What runs have learned from failures and answers. Later runs are given those that fit.</p>
        {edited.value ? (
          <LessonEditor
            lesson={edited.value}
            isBusy={isBusy.value}
            save={async text => {
              const id = edited.peek()?.id
              if (id !== undefined && (await tell({ tell: 'edit lesson', id, text }))) edited.value = undefined
            }}
            leave={() => {
              edited.value = undefined
              problem.value = undefined
            }}
          />
        ) : known === undefined && lessons.problem.value === undefined ? (
          <Waiting words="Loading…" />
        ) : known?.length === 0 ? (
          <p>No lessons yet.</p>
        ) : (
          <ul class="lesson-list">
            {known?.map(lesson => (
              <LessonRow
                key={lesson.id}
                lesson={lesson}
                isBusy={isBusy.value}
                edit={() => {
                  edited.value = lesson
                }}
                remove={() => tell({ tell: 'remove lesson', id: lesson.id })}
              />
            ))}
          </ul>
        )}
        <p class="dialog-problem is-bad" role="alert">
          {problem.value ?? lessons.problem.value}
        </p>
      </div>
      {edited.value ? null : (
        <footer>
          <span class="grow" />
          <CloseButton close={close} words="Close" />
        </footer>
      )}
    </DialogFrame>
  )
}

interface RowProps {
  lesson: Lesson
  isBusy: boolean
  edit: () => void
  remove: () => void
}

function LessonRow({ lesson, isBusy, edit, remove }: RowProps) {
  const { id, title, says, date, given, firstTry, retired } = lesson
  const came = given === 0 ? 'not given yet' : `given to ${given}, first try ${firstTry}`
  return (
    <li aria-label={withoutTricks(title)}>
      <div class="row">
        <strong class="grow">{withoutTricks(title)}</strong>
        <Button look="small" icon="pencil" words="Edit" isOff={isBusy} onClick={edit} />
        <Button look="small" icon="trash" words="Remove" isOff={isBusy} onClick={remove} />
      </div>
      <p>{withoutTricks(says)}</p>
      <p class="meta">
        {withoutTricks(id)}, {date}, {came}
        {retired === undefined ? '' : `, retired ${retired}`}
      </p>
    </li>
  )
}

interface EditorProps {
  lesson: Lesson
  isBusy: boolean
  save: (text: string) => void
  leave: () => void
}

function LessonEditor({ lesson, isBusy, save, leave }: EditorProps) {
  const id = useId()
  const text = useSignal(lesson.text)
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => field.current?.focus(), [])
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        save(text.peek())
      }}
    >
      <label for={id}>The lesson as a file: what it says stands below its fields</label>
      <textarea
        ref={field}
        id={id}
        class="field mono"
        rows={16}
        spellcheck={false}
        value={text.value}
        onInput={event => {
          text.value = event.currentTarget.value
        }}
      />
      <div class="row">
        <span class="grow" />
        <Button words="Cancel" isOff={isBusy} onClick={leave} />
        <button type="submit" class="button main" aria-disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  )
}
