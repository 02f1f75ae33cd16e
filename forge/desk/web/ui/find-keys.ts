/** The keys that the search in a file and the one in all files have in common. */
export const FIND_KEYS = {
  matchCase: 'Alt+Shift+I',
  isRegex: 'Alt+Shift+E',
  replaceAll: 'Ctrl+Alt+Enter',
} as const
