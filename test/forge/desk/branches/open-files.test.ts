/** Open files: edits in them are kept, whatever happens to the branch. */
import { expect, test } from 'bun:test'
import { noDrafts } from '../../../../forge/desk/branches/drafts.ts'
import { OpenFiles } from '../../../../forge/desk/branches/open-files.ts'
import { Filters } from '../../../../forge/desk/reading/filters.ts'
import { replacement } from '../../../support/desk.ts'
import { commit } from '../../../support/git.ts'
import { makePlace } from '../../../support/repository.ts'

for (const [what, files] of [
  ['is deleted', {}],
  ['becomes binary', { 'a.ts': '\0' }],
] as const)
  test(`typing at the moment when a file ${what} elsewhere is not lost`, async () => {
    await using place = await makePlace()
    const before = noDrafts(await commit(place.path, 'main', { 'a.ts': 'one\n', 'b.ts': 'b\n' }))
    const after = noDrafts(await commit(place.path, 'other', { 'b.ts': 'b\n', ...files }))
    const open = new OpenFiles('main', {
      run: 'this',
      objects: place.objects,
      filters: new Filters(place.objects),
      say: () => undefined,
    })
    await open.open(before, 'a.ts')
    open.edit('a.ts', 0, [{ client: 'window', changes: replacement(4, 4, 0, 'typed\n') }])
    await open.follow(after)
    expect([...open.typed]).toEqual(['a.ts'])
    expect(open.take('a.ts')?.toString()).toBe('one\ntyped\n')
  })
