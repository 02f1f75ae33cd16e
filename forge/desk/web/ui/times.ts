/** Formats how long ago something was: now, 4 min, 3 h, 2 d, 5 mon, 2 y. */
import type { TargetedPointerEvent } from 'preact'

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONTH = 30 * DAY
const YEAR = 365 * DAY

// The format is created once, on first use, since creating it takes the browser long.
let clock: Intl.DateTimeFormat | undefined
const clockWords = (date: Date): string => {
  clock ??= new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
  return clock.format(date)
}

/** The age of `time` (seconds since 1970). A time in the future, from a wrong clock, counts as now. */
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

/** The full time as an element's title, computed when the pointer enters. */
export const timeTitle = (time: number) => ({
  onPointerEnter: ({ currentTarget }: TargetedPointerEvent<HTMLElement>) => {
    currentTarget.title = fullTime(time)
  },
})

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${digits(count)} ${count === 1 ? one : many}`
}

/** A whole number with thousands separators: 50,000. */
export const digits = (count: number): string => `${count}`.replace(/\B(?=(\d{3})+$)/g, ',')

/** When something was, in words: today 09:04, yesterday 17:30, else the date. */
export function whenWords(time: number, now = Date.now() / 1000): string {
  const date = new Date(time * 1000)
  const at = clockWords(date)
  const daysBack =
    (new Date(now * 1000).setHours(0, 0, 0, 0) - new Date(time * 1000).setHours(0, 0, 0, 0)) / (DAY * 1000)
  if (Math.round(daysBack) === 0) return `today ${at}`
  if (Math.round(daysBack) === 1) return `yesterday ${at}`
  return `${date.toLocaleDateString()} ${at}`
}
