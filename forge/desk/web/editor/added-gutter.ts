/** Gutters that are added and removed while a file is shown. */
import type { Extension } from '@codemirror/state'
import { drawSelection } from '@codemirror/view'

/**
 * A gutter that is added while a file is shown. CodeMirror notices that the text has moved by the width of the text,
 * which does not change where a line is longer than the window. So the extension that draws the cursor and the
 * selection comes and goes with the gutter: a change of its settings makes it draw them anew.
 */
export const addedGutter = (gutter: Extension): Extension => [gutter, drawSelection()]
