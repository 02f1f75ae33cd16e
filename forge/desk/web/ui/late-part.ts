/** Parts of the page whose code is loaded when they are shown first, or earlier while the browser has nothing to do. */
import { signal } from '@preact/signals'
import { type ComponentChildren, type FunctionComponent, h } from 'preact'
import { useEffect } from 'preact/hooks'

export interface LatePart<Props> {
  /** Renders the part. Throws if its code can't be loaded, which the boundary around it shows. */
  View: FunctionComponent<Props>
  /** Whether the code is loaded, or can't be. */
  isSettled: () => boolean
  /** Loads the code, once. Never rejects: an error is thrown where the part is shown. */
  load: () => Promise<void>
}

/** A part whose code `read` loads. Until that is done, `meanwhile` is shown in its place. */
export function latePart<Props extends object>(
  read: () => Promise<FunctionComponent<Props>>,
  meanwhile: (props: Props) => ComponentChildren = () => null,
): LatePart<Props> {
  const code = signal<{ view: FunctionComponent<Props> } | { error: unknown } | undefined>(undefined)
  let loading: Promise<void> | undefined

  const load = () => {
    loading ??= read().then(
      view => {
        code.value = { view }
      },
      error => {
        loading = undefined
        code.value = { error }
      },
    )
    return loading
  }

  function View(props: Props) {
    useEffect(() => {
      if (!code.peek()) void load()
    }, [])
    const loaded = code.value
    if (!loaded) return meanwhile(props)
    if ('view' in loaded) return h(loaded.view, props)
    // The boundary's button draws this again, and so loads the code again.
    code.value = undefined
    throw loaded.error
  }

  return { View, isSettled: () => code.value !== undefined, load }
}
