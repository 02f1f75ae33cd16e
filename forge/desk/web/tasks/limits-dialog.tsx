/** The dialog that changes the limits of a run that is under way. */
import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { RaisableLimit, Run } from '../../contract/tasks.ts'
import { type Page, usePage } from '../page/state.ts'
import { DialogFrame, SubmitFooter } from '../ui/dialog-frame.tsx'
import { withoutTricks } from '../ui/names.ts'
import { LIMITS } from './run-limits.ts'

const NAMES = ['cost', 'requests', 'minutes'] as const satisfies readonly RaisableLimit[]
type Typed = Record<RaisableLimit, string>

interface Props {
  content: { title: string; run: Run }
  close: () => void
}

export function LimitsDialog({ content: { title, run }, close }: Props) {
  const page = usePage()
  const id = useId()
  const first = useRef<HTMLInputElement>(null)
  const typed = useSignal<Typed>(textsOf(run))
  const problem = useSignal('')
  const isBusy = useSignal(false)
  useLayoutEffect(() => first.current?.select(), [])
  const change = async () => {
    if (isBusy.peek()) return
    isBusy.value = true
    try {
      await changeLimits(page, run, typed.peek())
      close()
    } catch (error) {
      problem.value = withoutTricks((error as Error).message)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <DialogFrame title={title} close={close}>
      <form
        onSubmit={event => {
          event.preventDefault()
          change()
        }}
      >
        <div class="dialog-body new-run">
          {NAMES.map((name, at) => (
            <div class="row" key={name}>
              <label for={`${id}-${name}`}>{LIMITS[name].short}</label>
              <input
                ref={at === 0 ? first : undefined}
                id={`${id}-${name}`}
                class="field short"
                inputMode="decimal"
                autocomplete="off"
                placeholder="No limit"
                aria-describedby={`${id}-${name}-taken`}
                value={typed.value[name]}
                onInput={event => {
                  typed.value = { ...typed.peek(), [name]: event.currentTarget.value }
                  problem.value = ''
                }}
              />
              <span class="meta" id={`${id}-${name}-taken`}>
                {LIMITS[name].taken(run)}
              </span>
            </div>
          ))}
          <p class="dialog-problem is-bad" role="alert">
            {problem.value}
          </p>
        </div>
        <SubmitFooter close={close} isOff={isBusy.value}>
          Change limits
        </SubmitFooter>
      </form>
    </DialogFrame>
  )
}

/** The limits as text: '' where there is none. */
const textsOf = ({ limits: { cost, requests, minutes } }: Run): Typed => ({
  cost: cost === undefined ? '' : cost.toFixed(2),
  requests: String(requests ?? ''),
  minutes: String(minutes ?? ''),
})

/** Sends the limits that differ from those of the run. Throws an error with a sentence for what is no limit. */
async function changeLimits(page: Page, run: Run, typed: Typed): Promise<void> {
  const before = textsOf(run)
  const changed = NAMES.filter(name => typed[name].trim() !== before[name])
  if (changed.length === 0) return
  const wrong = changed.find(name => !LIMITS[name].isGood.test(typed[name].trim()) || amountOf(typed[name]) <= 0)
  if (wrong) throw new Error(`${LIMITS[wrong].short}: ${LIMITS[wrong].wrong}`)
  const limits = Object.fromEntries(changed.map(name => [name, amountOf(typed[name])]))
  await page.connection.ask('tell tasks', { word: { tell: 'resume', run: run.run, limits } })
  page.spoken.value = 'The limits are changed'
  page.tasks.lookSoon(0)
}

const amountOf = (typed: string): number => Number(typed.trim().replace(/^\$/, ''))
