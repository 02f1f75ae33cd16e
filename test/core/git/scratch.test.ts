/** The temporary repository in which merges are judged. */
import { expect, test } from 'bun:test'
import { readdir, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { openObjects, writeBlob } from '../../../core/git/objects.ts'
import { read } from '../../../core/git/run.ts'
import { openScratch } from '../../../core/git/scratch.ts'
import { bare, commit } from '../../support/git.ts'
import { refusedBy } from '../../support/refusals.ts'
import { makeFolder, makePlace } from '../../support/repository.ts'

test('a scratch repository reads borrowed objects, and is removed with its own', async () => {
  await using place = await makePlace()
  const tip = await commit(place.path, 'main', { a: '1' })
  const before = await place.git('count-objects', '-v')
  const parent = join(place.folder, 'state/deep')
  {
    await using scratch = await openScratch({ parent, borrowed: [place.repository.objects], format: 'sha1' })
    await using objects = openObjects(scratch)
    expect((await objects.info(tip))?.type).toBe('commit')
    expect((await objects.info(await writeBlob(scratch, Buffer.from('ours'))))?.type).toBe('blob')
    const name = new RegExp(`^scratch-${hostname()}-${process.pid}-\\w+$`)
    expect(await readdir(parent)).toEqual([expect.stringMatching(name)])
  }
  expect(await readdir(parent)).toEqual([])
  expect(await place.git('count-objects', '-v')).toBe(before)
})

test('folders with any name are borrowed from, and those that they borrow from themselves', async () => {
  await using folder = await makeFolder()
  const names = ['with "quote"', 'line\nbreak', 'back\\slash', '#comment', 'gr\u00f6\u00dfe:colon']
  let previous: string | undefined
  const tips: string[] = []
  // Git itself follows a chain of at most five alternates files.
  for (const name of names) {
    const path = await bare(join(folder.path, name))
    tips.push(await commit(path, 'main', { a: name }))
    if (previous)
      await writeFile(join(path, 'objects/info/alternates'), `${JSON.stringify(join(previous, 'objects'))}\n`)
    previous = path
  }
  const borrowed = [join(previous ?? '', 'objects')]
  await using scratch = await openScratch({ parent: folder.path, borrowed, format: 'sha1' })
  await using objects = openObjects(scratch)
  expect((await Promise.all(tips.map(tip => objects.info(tip)))).map(it => it?.type)).toEqual(tips.map(() => 'commit'))
})

test('a scratch repository ignores the user’s configuration', async () => {
  await using folder = await makeFolder()
  await writeFile(join(folder.path, '.gitconfig'), '[merge]\n\trenames = false\n')
  process.env.GIT_CONFIG_GLOBAL = join(folder.path, '.gitconfig')
  try {
    await using scratch = await openScratch({
      parent: folder.path,
      borrowed: [],
      format: 'sha1',
      config: '[a]\n\tb = c\n',
    })
    const list = await read(scratch, ['config', '--list'])
    expect(list.split('\n').toSorted()).toEqual([
      'a.b=c',
      'core.repositoryformatversion=1',
      'extensions.objectformat=sha1',
    ])
  } finally {
    delete process.env.GIT_CONFIG_GLOBAL
  }
})

test('one that can not be made leaves nothing', async () => {
  await using folder = await makeFolder()
  const lender = await bare(join(folder.path, 'lender.git'))
  await writeFile(join(lender, 'objects/info/alternates'), '/nowhere\n')
  const interruption = new AbortController()
  interruption.abort(new Error('enough'))
  const opened = openScratch({
    parent: join(folder.path, 'state'),
    borrowed: [join(lender, 'objects')],
    format: 'sha1',
    signal: interruption.signal,
  })
  expect(await refusedBy(opened)).toThrow('enough')
  expect(await readdir(join(folder.path, 'state'))).toEqual([])
})

test('sha256 objects are borrowed, too', async () => {
  await using place = await makePlace('sha256')
  const tip = await commit(place.path, 'main', { a: '1' })
  await using scratch = await openScratch({
    parent: place.folder,
    borrowed: [place.repository.objects],
    format: 'sha256',
  })
  expect(await read(scratch, ['cat-file', '-t', tip])).toBe('commit')
})
