/** A replacement that preserves the case of what it replaces, as VS Code does it. */

/**
 * A replacement in the case of a match: all upper, all lower, or by its first letter. Where both have as many parts
 * between hyphens or underscores, each part has the case of its own.
 */
export function withCaseOf(match: string, replacement: string): string {
  const separator = ['-', '_'].find(sign => match.includes(sign) && replacement.includes(sign))
  if (separator !== undefined) {
    const parts = match.split(separator)
    const replaced = replacement.split(separator)
    if (parts.length === replaced.length)
      return replaced.map((part, at) => inCase(parts[at] ?? '', part)).join(separator)
  }
  return inCase(match, replacement)
}

function inCase(match: string, replacement: string): string {
  const [upper, lower] = [match.toUpperCase(), match.toLowerCase()]
  // It has no letters.
  if (upper === lower) return replacement
  if (match === upper) return replacement.toUpperCase()
  if (match === lower) return replacement.toLowerCase()
  const begin = match.charAt(0)
  if (begin !== begin.toLowerCase()) return replacement.charAt(0).toUpperCase() + replacement.slice(1)
  if (begin !== begin.toUpperCase()) return replacement.charAt(0).toLowerCase() + replacement.slice(1)
  return replacement
}
