/** Registers elements by the name of a place, so that actions can focus them. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlaceName } from '../ui/focus.ts'
import { usePage } from './state.ts'

/**
 * A ref for an element that is registered under these names of places while it is in the page; without names, it is not
 * registered.
 */
export function usePlace<Tag extends HTMLElement>(...names: readonly PlaceName[]): RefObject<Tag | null> {
  const element = useRef<Tag>(null)
  const { places } = usePage()
  // The element is registered after each render, since it may have been replaced or removed.
  useLayoutEffect(() => (element.current ? places.add(element.current, names) : undefined))
  return element
}
