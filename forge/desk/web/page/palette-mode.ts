/** Which lists the palette begins with. */
export type PaletteMode = 'all' | 'files' | 'branches' | 'symbols' | 'line'
