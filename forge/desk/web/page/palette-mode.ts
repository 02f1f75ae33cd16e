import type { Problem } from '../../contract/language.ts'
import type { Match } from '../../contract/reading.ts'

/** The modes of the palette: which lists it starts with. */
export type PaletteMode = 'all' | 'files' | 'branches' | 'symbols' | 'branch symbols' | 'line' | 'named' | 'languages'

/**
 * A place of a name: its line, the ranges of the name there, and a text that is shown for it. `severity`: of a problem.
 */
export type NamedPlace = Pick<Match, 'path' | 'line' | 'shownLine' | 'text' | 'ranges'> & {
  severity?: Problem['severity']
}
