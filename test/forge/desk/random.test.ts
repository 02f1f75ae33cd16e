/** Random work of two desks and a terminal that interfere with each other: no typed word is lost. */

import { expect, test } from 'bun:test'
import { closeFile } from '../../../forge/desk/branches/places.ts'
import { ask, conflictsIn, type DraftConflict, edit, makeDesk, textOf } from '../../support/desk.ts'
import { commit, tryGit } from '../../support/git.ts'
import { randomFrom } from '../../support/random.ts'

const START = Array.from({ length: 30 }, (_, at) => `line ${at}\n`).join('')
const FILES = ['a.txt', 'b.txt', 'folder/c.txt']

for (const seed of [1, 2, 3, 4])
  test(`no word is lost in random round ${seed}`, async () => {
    const random = randomFrom(seed)
    await using desk = await makeDesk({ files: Object.fromEntries(FILES.map(path => [path, START])), bare: true })
    const works = [desk.work, (await desk.another()).work]
    const words = new Set<string>()
    const newWord = (who: string) => {
      const word = `<${who}-${words.size}>`
      words.add(word)
      return word
    }
    const type = async () => {
      const work = random.pick(works)
      const path = random.pick(FILES)
      if ((await conflictsIn(work, 'main')).some(conflict => conflict.path === path)) return
      const editor = await edit(work, 'main', path)
      const starts = [...editor.text.matchAll(/^/gm)].map(({ index }) => index)
      const word = newWord('desk')
      try {
        await editor.type(`${word}\n`, random.pick(starts))
      } catch (error) {
        // Another desk was first, or the file can't be edited now: the edit was refused with a reason.
        words.delete(word)
        if (!/faster|resolve/.test((error as Error).message)) throw error
      }
      await closeFile(work.branches, { kind: 'branch', branch: 'main' }, path)
    }
    const byHand = async () => {
      const path = random.pick(FILES)
      const { stdout } = await tryGit(desk.path, ['show', `main:${path}`])
      const lines = stdout.split('\n')
      const word = newWord('terminal')
      lines.splice(random.below(lines.length), 0, word)
      // If a desk has moved the branch first, git refuses the commit: the word was never in the file.
      await commit(desk.path, 'main', { [path]: lines.join('\n') }).catch(() => words.delete(word))
    }
    const save = async () => {
      await ask(random.pick(works), 'save', {
        branch: 'main',
        paths: random.chance(0.5) ? 'all' : [random.pick(FILES)],
      }).catch((error: Error) => {
        if (!/resolve/.test(error.message)) throw error
      })
    }
    const settle = async () => {
      const work = random.pick(works)
      for (const { path } of await conflictsIn(work, 'main'))
        await ask(work, 'take side', { branch: 'main', path, side: 'both' }).catch((error: Error) => {
          // Another desk has resolved the conflict first.
          if (!/in no conflict/.test(error.message)) throw error
        })
    }
    const undo = async () => {
      await random
        .pick(works)
        .undo()
        .catch((error: Error) => {
          if (!/moved since|nothing to undo/.test(error.message)) throw error
        })
    }
    const steps = [type, type, type, type, byHand, save, settle, undo]
    for (let round = 0; round < 60; round++) {
      const step = random.pick(steps)
      // Some steps run in parallel, others one after another. The step `byHand` runs alone, since it writes what it has
      // read before, which would revert saves in between.
      await Promise.all(step !== byHand && random.chance(0.3) ? [step(), random.pick([type, save])()] : [step()])
      if (random.chance(0.3)) await random.pick(works).flush()
      if (random.chance(0.3)) await random.pick(works).look()
    }
    for (let round = 0; round < 2; round++)
      for (const work of works) {
        await work.flush()
        await work.look()
      }
    for (const work of works) {
      const texts = await Promise.all(FILES.map(path => textOf(work, 'main', path)))
      const all = [
        ...texts,
        ...(await conflictsIn(work, 'main')).flatMap(({ draft, tip }) => [textOfSide(draft), textOfSide(tip)]),
      ].join('')
      expect([...words].filter(word => !all.includes(word))).toEqual([])
    }
    await desk.git('fsck', '--strict', '--no-dangling')
  }, 120_000)

const textOfSide = (side: DraftConflict['draft']): string => (typeof side === 'string' ? side : '')
