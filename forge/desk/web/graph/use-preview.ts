/** Loads the preview of a step, and the files that it would change. */
import { useEffect, useRef } from 'preact/hooks'
import type { Preview, Step } from '../../contract/steps.ts'
import type { Change } from '../../contract/values.ts'
import type { FollowingContent } from '../page/dialog-content.ts'
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

/**
 * Loads the preview of a step; nothing without a step. `content`: that of the dialog. It is another one once a branch
 * is renamed: the preview then stays until the next one is there, and so does the field that is typed into.
 */
export function usePreview(step: Step | undefined, content?: FollowingContent): Previewed {
  const page = usePage()
  const key = step && JSON.stringify(step)
  const before = useRef(content)
  const settings = { forgetsOnChange: before.current === content }
  const asked = useServerValue(step && (() => page.connection.ask('preview', { step })), [key], settings)
  const preview = asked.latest.value
  const change = [key, preview !== undefined, preview?.before, preview?.result]
  const changes = useServerValue(preview && (() => changesOfPreview(page, preview)), change, settings)
  useEffect(() => {
    before.current = content
  }, [content])
  useEffect(() => {
    if (key === undefined) return undefined
    return () => {
      if (!asked.latest.peek()) page.connection.ask('stop preview', {}).catch(() => {})
    }
  }, [key])
  // Another window or program may move the branches meanwhile, or change the drafts that an amend takes: the preview,
  // or the reason why there is none, is then loaded again.
  const moves = page.graph.moves.value
  const isAmend = step?.step === 'rewrite' && step.rewriting.do === 'amend'
  const drafts = isAmend ? page.changed.value.get(step.branch) : undefined
  const known = useRef({ moves, drafts })
  useEffect(() => {
    if (known.current.moves === moves && known.current.drafts === drafts) return
    known.current = { moves, drafts }
    asked.touch()
  }, [moves, drafts])
  return {
    preview,
    changes: changes.latest.value,
    problem: asked.problem.value ?? changes.problem.value,
    look: () => asked.refresh(),
  }
}
