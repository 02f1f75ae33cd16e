/** The time, for what counts seconds. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** In milliseconds since 1970; it goes on once a second for as long as somebody wants it. */
export function useClock(isWanted: boolean): number {
  const now = useSignal(Date.now())
  useEffect(() => {
    if (!isWanted) return undefined
    now.value = Date.now()
    const timer = setInterval(() => {
      now.value = Date.now()
    }, 1_000)
    return () => clearInterval(timer)
  }, [isWanted, now])
  return now.value
}
