/** Estimates what it costs to draw the filters of an SVG, in elements. */

export interface FilterStep {
  cost: number
  /** The name of the result, if it has one. */
  result: string | undefined
  /** The names of the inputs; undefined is the result of the step before. */
  inputs: (string | undefined)[]
  /** An input of the feMerge before it, and no step itself. */
  isMergeNode: boolean
}

const STEP = 100
/** The cost of a morphology grows with its radius; this one is for a large one. */
const MORPHOLOGY = 1_200
/** The number of entries of a matrix that takes as long as a step. */
const MATRIX_SIZE = 25
const WITH_TWO_INPUTS = new Set(['feblend', 'fecomposite', 'fedisplacementmap'])
const WITHOUT_INPUT = new Set(['feflood', 'feimage', 'feturbulence', 'femerge'])
const STEP_IN_CSS = /(?:blur|shadow)\s*\(|shadow\s*:/gi

/** Reads a step of a filter, which an element describes. `name`: in lower case. */
export function filterStepOf(name: string, attributes: ReadonlyMap<string, string>): FilterStep {
  const inputs = [attributes.get('in')]
  if (WITH_TWO_INPUTS.has(name)) inputs.push(attributes.get('in2'))
  const matrix = attributes.get('kernelMatrix')?.match(/\d+/g)?.length ?? 0
  return {
    cost: name === 'femorphology' ? MORPHOLOGY : STEP * (1 + matrix / MATRIX_SIZE),
    result: attributes.get('result'),
    inputs: WITHOUT_INPUT.has(name) ? [] : inputs,
    isMergeNode: name === 'femergenode',
  }
}

/**
 * The cost of a filter. A result that several steps take is computed for each of them, and so is what it was computed
 * from.
 */
export function filterCostOf(steps: readonly FilterStep[]): number {
  const uses = steps.map(() => 0)
  const byResult = new Map<string, number>()
  let [beforeLast, last] = [-1, -1]
  for (const [at, { inputs, result, isMergeNode }] of steps.entries()) {
    for (const input of inputs) {
      const before = isMergeNode ? beforeLast : last
      const from = byResult.get(input ?? '') ?? (isSource(input) ? -1 : before)
      if (from >= 0) uses[from] = (uses[from] ?? 0) + 1
    }
    if (!isMergeNode) [beforeLast, last] = [last, at]
    if (result !== undefined) byResult.set(result, at)
  }
  const times = uses.reduce((product, count) => product * Math.max(1, count), 1)
  return steps.reduce((sum, { cost }) => sum + cost, 0) * times
}

const isSource = (input: string | undefined): boolean =>
  input !== undefined &&
  /^(?:SourceGraphic|SourceAlpha|BackgroundImage|BackgroundAlpha|FillPaint|StrokePaint)$/.test(input)

/** The cost of the filters and shadows that a style or an attribute lists. */
export const stepsIn = (style: string): number => STEP * (style.match(STEP_IN_CSS)?.length ?? 0)
