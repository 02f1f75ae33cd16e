/**
 * Finds the files that a check consists of: those that its command names, and those that a named program reads by
 * itself.
 */

const RUNNERS = /(?:^|[\s;&|(])(?:npm|pnpm|yarn|bun)\s+(?:run|test|t|exec)\b/
const MAKE = /(?:^|[\s;&|(])make\b/

/** Programs that only read the files in their arguments: these files are what is checked, not a part of the check. */
const READERS = new Set(
  'grep egrep fgrep rg sed awk jq find test [ cat head tail wc diff cmp ls stat file sort uniq cut tr echo printf touch cd'.split(
    ' ',
  ),
)

/** The files that a command runs or is configured by, as far as its words tell. */
export function filesOfCheck(command: string): string[] {
  const parts = command.split(/&&|\|\||[;|&\n]/).map(part => part.split(/[\s()<>"'`=]+/).filter(word => word !== ''))
  const named = parts.flatMap(words => {
    const [program = ''] = words.filter(word => word !== '!')
    if (READERS.has(program)) return []
    return words.filter(word => !word.startsWith('-')).map(word => word.replace(/^(?:\.\/)+/, ''))
  })
  return [
    ...new Set([
      ...named.filter(word => /[./]/.test(word) && !/^[./]+$/.test(word)),
      ...(RUNNERS.test(command) ? ['package.json'] : []),
      ...(MAKE.test(command) ? ['Makefile', 'makefile', 'GNUmakefile'] : []),
    ]),
  ]
}
