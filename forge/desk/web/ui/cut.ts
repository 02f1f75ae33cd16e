/** What does not fit its place is cut with an ellipsis; all of it stands in its title. */

/** So much of a text is shown in a title. */
const MAX_TITLE_LENGTH = 1_000

/** Gives what is cut a title when the pointer comes to it, where it has none. Gives the way to stop. */
export function nameWhatIsCut(): () => void {
  const listen = ({ target }: Event) => {
    const cut = target instanceof Element ? target.closest<HTMLElement>('.cut') : null
    if (!cut || cut.scrollWidth <= cut.clientWidth || cut.closest('[title]')) return
    cut.title = (cut.textContent ?? '').slice(0, MAX_TITLE_LENGTH)
    // What stands there may become another text: the title is for this visit alone.
    cut.addEventListener('mouseleave', () => cut.removeAttribute('title'), { once: true })
  }
  document.addEventListener('mouseover', listen, { passive: true })
  return () => document.removeEventListener('mouseover', listen)
}
