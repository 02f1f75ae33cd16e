/** The files that a check is made of: what its command names, and what a program that it names reads by itself. */

const RUNNERS = /(?:^|[\s;&|(])(?:npm|pnpm|yarn|bun)\s+(?:run|test|t|exec)\b/
const MAKE = /(?:^|[\s;&|(])make\b/

/**
 * Paths that a command may be steered by, as far as they can be told from its words; those of files that are only its
 * subject are among them.
 */
export function filesOfCheck(command: string): string[] {
  const words = command.split(/[\s;&|()<>"'`=]+/).filter(word => word !== '' && !word.startsWith('-'))
  const named = words
    .map(word => word.replace(/^(?:\.\/)+/, ''))
    .filter(word => /[./]/.test(word) && !/^[./]+$/.test(word))
  return [
    ...new Set([
      ...named,
      ...(RUNNERS.test(command) ? ['package.json'] : []),
      ...(MAKE.test(command) ? ['Makefile', 'makefile', 'GNUmakefile'] : []),
    ]),
  ]
}
