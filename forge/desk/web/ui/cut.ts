/** Text that does not fit is cut with an ellipsis; its title has the whole text. */

/** At most this many characters of a text stand in its title. */
const MAX_TITLE_LENGTH = 1_000

/**
 * Gives text that is cut off a title with all of it when the pointer enters it, unless there is a title already.
 * Returns a function that stops this.
 */
export function nameWhatIsCut(): () => void {
  const listen = ({ target }: Event) => {
    const cut = target instanceof Element ? target.closest<HTMLElement>('.cut') : null
    if (!cut || cut.scrollWidth <= cut.clientWidth || cut.closest('[title]')) return
    cut.title = (cut.textContent ?? '').slice(0, MAX_TITLE_LENGTH)
    // The text may change later, so the title is removed when the pointer leaves.
    cut.addEventListener('mouseleave', () => cut.removeAttribute('title'), { once: true })
  }
  document.addEventListener('mouseover', listen, { passive: true })
  return () => document.removeEventListener('mouseover', listen)
}
