/** The current time, for running counters. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

/** The time in milliseconds since 1970, updated every second while `isWanted`. */
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
