/** Finds the host of origin among several kinds of hosts. */
import { expect, test } from 'bun:test'
import { shellIn } from '../../core/shell.ts'
import { GITHUB } from '../../forklift/github.ts'
import type { HostFound, HostKind, HostSearch, PullRequestHost } from '../../forklift/host.ts'
import { findHost, webOf, whyRefused } from '../../forklift/hosts.ts'

const signal = new AbortController().signal
/** A search for the host of `url`, with no token on this machine. */
const searchFor = (url: string): HostSearch => ({
  urls: [url],
  env: {},
  sh: shellIn({ cwd: '/', signal, env: { ...process.env, PATH: '/nonexistent' } }),
  signal,
})
const HERE = { name: 'Example' } as PullRequestHost

/** A kind of host that gives `found`, and records that it was asked. */
function kindThatFinds(found: HostFound, asked: string[], name: string): HostKind {
  const find = async () => {
    asked.push(name)
    return found
  }
  return { find, webOf: () => undefined, whyRefused: () => undefined }
}

test('the first kind of host that knows origin is taken, without a note', async () => {
  const asked: string[] = []
  const notes: string[] = []
  const kinds = [
    kindThatFinds({ whyNot: 'it is no A' }, asked, 'A'),
    kindThatFinds({ host: HERE }, asked, 'B'),
    kindThatFinds({ host: HERE }, asked, 'C'),
  ]
  const search = searchFor('https://b.example/me/fork.git')
  expect(await findHost(search, note => notes.push(note), kinds)).toBe(HERE)
  expect(asked).toEqual(['A', 'B'])
  expect(notes).toEqual([])
})

test('a host that GitHub could be, and another kind is, is left to that kind', async () => {
  const notes: string[] = []
  const kinds = [GITHUB, kindThatFinds({ host: HERE }, [], 'B')]
  expect(await findHost(searchFor('https://b.example/me/fork.git'), note => notes.push(note), kinds)).toBe(HERE)
  expect(notes).toEqual([])
})

test('where no kind knows origin, one note has the reasons of all', async () => {
  const notes: string[] = []
  const kinds = [GITHUB, kindThatFinds({}, [], 'B'), kindThatFinds({ whyNot: 'no token for a C was found' }, [], 'C')]
  expect(await findHost(searchFor('https://b.example/me/fork.git'), note => notes.push(note), kinds)).toBeUndefined()
  expect(notes).toEqual([
    'there is no token for b.example, so it does not count as a GitHub, and no token for a C was found: the branch will be pushed, without a pull request.',
  ])
})

test('a folder as origin is on no host, and needs no note', async () => {
  const notes: string[] = []
  expect(await findHost(searchFor('/srv/fork.git'), note => notes.push(note))).toBeUndefined()
  expect(notes).toEqual([])
})

test('pages and refused pushes are read by the first kind that can', () => {
  const none: HostKind = { find: async () => ({}), webOf: () => undefined, whyRefused: () => undefined }
  const other: HostKind = { ...none, webOf: () => 'https://b.example/fork', whyRefused: () => 'It is protected.' }
  const urls = ['https://b.example/me/fork.git']
  expect(webOf(urls, [none, other, GITHUB])).toBe('https://b.example/fork')
  expect(webOf(urls, [none, GITHUB, other])).toBe('https://b.example/me/fork')
  expect(whyRefused('remote: protected', [none, GITHUB, other])).toBe('It is protected.')
  expect(whyRefused('refusing to allow an OAuth App to create or update workflow', [GITHUB, other])).toMatch(/scope/)
  expect(whyRefused('remote: protected', [none])).toBeUndefined()
})
