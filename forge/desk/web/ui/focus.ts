/** Where the focus goes: after an action it is where a person goes on, and never nowhere. */

/** What has the focus in each kind of content, the most wanted first. */
const HOMES = [
  '[data-home]',
  // What is not there yet: the field for a message, or the editor, takes the focus over.
  '.middle .chat[aria-busy="true"]',
  '.editor[aria-busy="true"]',
  '.cm-content',
  '.middle [role="listbox"]',
  '.middle textarea',
  '.middle input.field',
  '.diffs',
  '.files [role="tab"][aria-selected="true"]',
  '.top [role="tab"][aria-selected="true"]',
]

/** Gives the focus to what is shown in the middle. */
export function focusContent(): void {
  for (const home of HOMES) {
    const element = document.querySelector<HTMLElement>(home)
    element?.focus()
    if (element !== null && document.activeElement === element) return
  }
}

/** Whether what had the focus is no more. */
export function isFocusLost(): boolean {
  const { activeElement } = document
  return activeElement === null || activeElement === document.body
}

export function focusOn(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus()
}
