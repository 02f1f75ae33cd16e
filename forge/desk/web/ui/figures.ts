/** Formats tokens, money and times briefly. */
import type { TurnUsage } from '../../contract/chat.ts'

/** Formats a number of tokens: 812, 9.4k, 148k, 1.2M. */
export function tokens(count: number): string {
  if (count < 1_000) return String(count)
  if (count < 9_950) return `${(count / 1_000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1_000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** Formats a cost; undefined if the provider has no prices. */
export function money(cost: number | undefined): string | undefined {
  if (cost === undefined) return undefined
  if (cost > 0 && cost < 0.01) return '< $0.01'
  return `$${cost.toFixed(2)}`
}

/** The sum of two usages; it has a cost if one of them has. */
export function sumOf(one: TurnUsage, other: TurnUsage): TurnUsage {
  const hasCost = one.cost !== undefined || other.cost !== undefined
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    ...(hasCost && { cost: (one.cost ?? 0) + (other.cost ?? 0) }),
  }
}

/** The share of the input that the provider read from its cache, in percent. */
export function cacheShare({ input, cacheRead }: TurnUsage): string | undefined {
  if (input === 0) return undefined
  return `${Math.round((100 * cacheRead) / input)}%`
}

export function usageWords(usage: TurnUsage): string {
  const { input, output, cacheRead, cacheWrite, cost } = usage
  // Without a complete answer there is no usage: providers report it at the end.
  if (input + output === 0) return ''
  const parts = [`in ${tokens(input)}  out ${tokens(output)}`]
  if (cacheRead + cacheWrite > 0) parts.push(`cache ${tokens(cacheRead)} read, ${tokens(cacheWrite)} written`)
  const price = money(cost)
  if (price !== undefined) parts.push(price)
  return parts.join('  ·  ')
}

/** Formats a duration in seconds: 3.4 s, 1:12, 1:02:03. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  return clock(seconds)
}

/** Formats the elapsed seconds of something in progress: 0:08, 1:12. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (figure: number) => String(figure).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}
