/** Loads the preview of a step, and the files that it would change. */
import { useEffect } from 'preact/hooks'
import type { Preview, Step } from '../../contract/steps.ts'
import type { Change } from '../../contract/values.ts'
import { usePage } from '../page/state.ts'
import { changesOfPreview } from '../page/step-drag.ts'
import { useServerValue } from '../ui/server-value.ts'

interface Previewed {
  /** The preview; undefined until the server has answered. */
  preview: Preview | undefined
  changes: Change[] | undefined
  /** Why there is no preview. */
  problem: string | undefined
  /** Loads the preview again. */
  look: () => Promise<void>
}

const SETTINGS = { forgetsOnChange: true }

/** Loads the preview of a step; nothing without a step. */
export function usePreview(step: Step | undefined): Previewed {
  const page = usePage()
  const key = step && JSON.stringify(step)
  const asked = useServerValue(step && (() => page.connection.ask('preview', { step })), [key], SETTINGS)
  const preview = asked.latest.value
  const change = [key, preview !== undefined, preview?.before, preview?.result]
  const changes = useServerValue(preview && (() => changesOfPreview(page, preview)), change, SETTINGS)
  useEffect(() => {
    if (key === undefined) return undefined
    return () => {
      if (!asked.latest.peek()) page.connection.ask('stop preview', {}).catch(() => {})
    }
  }, [key])
  // Another window may move the branches meanwhile, or change the drafts that an amend takes: the preview is then
  // loaded again.
  const version = page.graph.version.value
  const isAmend = step?.step === 'rewrite' && step.rewriting.do === 'amend'
  const drafts = isAmend ? page.changed.value.get(step.branch) : undefined
  useEffect(() => {
    if (asked.latest.peek()) asked.refresh()
  }, [version, drafts])
  return {
    preview,
    changes: changes.latest.value,
    problem: asked.problem.value ?? changes.problem.value,
    look: () => asked.refresh(),
  }
}
