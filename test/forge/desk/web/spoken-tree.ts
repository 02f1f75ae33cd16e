/** What a screen reader finds wrong in the shown page, by the browser's accessibility tree. */
import type { Page } from 'playwright-core'

/** Roles of what is operated or entered, and of what contains it: each one needs a name. */
const NAMED = [
  ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio', 'switch', 'slider', 'spinbutton'],
  ...['tab', 'option', 'treeitem', 'menuitem', 'menuitemradio', 'menuitemcheckbox', 'dialog', 'alertdialog'],
  ...['listbox', 'tree', 'tablist', 'menu', 'region', 'complementary'],
]
const UNNAMED = new RegExp(`^\\s*- (?:${NAMED.join('|')})(?=$|:| \\[)`)

/** Runs in the page: ids and references to them, selections of lists, and the focus of dialogs. */
const IN_PAGE = `(() => {
  const found = []
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  found.push(...ids.filter((id, at) => ids.indexOf(id) !== at).map(id => 'twice: #' + id))
  for (const name of ['aria-controls', 'aria-labelledby', 'aria-describedby', 'aria-activedescendant', 'aria-owns'])
    for (const element of document.querySelectorAll('[' + name + ']'))
      for (const id of element.getAttribute(name).split(/\\s+/).filter(Boolean))
        if (!document.getElementById(id)) found.push(name + ' names #' + id + ', which is not there')
  const isShown = element => element.checkVisibility() && !element.closest('[inert], [aria-hidden="true"]')
  const shown = selector => [...document.querySelectorAll(selector)].filter(isShown)
  for (const [list, entry] of Object.entries({ tablist: 'tab', listbox: 'option', tree: 'treeitem' }))
    for (const element of shown('[role=' + list + ']')) {
      const entries = [...element.querySelectorAll('[role=' + entry + ']')].filter(isShown)
      const silent = entries.filter(one => !one.hasAttribute('aria-selected'))
      if (silent.length > 0) found.push(list + ' ' + element.ariaLabel + ': ' + silent.length + ' say no selection')
    }
  for (const dialog of shown('[role=dialog], [role=alertdialog], dialog[open]'))
    if (!dialog.contains(document.activeElement)) found.push('a dialog without the focus: ' + dialog.ariaLabel)
  return found
})()`

/** Controls and containers without a name, ids that occur twice, and lists that do not say which entry is selected. */
export async function spokenFindings(page: Page): Promise<string[]> {
  const tree = (await page.locator('body').ariaSnapshot()).split('\n')
  const unnamed = tree.flatMap((line, at) =>
    UNNAMED.test(line) ? [`no name: ${tree.slice(Math.max(0, at - 2), at + 3).join(' ⏎ ')}`] : [],
  )
  return [...unnamed, ...(await page.evaluate<string[]>(IN_PAGE))]
}
