/** Answers the page's questions about branches with a waiting merge, and about merges that are made. */
import type { mergingQuestions } from '../contract/merging.ts'
import type { Handlers } from '../contract/question.ts'
import type { Window } from '../server/window.ts'
import { changesByHand } from './changes-by-hand.ts'
import type { Mergings } from './mergings.ts'

export const mergingHandlers = (mergings: Mergings): Handlers<typeof mergingQuestions, Window> => ({
  merging: async ({ branch }) => (await mergings.in(branch)) ?? null,
  conflict: ({ branch, path }) => mergings.conflict(branch, path),
  'take side': ({ branch, path, side }) => mergings.takeSide(branch, path, side),
  'take conflicts': ({ branch, paths, side }) => mergings.takeConflicts(branch, paths, side),
  'keep merging message': ({ branch, theirs, ...typed }) => mergings.writeMessage(branch, theirs, typed),
  'finish merging': ({ branch }) => mergings.finish(branch),
  'update merging': ({ branch }) => mergings.update(branch),
  'abort merging': ({ branch }) => mergings.abort(branch),
  'changes by hand': ({ commit }) => changesByHand(mergings.room.objects, commit),
})
