/** Conflicts between a draft and a changed file: their texts, and the results of each choice. */
import { expect, test } from 'bun:test'
import { writeObjects } from '../../../../core/git/objects.ts'
import { mergeDrafts } from '../../../../forge/desk/branches/draft-merges.ts'
import { type Clashing, type Drafts, noDrafts } from '../../../../forge/desk/branches/drafts.ts'
import { ask, conflictsIn, edit, holdDrafts, makeDesk, settleIn, textOf } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { refusedBy } from '../../../support/refusals.ts'
import { makePlace, type Place } from '../../../support/repository.ts'

const START = 'one\ntwo\nthree\nfour\nfive\n'

async function writeText(place: Place, text: string): Promise<string> {
  const [oid = ''] = await writeObjects(place.repository, [{ type: 'blob', bytes: Buffer.from(text) }])
  return oid
}

const textIn = async (place: Place, oid: string | undefined): Promise<string | undefined> =>
  oid === undefined ? undefined : (await place.objects.read(oid))?.bytes?.toString()

type Texts = { base: string | undefined; draft: string }

/** Unites two clashes (drafts in conflict) of one file on a branch at `tip`. */
async function together(place: Place, one: Texts, other: Texts, tip = 'else\n'): Promise<Drafts> {
  const at = await commit(place.path, 'main', { 'a.txt': tip })
  const draftsWith = async ({ base, draft }: Texts): Promise<Drafts> => {
    const oids = { base: base === undefined ? undefined : await writeText(place, base) }
    const clash: Clashing = { mode: '100644', ...oids, draft: await writeText(place, draft) }
    return { ...noDrafts(at), clashes: new Map([['a.txt', clash]]) }
  }
  return await mergeDrafts(place.objects, noDrafts(at), await draftsWith(other), await draftsWith(one))
}

/** The texts of the resulting clash (draft in conflict). */
async function clashOf(place: Place, { clashes }: Drafts) {
  const clash = clashes.get('a.txt')
  if (!clash) return undefined
  const draft = clash.bytes?.toString() ?? (await textIn(place, clash.draft))
  return { base: await textIn(place, clash.base), draft }
}

type Case = { name: string; one: Texts; other: Texts; base: string | undefined; draft: string }

const LATER = START.replace('three\n', 'three\ncommitted\n')
const CASES: Case[] = [
  {
    name: 'made from the same text: what was typed in both, and without what one took out',
    one: { base: START, draft: START.replace('one\n', 'one\nfirst\n') },
    other: { base: START, draft: START.replace('five\n', 'second\n') },
    base: START,
    draft: 'one\nfirst\ntwo\nthree\nfour\nsecond\n',
  },
  {
    name: 'of which one was begun later: with what came into the branch between them',
    one: { base: START, draft: `first\n${START}` },
    other: { base: LATER, draft: `${LATER}second\n` },
    base: START,
    draft: `first\n${LATER}second\n`,
  },
  {
    name: 'of which one was begun later, the other way round',
    one: { base: LATER, draft: `${LATER}second\n` },
    other: { base: START, draft: `first\n${START}` },
    base: START,
    draft: `first\n${LATER}second\n`,
  },
  {
    name: 'made from different texts: without the line of both that one took out',
    one: { base: START, draft: START.replace('two\n', '') },
    other: { base: LATER, draft: `${LATER}second\n` },
    base: START,
    draft: `${LATER.replace('two\n', '')}second\n`,
  },
  {
    name: 'made from different texts: without a line of its own text that one took out',
    one: { base: START, draft: `first\n${START}` },
    other: { base: LATER, draft: `${START}second\n` },
    base: START,
    draft: `first\n${START}second\n`,
  },
  {
    name: 'that changed the same line, with both lines',
    one: { base: START, draft: START.replace('two', 'TWO') },
    other: { base: START, draft: START.replace('two', 'zwei') },
    base: START,
    draft: START.replace('two', 'TWO\nzwei'),
  },
  {
    name: 'of which one is a new file: with all lines of both',
    one: { base: undefined, draft: 'first\n' },
    other: { base: START, draft: START.replace('two\n', '') },
    base: undefined,
    draft: `first\n${START.replace('two\n', '')}`,
  },
  {
    name: 'that are the same text made from two: what both were made from is the base',
    one: { base: START, draft: `${LATER}same\n` },
    other: { base: LATER, draft: `${LATER}same\n` },
    base: START,
    draft: `${LATER}same\n`,
  },
  {
    name: 'without a line end at the end',
    one: { base: 'one\ntwo', draft: 'one\ntwo\nfirst' },
    other: { base: 'zero\none\ntwo', draft: 'zero\none\ntwo' },
    base: 'one\ntwo',
    draft: 'zero\none\ntwo\nfirst',
  },
  {
    name: 'that are no text: the bytes of both',
    one: { base: 'a\0', draft: 'b\0' },
    other: { base: 'a\0', draft: 'c\0' },
    base: 'a\0',
    draft: 'b\0c\0',
  },
]

