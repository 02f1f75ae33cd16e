/** Where a user's programs keep their files, by the XDG base directory specification. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** The folder that a variable names, else one in the user's home. The specification has relative paths ignored. */
export const xdgFolder = (value: string | undefined, fallback: string): string =>
  value && isAbsolute(value) ? value : join(homedir(), fallback)
