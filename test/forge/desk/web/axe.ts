/** What axe-core finds in the page as it is shown. */
import type { AxeResults } from 'axe-core'
import type { DeskPage } from './scene.ts'

const AXE = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text()

/** What is wrong, by rule, with the places. */
export async function findings(page: DeskPage): Promise<string[]> {
  const results: AxeResults = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ['violations'] })`)
  return results.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
}
