/** What git says of locks, permissions and full disks, in words for the user. */
import { expect, test } from 'bun:test'
import { GitError } from '../../../core/git/run.ts'
import { whyGitFailed } from '../../../core/git/troubles.ts'

/** Why git failed, by what it wrote to its standard error. */
const why = (stderr: string) => whyGitFailed(new GitError('update-ref', 128, stderr, ''))

test.each([
  [
    "fatal: prepare: cannot lock ref 'refs/heads/ok': Unable to create '/r/.git/refs/heads/ok.lock': File exists.\n\nAnother git process",
    '/r/.git/refs/heads/ok.lock',
  ],
  ["fatal: Unable to create '/r/.git/packed-refs.lock': File exists.", '/r/.git/packed-refs.lock'],
  ['error: could not lock config file .git/config: File exists\nerror: unable to write upstream', '.git/config.lock'],
])('a lock: %s', (stderr, lock) => {
  expect(why(stderr)).toBe(`another git command is at work, so wait for its end, or delete ${lock} if there is none`)
})

test.each([
  ['error: insufficient permission for adding an object to repository database .git/objects\nfatal: …', '.git/objects'],
  [
    "fatal: prepare: cannot lock ref 'refs/heads/n': Unable to create '/r/.git/refs/heads/n.lock': Permission denied",
    '/r/.git/refs/heads/n.lock',
  ],
  ['error: could not lock config file .git/config: Permission denied', '.git/config'],
  ["error: cannot open '.git/FETCH_HEAD': Permission denied", '.git/FETCH_HEAD'],
  ["fatal: Unable to create '/r/.git/index.lock': Read-only file system", '/r/.git/index.lock'],
])('no permission: %s', (stderr, path) => {
  expect(why(stderr)).toBe(`you have no permission to write ${path}, so give it to yourself`)
})

test('a full disk, and nothing that a remote says of its own', () => {
  expect(why('error: file write error: No space left on device\nfatal: x')).toBe(
    'the disk is full, so free some space on it',
  )
  expect(why('git@example.org: Permission denied (publickey).')).toBeUndefined()
  expect(why("remote: error: Unable to create '/srv/r.git/x.lock': File exists.")).toBeUndefined()
  expect(why('remote: fatal: write error: No space left on device')).toBeUndefined()
  expect(whyGitFailed(new Error('No space left on device'))).toBeUndefined()
})
