/** Images of the repository, as they are shown. */

import { expect, test } from 'bun:test'
import { openObjects } from '../../../../core/git/objects.ts'
import { openRepository } from '../../../../core/git/repository.ts'
import { openFile } from '../../../../forge/desk/branches/places.ts'
import { imageAnswer } from '../../../../forge/desk/server/images.ts'
import { makeDesk } from '../../../support/desk.ts'

const IMAGES = {
  'a.png': Buffer.from('\x89PNG\r\n\x1a\n....', 'latin1'),
  'a.jpg': Buffer.from('\xff\xd8\xff\xe0....', 'latin1'),
  'a.gif': Buffer.from('GIF89a....'),
  'a.webp': Buffer.from('RIFF....WEBPVP8 '),
  'a.avif': Buffer.from('\0\0\0 ftypavif....'),
  'a.bmp': Buffer.from('BM....\0\0\0\0....'),
  'a.ico': Buffer.from('\0\0\x01\0....'),
}

test('each image file is sent with its media type', async () => {
  await using desk = await makeDesk({ files: IMAGES, bare: true })
  await using objects = openObjects(await openRepository(desk.path))
  for (const path of Object.keys(IMAGES)) {
    const file = await openFile(desk.work.branches, { kind: 'branch', branch: 'main' }, path)
    if (file.kind !== 'image') throw new Error(`${path} is ${JSON.stringify(file)}`)
    const answer = await imageAnswer(objects, file.oid)
    expect([path, answer?.headers.get('content-type')]).toEqual([path, file.type])
  }
})
