/** The user's folders for configuration, state and data, by the XDG base directory specification. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/**
 * The folder that an environment variable names, else `fallback` in the home folder. Relative paths are ignored, as the
 * specification says.
 */
export const xdgFolder = (value: string | undefined, fallback: string): string =>
  value && isAbsolute(value) ? value : join(homedir(), fallback)
