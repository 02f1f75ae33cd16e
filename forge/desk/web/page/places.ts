/** Registers elements by the name of a place, so that actions can focus them. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlaceName } from '../ui/focus.ts'
import { usePage } from './state.ts'

/** A ref for the element at the named places while it is in the page. Without names, it is at none. */
export function usePlace<Tag extends HTMLElement>(...names: readonly PlaceName[]): RefObject<Tag | null> {
  const element = useRef<Tag>(null)
  const { places } = usePage()
  // The element is registered after each render, since it may have been replaced or removed.
  useLayoutEffect(() => (element.current ? places.add(element.current, names) : undefined))
  return element
}
