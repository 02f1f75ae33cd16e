/** How long ago something was, in the fewest words: now, 4 min, 3 h, 2 d, 5 mon, 2 y. */
import type { TargetedPointerEvent } from 'preact'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONTH = 30 * DAY
const YEAR = 365 * DAY

// Made once, and when it is first needed: a browser takes as long to learn how times are written as to begin a page.
let clock: Intl.DateTimeFormat | undefined
const clockWords = (date: Date): string => {
  clock ??= new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
  return clock.format(date)
}

/** `time` in seconds since 1970. A time to come, by a clock that is off, counts as now. */
export function age(time: number, now = Date.now() / 1000): string {
  const seconds = now - time
  if (seconds < MINUTE) return 'now'
  if (seconds < HOUR) return `${Math.floor(seconds / MINUTE)} min`
  if (seconds < DAY) return `${Math.floor(seconds / HOUR)} h`
  if (seconds < MONTH) return `${Math.floor(seconds / DAY)} d`
  if (seconds < YEAR) return `${Math.floor(seconds / MONTH)} mon`
  return `${Math.floor(seconds / YEAR)} y`
}

export function ago(time: number): string {
  const words = age(time)
  return words === 'now' ? 'just now' : `${words} ago`
}

export function fullTime(time: number): string {
  return new Date(time * 1000).toLocaleString()
}

/** A full time as the title of an element, made when somebody points at it. */
export const timeTitle = (time: number) => ({
  onPointerEnter: ({ currentTarget }: TargetedPointerEvent<HTMLElement>) => {
    currentTarget.title = fullTime(time)
  },
})

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${digits(count)} ${count === 1 ? one : many}`
}

/** A whole number with its thousands apart, as 50,000. */
export const digits = (count: number): string => `${count}`.replace(/\B(?=(\d{3})+$)/g, ',')

/** When something was, as a person says it: today 09:04, yesterday 17:30, else the day. */
export function whenWords(time: number, now = Date.now() / 1000): string {
  const date = new Date(time * 1000)
  const at = clockWords(date)
  const daysBack =
    (new Date(now * 1000).setHours(0, 0, 0, 0) - new Date(time * 1000).setHours(0, 0, 0, 0)) / (DAY * 1000)
  if (Math.round(daysBack) === 0) return `today ${at}`
  if (Math.round(daysBack) === 1) return `yesterday ${at}`
  return `${date.toLocaleDateString()} ${at}`
}
