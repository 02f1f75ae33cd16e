/** Something that is shown when it is asked for. */
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