test.each(CASES)('two drafts united in one conflict: $name', async ({ one, other, base, draft }) => {
  await using place = await makePlace()
  expect(await clashOf(place, await together(place, one, other))).toEqual({ base, draft })
})

test('a file that equals the draft, or its base again, has no conflict', async () => {
  await using place = await makePlace()
  const [one, other] = [
    { base: START, draft: `first\n${START}` },
    { base: LATER, draft: `${LATER}second\n` },
  ]
  const typed = `first\n${LATER}second\n`
  const same = await together(place, one, other, typed)
  expect([same.clashes.size, same.files.size]).toEqual([0, 0])
  const again = await together(place, one, other, START)
  expect(again.clashes.size).toBe(0)
  expect(again.files.get('a.txt')?.bytes?.toString()).toBe(typed)
  // A file on the branch that equals the base of only one of the two drafts is merged with them: the other draft never
  // had that file's lines.
  const merged = await together(place, one, other, LATER)
  expect(merged.clashes.size).toBe(0)
  expect(await textIn(place, merged.files.get('a.txt')?.oid)).toBe(typed)
})

test('a branch that returns to the base of a draft has no conflict', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': 'a\n' }, bare: true })
  const before = await desk.git('rev-parse', 'main')
  await (await edit(desk.work, 'main', 'a.txt')).type('mine\n', 0, 2)
  await commit(desk.path, 'main', { 'a.txt': 'theirs\n' })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toHaveLength(1)
  await desk.git('update-ref', 'refs/heads/main', before)
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toEqual([])
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe('mine\n')
  await ask(desk.work, 'save', { branch: 'main', paths: 'all' })
  expect(await desk.git('show', 'main:a.txt')).toBe('mine')
})

/** A desk whose draft is in conflict with a new commit of the branch. */
async function startToChoose() {
  const desk = await makeDesk({ files: { 'a.txt': START }, bare: true })
  const [mine, theirs] = [START.replace('two', 'MINE'), START.replace('two', 'THEIRS')]
  const editor = await edit(desk.work, 'main', 'a.txt')
  await editor.type('MINE', START.indexOf('two'), 3)
  await commit(desk.path, 'main', { 'a.txt': theirs })
  await desk.work.look()
  const clash = { path: 'a.txt', base: START, draft: mine, tip: theirs }
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([clash])
  return { ...desk, desk, mine, theirs, clash }
}

test.each(['ours', 'theirs', 'both'] as const)(
  'to choose the %s gives that, byte by byte; undone, there is the choice again, with both ends',
  async side => {
    await using made = await startToChoose()
    const { desk, mine, theirs, clash } = made
    const both = START.replace('two', 'MINE\nTHEIRS')
    const wanted = { ours: mine, theirs, both }[side]
    await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side })
    expect(await conflictsIn(desk.work, 'main')).toEqual([])
    expect(await textOf(desk.work, 'main', 'a.txt')).toBe(wanted)
    // The chosen text is stored in the repository at once: it is still there after a restart.
    const work = await desk.restart()
    expect(await textOf(work, 'main', 'a.txt')).toBe(wanted)
    expect((await work.undoable()).undo).toMatch(/^resolve a\.txt in main by /)
    await work.undo()
    expect(await conflictsIn(work, 'main')).toMatchObject([clash])
    await work.redo()
    expect(await conflictsIn(work, 'main')).toEqual([])
    expect(await textOf(work, 'main', 'a.txt')).toBe(wanted)
  },
)

