/** A hook for content that is loaded when it is shown. */
import { useSignal } from '@preact/signals'

export function useShown(): { isShown: boolean; show: () => void } {
  const isShown = useSignal(false)
  return {
    isShown: isShown.value,
    show: () => {
      isShown.value = true
    },
  }
}
