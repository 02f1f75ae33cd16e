/** The modes of the palette: which lists it starts with. */
export type PaletteMode = 'all' | 'files' | 'branches' | 'symbols' | 'line'