test('edits after a choice are kept when the choice is undone', async () => {
  await using made = await startToChoose()
  const { work } = made.desk
  await ask(work, 'take side', { branch: 'main', path: 'a.txt', side: 'ours' })
  await (await edit(work, 'main', 'a.txt')).type('more\n')
  await work.undo()
  const [clash] = await conflictsIn(work, 'main')
  // The line typed after the choice is a part of the draft again, and of no version that the branch has.
  expect(clash).toMatchObject({ draft: `${made.mine}more\n`, tip: made.theirs })
})

test('a branch that moves again has its new conflicts, and a resolution asks again only if it has to', async () => {
  await using made = await startToChoose()
  const { desk, mine } = made
  const newest = START.replace('two', 'NEWEST')
  await commit(desk.path, 'main', { 'a.txt': newest })
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([{ draft: mine, tip: newest }])
  expect(await textOf(desk.work, 'main', 'a.txt')).toContain('NEWEST\n>>>>>>>')
  await ask(desk.work, 'take side', { branch: 'main', path: 'a.txt', side: 'ours' })
  expect(await textOf(desk.work, 'main', 'a.txt')).toBe(mine)
})

test('conflicts are resolved one by one in the text, and resolutions survive a restart and another move', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': START, 'b.txt': 'b\n' }, bare: true })
  const mine = START.replace('two', 'MINE').replace('five', 'MY FIVE')
  const theirs = START.replace('two', 'THEIRS').replace('five', 'THEIR FIVE')
  await settleIn(desk.work, 'main', 'a.txt', mine)
  await commit(desk.path, 'main', { 'a.txt': theirs })
  await desk.work.look()
  const editor = await edit(desk.work, 'main', 'a.txt')
  const first = /^<{7} .*?^>{7} .*?\n/ms.exec(editor.text)?.[0] ?? ''
  await editor.type('MINE and THEIRS\n', editor.text.indexOf(first), first.length)
  const left = (await ask(desk.work, 'merging', { branch: 'main' }))?.files
  expect(left).toMatchObject([{ path: 'a.txt', state: 'open', left: 1, all: 2 }])
  await desk.work.flush()
  let work = await desk.restart()
  await commit(desk.path, 'main', { 'b.txt': 'another file\n' })
  await work.look()
  work = await desk.restart()
  expect((await ask(work, 'merging', { branch: 'main' }))?.files).toMatchObject([{ state: 'open', left: 1, all: 2 }])
  expect(await refusedBy(ask(work, 'save', { branch: 'main', paths: 'all' }))).toThrow('resolve them first')
  await settleIn(
    work,
    'main',
    'a.txt',
    (await textOf(work, 'main', 'a.txt'))?.replace(/^<{7} [\s\S]*^>{7} .*\n/m, 'FIVE\n') ?? '',
  )
  await ask(work, 'save', { branch: 'main', paths: 'all' })
  const settled = START.replace('two', 'MINE and THEIRS').replace('five', 'FIVE')
  expect(await desk.git('show', 'main:a.txt')).toBe(settled.trimEnd())
  expect(await ask(work, 'merging', { branch: 'main' })).toBeNull()
})

