/**
 * Decides whether an SVG can be shown as an image. In an image, the browser runs no scripts and loads nothing from
 * elsewhere, but drawing it can take too long. The page may not parse text into elements (its content security policy
 * forbids it), so the tags are read here; whether the SVG is well-formed, the browser finds out.
 */

/** An SVG with more elements, in which an element counts as often as references repeat it, is not shown. */
const MAX_DRAWN_ELEMENTS = 100_000
/** An SVG whose elements are nested deeper is not shown. */
const MAX_DEPTH = 500

/** Why an SVG is not shown, as a sentence; undefined if it is. */
export function whyNotShown(source: string): string | undefined {
  if (/<!ENTITY/i.test(source)) return 'This SVG defines entities, which can grow without limit: it is not shown.'
  if (!/<(?:[\w.-]+:)?svg[\s>/]/.test(source)) return 'There is no svg element in this file.'
  if (drawnElements(source) > MAX_DRAWN_ELEMENTS) return 'This SVG repeats too many elements to be drawn.'
  return undefined
}

interface Element {
  children: Element[]
  /** The ids of the elements that this one draws once more, as `use` does. */
  references: string[]
}

const TAG = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<(\/?)([A-Za-z_][\w:.-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>/g
const ID = /\sid\s*=\s*(?:"([^"]*)"|'([^']*)')/
const REFERENCE = /(?:href\s*=\s*["']\s*#([^"']+)|url\(\s*["']?#([^"')]+))/g

/**
 * The number of elements to draw, including those that references repeat; infinite if references are circular or nested
 * too deep.
 */
function drawnElements(source: string): number {
  const top: Element = { children: [], references: [] }
  const byId = new Map<string, Element>()
  const path = [top]
  for (const [all, closing, , attributes = ''] of source.matchAll(TAG)) {
    if (closing === undefined) continue
    if (closing === '/') {
      if (path.length > 1) path.pop()
      continue
    }
    const references = [...attributes.matchAll(REFERENCE)].map(([, href, url]) => (href ?? url ?? '').trim())
    const element: Element = { children: [], references }
    path.at(-1)?.children.push(element)
    const [, double, single] = ID.exec(attributes) ?? []
    const id = double ?? single
    if (id !== undefined && !byId.has(id)) byId.set(id, element)
    if (!all.endsWith('/>')) path.push(element)
    if (path.length > MAX_DEPTH) return Number.POSITIVE_INFINITY
  }
  return countOf(top, byId, new Map(), 0)
}

function countOf(
  element: Element,
  byId: ReadonlyMap<string, Element>,
  known: Map<Element, number>,
  depth: number,
): number {
  const before = known.get(element)
  if (before !== undefined) return before
  // Too long a chain of references also counts as infinite.
  if (depth > 2 * MAX_DEPTH) return Number.POSITIVE_INFINITY
  // Infinite while the element is being counted, so that a circle of references is, too.
  known.set(element, Number.POSITIVE_INFINITY)
  let sum = 1
  for (const child of element.children) sum += countOf(child, byId, known, depth + 1)
  for (const id of element.references) {
    const target = byId.get(id)
    if (target) sum += countOf(target, byId, known, depth + 1)
  }
  known.set(element, sum)
  return sum
}
