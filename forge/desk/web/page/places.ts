/** Elements that name the places where they stand, so that actions lead to them. */
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { PlaceName } from '../ui/focus.ts'
import { usePage } from './state.ts'

/** A ref for the element that is at some places, for as long as it is there; with none of them, at no place. */
export function usePlace<Tag extends HTMLElement>(...names: readonly PlaceName[]): RefObject<Tag | null> {
  const element = useRef<Tag>(null)
  const { places } = usePage()
  // After each time that it is drawn: the element may be another one, or gone.
  useLayoutEffect(() => (element.current ? places.add(element.current, names) : undefined))
  return element
}