test('three windows in one file: whatever is chosen, no typed or committed line disappears by itself', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': START }, bare: true })
  const { work: other } = await desk.another()
  // One window types on the first commit, which conflicts with the second.
  await (await edit(desk.work, 'main', 'a.txt')).type('one’s', START.indexOf('two'), 3)
  const second = START.replace('two', 'second').replace('four', 'four\ncommitted')
  await commit(desk.path, 'main', { 'a.txt': second })
  await other.look()
  // Another desk types on the second commit, before either desk has seen the other's edit.
  await (await edit(other, 'main', 'a.txt')).type('other’s', second.indexOf('second'), 6)
  await desk.work.look()
  await desk.work.flush()
  await other.flush()
  await desk.work.look()
  expect(await conflictsIn(desk.work, 'main')).toMatchObject([{ draft: START.replace('two', 'one’s') }])
  // Neither draft fits the third commit, which deletes the line of the second.
  await commit(desk.path, 'main', { 'a.txt': START.replace('two', 'third') })
  for (const work of [desk.work, other]) {
    await work.look()
    await work.flush()
  }
  const draft = START.replace('two', 'one’s\nother’s').replace('four', 'four\ncommitted')
  for (const work of [desk.work, other]) {
    await work.look()
    const [clash] = await conflictsIn(work, 'main')
    expect(clash).toMatchObject({ tip: START.replace('two', 'third') })
    const lines = (text: unknown) => String(text).split('\n').sort()
    expect(lines(clash?.draft)).toEqual(lines(draft))
    expect(clash?.base).toBe(START.replace('two\n', ''))
  }
})

test('drafts moved to a branch of their own include those of another desk', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': START }, bare: true })
  const { work: other } = await desk.another()
  const first = await desk.git('rev-parse', 'main')
  // Neither desk knows of the other's draft yet.
  const write = await holdDrafts(desk.path)
  await (await edit(desk.work, 'main', 'a.txt')).type('one’s', START.indexOf('two'), 3)
  await commit(desk.path, 'main', { 'a.txt': START.replace('two', 'second') })
  await other.look()
  await (await edit(other, 'main', 'a.txt')).type('other’s\n')
  await desk.work.look()
  await write()
  await desk.work.flush()
  await other.flush()
  await desk.work.look()
  await ask(desk.work, 'drafts elsewhere', { branch: 'main', from: first, to: 'mine' })
  // Different lines are merged without a conflict.
  const text = await textOf(desk.work, 'mine', 'a.txt')
  expect(text).toContain('one’s\n')
  expect(text).toContain('other’s\n')
})

/** Merges a draft of a.txt with another text that the branch has now, which started from the same text. */
async function merged(place: Place, start: string, draft: string, branch: string) {
  const tip = await commit(place.path, 'main', { 'a.txt': start })
  const now = await commit(place.path, 'main', { 'a.txt': branch })
  const ours = { ...noDrafts(tip), files: new Map([['a.txt', { mode: '100644', oid: await writeText(place, draft) }]]) }
  const after = await mergeDrafts(place.objects, noDrafts(tip), ours, noDrafts(now))
  expect(after.clashes.size).toBe(0)
  const file = after.files.get('a.txt')
  return file?.bytes?.toString() ?? (await textIn(place, file?.oid))
}

test('line endings that a draft has changed do not conflict with a change of a line in the branch', async () => {
  const place = await makePlace()
  const windows = START.replaceAll('\n', '\r\n')
  const after = windows.replace('one', 'first')
  expect(await merged(place, START, windows, START.replace('one', 'first'))).toBe(after)
  expect(await merged(place, START, START.replace('one', 'first'), windows)).toBe(after)
  expect(await merged(place, windows, START, windows.replace('one', 'first'))).toBe(START.replace('one', 'first'))
})

/** A desk on a branch with two commits of a.txt and a draft in it; `move` moves the branch to the first of them. */
async function startToMove(second: string, start = START) {
  const desk = await makeDesk({ files: { 'a.txt': start }, bare: true })
  const first = await desk.git('rev-parse', 'main')
  await commit(desk.path, 'main', { 'a.txt': second })
  await desk.work.look()
  const move = () => desk.work.steps.do({ step: 'move', branch: 'main', to: { commit: first, words: 'first' } })
  return { desk, move }
}

