/** The findings of axe-core in the shown page. */
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

const AXE = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text()

/** The rules about colours. */
export const COLOURS = ['color-contrast', 'link-in-text-block']

/** The findings by rule, with their elements: of all rules, or of some. */
export async function findings(page: Page, rules?: readonly string[]): Promise<string[]> {
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const results: AxeResults = await page.evaluate(`${AXE}; axe.run(document, ${JSON.stringify(options)})`)
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
}
