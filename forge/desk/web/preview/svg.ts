/**
 * Decides whether an SVG can be shown as an image. In an image, the browser runs no scripts and loads nothing from
 * elsewhere, but drawing it can take too long. The page may not parse text into elements (its content security policy
 * forbids it), so the tags are read here. Whatever could draw more than its tags show is refused.
 */
import { NotShown } from './not-shown.ts'
import { type FilterStep, filterCostOf, filterStepOf, stepsIn } from './svg-filters.ts'
import { addressesIn, identifiersIn } from './svg-references.ts'
import { matchingCostOf, type Styles, stylesFrom } from './svg-styles.ts'
import { pieceOf, type Tag, tokensOf } from './svg-tags.ts'

/** An SVG with more elements, in which an element counts as often as references repeat it, is not shown. */
const MAX_DRAWN_ELEMENTS = 40_000
/** An SVG whose elements are nested deeper is not shown. */
const MAX_DEPTH = 500
/** SVGs inside each other, as images by `data:` addresses. */
const MAX_SVGS_IN_SVGS = 3
/** As many characters of text, or points of a path, take about as long as an element. */
const [CHARACTERS_PER_ELEMENT, POINTS_PER_ELEMENT] = [20, 20]
/**
 * An SVG inside another one takes about as long as this many elements, and an element in a mask as this many outside.
 */
const [EMBEDDED_SVG, MASK] = [50, 10]
/** With animations, all elements are drawn again for each frame, which counts as this many times. */
const ANIMATED = 8

const TOO_MUCH = 'This SVG repeats too many elements to be drawn.'

/** Elements that draw none of what they contain: a colour that refers to one costs nothing. */
const GRADIENTS = new Set(['lineargradient', 'radialgradient'])
const ANIMATIONS = new Set(['animate', 'animatemotion', 'animatetransform', 'animatecolor', 'set'])
/** Elements whose `href` says where something leads or applies, and draws nothing. */
const POINTERS = new Set(['a', 'discard', ...ANIMATIONS])
/** Attributes that tell something to programs, and draw nothing. */
const DESCRIBES = /^(?:content|data-.*|aria-.*)$/

interface Element {
  /** The local name, in lower case. */
  name: string
  children: Element[]
  /** The cost without children and references, in elements. */
  own: number
  /** Points of a path, each of which can have a marker. */
  points: number
  /** The steps of a filter. */
  steps: FilterStep[]
  /** The ids of the elements that this one draws once more, as `use` does. */
  references: Set<string>
  /** What style rules call this element: its name, id and classes. */
  keys: string[]
}

/** Why an SVG is not shown, as a sentence; undefined if it is. */
export function whyNotShown(source: string): string | undefined {
  try {
    const drawn = drawnElements(source, 0)
    return drawn > MAX_DRAWN_ELEMENTS ? TOO_MUCH : undefined
  } catch (error) {
    if (error instanceof NotShown) return error.message
    throw error
  }
}

/**
 * The number of elements to draw, including those that references repeat; infinite if references are circular or nested
 * too deep. `level`: how many SVGs this one is embedded in.
 */
function drawnElements(source: string, level: number): number {
  if (level > MAX_SVGS_IN_SVGS) return Number.POSITIVE_INFINITY
  const { top, byId, styles, perElement } = read(source, level)
  return new Counter(byId, styles).count(top) * perElement
}

interface Drawing {
  top: Element
  /** Elements by id; a hostile SVG can use an id twice. */
  byId: ReadonlyMap<string, Element[]>
  styles: Styles
  /** The factor by which animations and style rules multiply the cost of each element. */
  perElement: number
}

function read(source: string, level: number): Drawing {
  const top = newElement('', [])
  const byId = new Map<string, Element[]>()
  const path = [top]
  const styleTexts = new Map<Element, string>()
  let [hasSvg, isAnimated] = [false, false]
  for (const token of tokensOf(source)) {
    const open = path.at(-1) ?? top
    if (token.kind === 'text') {
      if (open.name === 'style') styleTexts.set(open, (styleTexts.get(open) ?? '') + token.text)
      else open.own += token.text.trim().length / CHARACTERS_PER_ELEMENT
      continue
    }
    if (token.kind === 'end') {
      if (path.length > 1) path.pop()
      continue
    }
    const element = elementOf(token, level)
    hasSvg ||= element.name === 'svg'
    isAnimated ||= ANIMATIONS.has(element.name)
    open.children.push(element)
    const filter = path.findLast(({ name }) => name === 'filter')
    if (filter && element.name.startsWith('fe')) filter.steps.push(filterStepOf(element.name, token.attributes))
    const id = token.attributes.get('id')
    const same = id === undefined ? undefined : byId.get(id)
    if (same) same.push(element)
    else if (id !== undefined) byId.set(id, [element])
    if (!token.isEmpty) path.push(element)
    if (path.length > MAX_DEPTH) throw new NotShown(TOO_MUCH)
  }
  if (!hasSvg) throw new NotShown('There is no svg element in this file.')
  const texts = [...styleTexts.values()]
  for (const text of texts) verifyNoSvgIn(text)
  const isAnimatedByStyle = texts.some(text => /keyframes/i.test(text))
  const sheet = texts.join(' ')
  const perElement = (isAnimated || isAnimatedByStyle ? ANIMATED : 1) * (1 + stepsIn(sheet)) * matchingCostOf(sheet)
  return { top, byId, styles: stylesFrom(texts), perElement }
}