test('what was typed between the undo and the redo of a move is once in the conflict that the redo brings', async () => {
  const second = START.replace('two', 'SECOND')
  const { desk, move } = await startToMove(second)
  await using _ = desk
  const { work } = desk
  const editor = await edit(work, 'main', 'a.txt')
  await editor.type(' draft', second.indexOf('SECOND') + 6)
  await move()
  const [clash] = await conflictsIn(work, 'main')
  const draft = START.replace('two', 'SECOND draft')
  expect(clash).toMatchObject({ base: second, draft, tip: START })
  await work.undo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe(draft)
  await (await edit(work, 'main', 'a.txt')).type(' more', draft.indexOf(' draft') + 6)
  await work.redo()
  const more = START.replace('two', 'SECOND draft more')
  expect(await conflictsIn(work, 'main')).toMatchObject([{ base: second, draft: more, tip: START }])
  await work.undo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe(more)
})

test('a deletion that typing has overtaken is undone without a conflict: what was typed stays', async () => {
  await using desk = await makeDesk({ files: { 'a.txt': START }, bare: true })
  const { work } = desk
  const editor = await edit(work, 'main', 'a.txt')
  await ask(work, 'delete', { branch: 'main', paths: ['a.txt'] })
  await editor.type('typed ', 0)
  expect(await textOf(work, 'main', 'a.txt')).toBe(`typed ${START}`)
  await work.undo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe(`typed ${START}`)
})

const LONG = Array.from({ length: 60 }, (_, at) => `line ${at + 1}\n`).join('')
const NEWER = LONG.replace('line 5\n', 'line 5 B\n')
  .replace('line 40\n', 'line 40 B\n')
  .replace(/line 5[012]\n/g, '')
const DRAFT_OF_NEWER = NEWER.replace('line 5 B', 'line 5 B DRAFT')
/** What is done in a conflict that a move brought, and what the draft is after the undo of that move. */
const AFTER_MOVE = {
  'typing beside it': [
    (text: string) => text.replace('line 20\n', 'line 20 typed\n'),
    DRAFT_OF_NEWER.replace('line 20\n', 'line 20 typed\n'),
  ],
  'typing in our side': [
    (text: string) => text.replace('DRAFT\n', 'DRAFT typed\n'),
    DRAFT_OF_NEWER.replace('DRAFT\n', 'DRAFT typed\n'),
  ],
  'choosing theirs': [(text: string) => text.replace(/<{7}[\s\S]*={7}\n([\s\S]*)>{7}.*\n/, '$1'), DRAFT_OF_NEWER],
  'choosing both': [
    (text: string) => text.replace(/<{7}.*\n([\s\S]*)\|{7}[\s\S]*={7}\n([\s\S]*)>{7}.*\n/, '$1$2'),
    DRAFT_OF_NEWER,
  ],
  'writing its lines': [
    (text: string) => text.replace(/<{7}[\s\S]*>{7}.*\n/, 'my own\n'),
    NEWER.replace('line 5 B', 'my own'),
  ],
} as const

for (const [name, [change, draft]] of Object.entries(AFTER_MOVE))
  test(`after ${name} in a conflict, the undo of the step that brought it keeps what was typed, and nothing else`, async () => {
    const { desk, move } = await startToMove(NEWER, LONG)
    await using _ = desk
    const { work } = desk
    await (await edit(work, 'main', 'a.txt')).type(' DRAFT', NEWER.indexOf('line 5 B') + 8)
    await move()
    expect(await conflictsIn(work, 'main')).toHaveLength(1)
    await settleIn(work, 'main', 'a.txt', change((await textOf(work, 'main', 'a.txt')) ?? ''))
    await work.undo()
    expect(await conflictsIn(work, 'main')).toEqual([])
    expect(await textOf(work, 'main', 'a.txt')).toBe(draft)
  })

