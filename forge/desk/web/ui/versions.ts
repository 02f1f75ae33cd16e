/** Sorts tags by the version in their name, newest first. */

interface Version {
  /** The text before the number, such as server- in server-5.1.20; a v alone counts as none. */
  prefix: string
  numbers: number[]
  /** The text after the number, such as beta.2 in 11.0.0-beta.2; '' for a release. */
  rest: string
}

const VERSION = /^(.*?)v?(\d+(?:\.\d+)*)(?:[-_.+]?(.*))$/i

function versionOf(name: string): Version | undefined {
  const [, prefix, numbers, rest = ''] = VERSION.exec(name) ?? []
  if (prefix === undefined || numbers === undefined) return undefined
  return { prefix, numbers: numbers.split('.').map(Number), rest }
}

/** A tag. `committed`: the time of its commit, where known. */
interface Dated {
  name: string
  committed?: number | undefined
}

/**
 * Sorts tags: together those whose versions have the same prefix, first the prefix with the newest commit, or, where
 * the times are not known, no prefix; last those without a version. A release comes before its own pre-releases.
 */
export function byVersion<Tag extends Dated>(tags: readonly Tag[]): Tag[] {
  // Creating a collator takes long, so it is avoided if there is nothing to sort.
  if (tags.length < 2) return [...tags]
  const words = new Intl.Collator('en', { numeric: true })
  const known = tags.map(tag => ({ tag, version: versionOf(tag.name) }))
  const newest = new Map<string, number>()
  for (const { tag, version } of known)
    if (version) newest.set(version.prefix, Math.max(newest.get(version.prefix) ?? 0, tag.committed ?? 0))
  const timeOf = ({ prefix }: Version) => newest.get(prefix) ?? 0
  known.sort((one, other) => {
    if (!one.version || !other.version) {
      if (one.version || other.version) return one.version ? -1 : 1
      return words.compare(other.tag.name, one.tag.name)
    }
    const byTime = timeOf(other.version) - timeOf(one.version)
    return byTime || compare(one.version, other.version, words) || words.compare(other.tag.name, one.tag.name)
  })
  return known.map(({ tag }) => tag)
}

function compare(one: Version, other: Version, words: Intl.Collator): number {
  if (one.prefix !== other.prefix) {
    if (one.prefix === '' || other.prefix === '') return one.prefix === '' ? -1 : 1
    return words.compare(one.prefix, other.prefix)
  }
  const count = Math.max(one.numbers.length, other.numbers.length)
  for (let at = 0; at < count; at++) {
    const by = (other.numbers[at] ?? 0) - (one.numbers[at] ?? 0)
    if (by !== 0) return by
  }
  if (one.rest === '' || other.rest === '') return one.rest === other.rest ? 0 : one.rest === '' ? -1 : 1
  return words.compare(other.rest, one.rest)
}
