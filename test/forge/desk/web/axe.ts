/** The findings of axe-core in the shown page, and what a screen reader would not be told. */
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'
import { spokenFindings } from './spoken-tree.ts'

const AXE = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text()

/** The rules about colours. */
export const COLOURS = ['color-contrast', 'link-in-text-block']

/** The findings by rule, with their elements: of all rules and of {@link spokenFindings}, or of some rules alone. */
export async function findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const results: AxeResults = await page.evaluate(`${AXE}; axe.run(document, ${JSON.stringify(options)})`)
  const spoken = rules ? [] : await spokenFindings(page)
  const violations = results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
  return [...violations, ...spoken]
}