/** A desk with a draft, ` mine` in line two, that is in conflict with a commit that was cherry-picked. */
async function startToUndoPick() {
  const desk = await makeDesk({ files: { 'a.txt': START }, bare: true })
  const { work } = desk
  await desk.git('branch', 'topic', 'main')
  const picked = await commit(desk.path, 'topic', { 'a.txt': START.replace('two', 'TOPIC') })
  await work.look()
  await (await edit(work, 'main', 'a.txt')).type(' mine', START.indexOf('two') + 3)
  await work.steps.do({ step: 'cherry-pick', commits: [picked], onto: 'main' })
  const editor = await edit(work, 'main', 'a.txt')
  return {
    desk,
    type: async (text: string, behind: string) => await editor.type(text, editor.text.indexOf(behind) + behind.length),
    choose: async (side: 'ours' | 'theirs' | 'both') => {
      const found = /<{7}.*\n([\s\S]*)\|{7}[\s\S]*={7}\n([\s\S]*)>{7}.*\n/.exec(editor.text)
      const [lines = '', ours = '', theirs = ''] = found ?? []
      await editor.type({ ours, theirs, both: ours + theirs }[side], found?.index, lines.length)
    },
    shown: async () => [await textOf(desk.work, 'main', 'a.txt'), await conflictsIn(desk.work, 'main')] as const,
  }
}

const CHOSEN = { ours: 'two mine typed', theirs: 'TOPIC', both: 'two mine typed\nTOPIC' }
for (const side of ['ours', 'theirs', 'both'] as const)
  for (const isCollected of [true, false])
    test(`after typing and then choosing ${side} in a conflict of a cherry-pick (typing collected before: ${isCollected}), its undo leaves what was typed, also after a redo`, async () => {
      const { desk, type, choose, shown } = await startToUndoPick()
      await using _ = desk
      const { work } = desk
      await type(' typed', 'mine')
      if (isCollected) await work.flush()
      await choose(side)
      for (let times = 0; times < 2; times++) {
        await work.undo()
        expect(await shown()).toEqual([START.replace('two', 'two mine typed'), []])
        await work.redo()
        expect(await shown()).toEqual([START.replace('two', CHOSEN[side]), []])
      }
    })

/** What is done in the conflict of a cherry-pick, and the line of the draft after the undo of that cherry-pick. */
type Conflict = Awaited<ReturnType<typeof startToUndoPick>>
const AFTER_PICK: [string, (conflict: Conflict) => Promise<void>, string][] = [
  [
    'both, and typing in our line of these',
    async ({ type, choose }) => {
      await choose('both')
      await type(' typed', 'mine')
    },
    'two mine typed\nthree\n',
  ],
  [
    'typing in the line below, and theirs',
    async ({ type, choose }) => {
      await type(' typed', 'three')
      await choose('theirs')
    },
    'two mine\nthree typed\n',
  ],
  [
    'theirs, and typing in the line below',
    async ({ desk, type, choose }) => {
      await choose('theirs')
      await desk.work.flush()
      await type(' typed', 'three')
    },
    'two mine\nthree typed\n',
  ],
  [
    'theirs, and a restart',
    async ({ desk, type, choose }) => {
      await type(' typed', 'mine')
      await choose('theirs')
      await desk.work.flush()
      await desk.restart()
      await desk.work.look()
    },
    'two mine typed\nthree\n',
  ],
]

test.each(AFTER_PICK)(
  'after %s in a conflict, the undo of the cherry-pick leaves what was typed',
  async (_, run, lines) => {
    const conflict = await startToUndoPick()
    await using _desk = conflict.desk
    await run(conflict)
    await conflict.desk.work.undo()
    expect(await conflict.shown()).toEqual([START.replace('two\nthree\n', lines), []])
  },
)

test('what was typed between the undo and the redo of a cherry-pick is in its resolved conflict, and stays at the next undo', async () => {
  const { desk, choose, shown } = await startToUndoPick()
  await using _ = desk
  const { work } = desk
  await choose('both')
  await work.undo()
  await (await edit(work, 'main', 'a.txt')).type('typed\n')
  await work.redo()
  expect(await shown()).toEqual([`${START.replace('two', 'two mine\nTOPIC')}typed\n`, []])
  await work.undo()
  expect(await shown()).toEqual([`${START.replace('two', 'two mine')}typed\n`, []])
})

