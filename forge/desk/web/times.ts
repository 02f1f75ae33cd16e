/** How long ago something was, in the fewest words: now, 4 min, 3 h, 2 d, 5 mon, 2 y. */

const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const MONTH = 30 * DAY
const YEAR = 365 * DAY

// Made once: to make one takes as long as to show a row.
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })

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

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

/** When something was, as a person says it: today 09:04, yesterday 17:30, else the day. */
export function whenWords(time: number, now = Date.now() / 1000): string {
  const date = new Date(time * 1000)
  const clock = CLOCK.format(date)
  const daysBack =
    (new Date(now * 1000).setHours(0, 0, 0, 0) - new Date(time * 1000).setHours(0, 0, 0, 0)) / (DAY * 1000)
  if (Math.round(daysBack) === 0) return `today ${clock}`
  if (Math.round(daysBack) === 1) return `yesterday ${clock}`
  return `${date.toLocaleDateString()} ${clock}`
}
