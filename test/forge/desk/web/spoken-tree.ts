/** What a screen reader finds wrong in the shown page, by the browser's accessibility tree. */
import type { Page } from 'playwright-core'

/** Roles of what is operated or entered: each one needs a name. */
const NAMED =
  'button|link|textbox|searchbox|combobox|checkbox|radio|switch|slider|spinbutton|tab|option|treeitem|menuitem|menuitemradio|menuitemcheckbox|dialog|alertdialog|listbox|tree|tablist|menu|region|complementary'
const UNNAMED = new RegExp(`^\\s*- (?:${NAMED})(?=$|:| \\[)`)

/** The controls and containers without a name, ids that occur twice, and lists that do not say which entry is selected. */
export async function spokenFindings(page: Page): Promise<string[]> {
  const tree = (await page.locator('body').ariaSnapshot()).split('\n')
  const unnamed = tree.flatMap((line, at) =>
    UNNAMED.test(line) ? [`no name: ${tree.slice(Math.max(0, at - 2), at + 3).join(' ⏎ ')}`] : [],
  )
  return [...unnamed, ...(await page.evaluate(inPage))]
}

/** Runs in the page. */
function inPage(): string[] {
  const found: string[] = []
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  found.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map(id => `twice: #${id}`))
  for (const name of ['aria-controls', 'aria-labelledby', 'aria-describedby', 'aria-activedescendant', 'aria-owns'])
    for (const element of document.querySelectorAll(`[${name}]`))
      for (const id of (element.getAttribute(name) ?? '').split(/\s+/).filter(Boolean))
        if (!document.getElementById(id)) found.push(`${name} names #${id}, which is not there`)
  const isShown = (element: Element) => element.checkVisibility() && !element.closest('[inert], [aria-hidden="true"]')
  const lists = { tablist: 'tab', listbox: 'option', tree: 'treeitem' }
  for (const [list, entry] of Object.entries(lists))
    for (const element of [...document.querySelectorAll(`[role=${list}]`)].filter(isShown)) {
      const entries = [...element.querySelectorAll(`[role=${entry}]`)].filter(isShown)
      const says = entries.filter(one => one.hasAttribute('aria-selected'))
      if (entries.length > says.length)
        found.push(`${list} ${element.getAttribute('aria-label')}: ${entries.length - says.length} say no selection`)
    }
  for (const dialog of [...document.querySelectorAll('[role=dialog], [role=alertdialog], dialog[open]')].filter(
    isShown,
  ))
    if (!dialog.contains(document.activeElement)) found.push(`a dialog without the focus: ${dialog.ariaLabel}`)
  return found
}