test('two conflicts that are edited as one have what was typed once after the undo of the step that brought them', async () => {
  const second = START.replace('two', 'SECOND').replace('four', 'FOURTH')
  const { desk, move } = await startToMove(second, START)
  await using _ = desk
  const { work } = desk
  const draft = second.replace('SECOND', 'SECOND mine').replace('FOURTH', 'FOURTH mine')
  await settleIn(work, 'main', 'a.txt', draft)
  await move()
  const marked = (await textOf(work, 'main', 'a.txt')) ?? ''
  expect(marked.match(/^<{7}/gm)).toHaveLength(2)
  const typed = 'SECOND mine\nthree edited\nFOURTH mine\n'
  await settleIn(work, 'main', 'a.txt', marked.replace(/<{7}[\s\S]*>{7}.*\n/, typed))
  await work.undo()
  expect(await textOf(work, 'main', 'a.txt')).toBe(draft.replace('three', 'three edited'))
})

test('the undo of a merge that added a file, too, gives the new file back as it was typed', async () => {
  await using desk = await makeDesk({ files: { 'b.txt': 'b\n' }, bare: true })
  const { work } = desk
  await desk.git('branch', 'topic', 'main')
  await commit(desk.path, 'topic', { 'a.txt': 'theirs\n' })
  await work.look()
  await ask(work, 'new file', { branch: 'main', path: 'a.txt' })
  await (await edit(work, 'main', 'a.txt')).type('mine\n')
  await work.steps.do({
    step: 'merge',
    onto: 'main',
    source: { commit: await desk.git('rev-parse', 'topic'), words: 'topic' },
  })
  expect(await conflictsIn(work, 'main')).toHaveLength(1)
  await work.undo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe('mine\n')
  expect((await work.describeBranches()).find(({ name }) => name === 'main')?.drafts).toEqual(['a.txt'])
})

test('the undo of a merge that renamed a file gives its draft back under the old name', async () => {
  await using desk = await makeDesk({ files: { 'old.txt': LONG }, bare: true })
  const { work } = desk
  await desk.git('branch', 'topic', 'main')
  await commit(desk.path, 'topic', { 'new.txt': LONG.replace('line 3\n', 'line 3 theirs\n'), 'old.txt': null })
  await work.look()
  await (await edit(work, 'main', 'old.txt')).type(' mine', LONG.indexOf('line 3\n') + 6)
  await work.steps.do({
    step: 'merge',
    onto: 'main',
    source: { commit: await desk.git('rev-parse', 'topic'), words: 'topic' },
  })
  expect((await conflictsIn(work, 'main')).map(({ path }) => path)).toEqual(['new.txt'])
  await work.undo()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'old.txt')).toBe(LONG.replace('line 3\n', 'line 3 mine\n'))
  expect((await work.describeBranches()).find(({ name }) => name === 'main')?.drafts).toEqual(['old.txt'])
})

test('an answered conflict stays so when a commit comes in that leaves it alone, and is asked again when one changes it', async () => {
  await using made = await startToChoose()
  const { desk, mine, theirs } = made
  const { work } = desk
  const choose = async (text: string) => await settleIn(work, 'main', 'a.txt', text)
  await choose(mine)
  await commit(desk.path, 'main', { 'a.txt': theirs.replace('five', 'FIVE') })
  await work.look()
  expect(await conflictsIn(work, 'main')).toEqual([])
  expect(await textOf(work, 'main', 'a.txt')).toBe(mine.replace('five', 'FIVE'))
  await commit(desk.path, 'main', { 'a.txt': theirs.replace('THEIRS', 'OTHERS').replace('five', 'FIVE') })
  await work.look()
  expect(await conflictsIn(work, 'main')).toHaveLength(1)
})