const newElement = (name: string, keys: string[]): Element => ({
  name,
  children: [],
  own: 1,
  points: 0,
  steps: [],
  references: new Set(),
  keys,
})

function elementOf({ name: fullName, attributes }: Tag, level: number): Element {
  const name = pieceOf(fullName)
  const id = attributes.get('id')
  const classes = (attributes.get('class') ?? '').split(/[ \t\n\r\f]+/).map(word => `.${word}`)
  const keys = [name, ...classes, ...(id === undefined ? [] : [`#${id}`])].map(key => key.toLowerCase())
  const element = newElement(name, keys)
  if (ANIMATIONS.has(name)) verifyDrawsTheSame(attributes)
  if (name === 'line') element.points = 2
  for (const [fullAttribute, value] of attributes) {
    const attribute = pieceOf(fullAttribute)
    if (attribute === 'd' || attribute === 'points') {
      element.points = (value.match(/\d+/g)?.length ?? 0) / 2
      element.own += element.points / POINTS_PER_ELEMENT
    }
    if ((attribute === 'href' && POINTERS.has(name)) || DESCRIBES.test(attribute)) continue
    element.own += stepsIn(value)
    for (const identifier of identifiersIn(value)) element.references.add(identifier)
    for (const svg of addressesIn(value)) element.own += EMBEDDED_SVG + drawnElements(svg, level + 1)
  }
  return element
}

/** Verifies that an animation does not change what is referred to: the elements to draw would depend on the time. */
function verifyDrawsTheSame(attributes: ReadonlyMap<string, string>): void {
  const changed = pieceOf(attributes.get('attributeName') ?? '')
  const values = ['from', 'to', 'by', 'values'].map(name => attributes.get(name) ?? '')
  const isReference = values.some(value => /url\(|data:/i.test(value)) || changed === 'href' || changed === 'class'
  if (isReference) throw new NotShown('This SVG changes by animations which elements it repeats: it is not shown.')
}

/** Style rules apply to any number of elements, so SVGs that they embed are not counted. */
function verifyNoSvgIn(style: string): void {
  if (addressesIn(style).length > 0) throw new NotShown('This SVG embeds others by its styles: it is not shown.')
}

/** Counts the elements to draw: each once, however often it is asked for. */
class Counter {
  readonly #known = new Map<Element, { drawn: number; points: number }>()

  constructor(
    readonly byId: ReadonlyMap<string, Element[]>,
    readonly styles: Styles,
  ) {}

  count(top: Element): number {
    return this.#of(top, 0).drawn
  }

  #of(element: Element, depth: number): { drawn: number; points: number } {
    const before = this.#known.get(element)
    if (before !== undefined) return before
    // Infinite while the element is being counted, so that a circle of references is, too.
    const infinite = { drawn: Number.POSITIVE_INFINITY, points: Number.POSITIVE_INFINITY }
    // Too long a chain of references also counts as infinite.
    if (depth > 2 * MAX_DEPTH) return infinite
    this.#known.set(element, infinite)
    let { own: drawn, points } = element
    for (const child of element.children) {
      const inside = this.#of(child, depth + 1)
      drawn += inside.drawn
      points += inside.points
    }
    const inside = { drawn, points }
    for (const id of this.#referencesOf(element)) {
      for (const target of this.byId.get(id) ?? []) {
        if (GRADIENTS.has(target.name) && element.name !== 'use') continue
        const repeated = this.#of(target, depth + 1)
        drawn += repeated.drawn * timesDrawn(target.name, inside) + filterCostOf(target.steps)
        points += element.name === 'use' ? repeated.points : 0
      }
    }
    const counted = { drawn, points }
    this.#known.set(element, counted)
    return counted
  }

  #referencesOf(element: Element): Iterable<string> {
    const rules = this.styles.referencesOf(element.keys)
    return rules.size === 0 ? element.references : new Set([...element.references, ...rules])
  }
}

/**
 * How often an element draws what it refers to. Patterns and markers are inherited, so each element inside of it draws
 * them, too.
 */
function timesDrawn(name: string, inside: { drawn: number; points: number }): number {
  if (name === 'pattern') return inside.drawn
  if (name === 'marker') return inside.points
  return name === 'mask' ? MASK : 1
}
