/** Answers the page's questions to language servers. */
import type { Path } from '../../../core/git/repository.ts'
import type { languageQuestions } from '../contract/language.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import {
  type Asked,
  allProblems,
  complete,
  completionDetails,
  format,
  hover,
  makeQuickFix,
  quickFixes,
  renameSymbol,
  signatures,
  symbolPlaces,
  symbolToRename,
} from './answers.ts'
import type { Languages } from './languages.ts'

export function languageHandlers(languages: Languages): Handlers<typeof languageQuestions, Window> {
  const asked = async ({ branch, path }: { branch: string; path: Path }): Promise<Asked> => ({
    servers: await languages.running(branch),
    path,
  })
  return {
    'understand file': ({ branch, path }) => languages.understand(branch, path),
    'switch language servers': ({ isOn }) => languages.switchOn(isOn),
    'restart language server': ({ branch, path }) => languages.restart(branch, path),
    'approve preparing': async ({ branch, commands }) => await (await languages.running(branch)).approve(commands),
    problems: async ({ branch, path }) =>
      (await languages.running(branch)).problemsOf(path) ?? { version: 0, problems: [] },
    'all problems': async ({ branch }) => await allProblems(await languages.running(branch)),
    complete: async fields => await complete(await asked(fields), fields),
    'completion details': async fields => await completionDetails(await asked(fields), fields.list, fields.item),
    hover: async fields => await hover(await asked(fields), fields.position),
    signatures: async fields => await signatures(await asked(fields), fields.position),
    'symbol places': async fields => await symbolPlaces(await asked(fields), fields.position, fields.of),
    'symbol to rename': async fields => await symbolToRename(await asked(fields), fields.position),
    'rename symbol': async fields => await renameSymbol(await asked(fields), fields.position, fields.name),
    'quick fixes': async fields => await quickFixes(await asked(fields), fields.range),
    'make quick fix': async fields => await makeQuickFix(await asked(fields), fields.list, fields.fix),
    'format by server': async fields => await format(await asked(fields), fields),
  }
}
