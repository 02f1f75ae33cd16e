/**
 * Histories for tests of the review: whole trees as commits, with file names of any bytes, in a repository of their
 * own.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Format } from '../../core/git/repository.ts'
import { openScratch } from '../../core/git/scratch.ts'
import { type MergeReview, review } from '../../core/review.ts'
import { bare, git, gitWith } from './git.ts'

/** The content of a file, with a mode, or the mode and id of an existing object. */
export type File = string | { mode: string; oid: string } | { mode: string; content: string }
/** A whole tree; names are byte strings, as in git. */
export type Tree = Record<string, File>

export type History = {
  repo: string
  /** Makes a commit with exactly these files. */
  commit: (tree: Tree, parents?: string[], message?: string) => Promise<string>
  /** Makes a file of any bytes, for {@link commit}. */
  blob: (bytes: Uint8Array) => Promise<File>
  /** Reads the files of a commit or tree. */
  tree: (treeish: string) => Promise<Tree>
  /** Git's own merge: its tree, and whether it had no conflicts. */
  merge: (ours: string, theirs: string) => Promise<{ tree: Tree; clean: boolean }>
  review: (start: string, upstream: string, result: string, origin?: string) => Promise<MergeReview>
  [Symbol.asyncDispose]: () => Promise<void>
}

export async function makeHistory(format: Format = 'sha1'): Promise<History> {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-history-'))
  const repo = await bare(join(folder, 'repo.git'), 'main', format)
  let clock = Date.UTC(2026, 9, 1) / 1000
  const tree = async (treeish: string): Promise<Tree> => {
    const listing = await rawGit(repo, ['ls-tree', '-r', '-z', '--full-tree', treeish])
    const entries = listing.split('\0').slice(0, -1)
    return Object.fromEntries(
      entries.map(entry => {
        const [, mode = '', oid = '', path = ''] = /^(\d+) \w+ ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? []
        return [path, { mode, oid }]
      }),
    )
  }
  return {
    repo,
    tree,
    blob: async bytes => {
      const child = Bun.spawn(['git', 'hash-object', '-w', '--stdin'], { cwd: repo, stdin: bytes, stdout: 'pipe' })
      return { mode: '100644', oid: (await child.stdout.text()).trim() }
    },
    commit: async (files, parents = [], message = 'A change') => {
      clock += 60
      const [first, ...others] = parents
      const person = `Una <una@upstream.example> ${clock} +0000`
      const lines = [
        `reset refs/heads/scratch\n\ncommit refs/heads/scratch\nmark :1\nauthor ${person}\ncommitter ${person}\n${data(message)}`,
        first ? `from ${first}\n` : '',
        ...others.map(parent => `merge ${parent}\n`),
        'deleteall\n',
        ...Object.entries(files).map(([path, file]) => modify(path, file)),
      ]
      await gitWith(repo, ['fast-import', '--quiet', '--force'], `${lines.join('')}\n`)
      return git(repo, 'rev-parse', 'refs/heads/scratch')
    },
    merge: async (ours, theirs) => {
      const child = Bun.spawnSync(['git', 'merge-tree', '--write-tree', '--no-messages', '-z', ours, theirs], {
        cwd: repo,
      })
      const merged = child.stdout.toString().split('\0')[0] ?? ''
      return { tree: await tree(merged), clean: child.exitCode === 0 }
    },
    review: async (start, upstream, result, origin = start) => {
      await using scratch = await openScratch({ parent: folder, borrowed: [join(repo, 'objects')], format })
      return await review(scratch, { origin, start, upstream, result })
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Git's output, one character per byte. */
async function rawGit(cwd: string, args: string[]): Promise<string> {
  const child = Bun.spawn(['git', ...args], { cwd, stdout: 'pipe' })
  return Buffer.from(await new Response(child.stdout).bytes()).toString('latin1')
}

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

function modify(path: string, file: File): string {
  const name = `"${path.replace(/[^ !#-[\]-~]/g, byte => `\\${byte.charCodeAt(0).toString(8).padStart(3, '0')}`)}"`
  if (typeof file === 'string') return `M 100644 inline ${name}\n${data(file)}`
  if ('oid' in file) return `M ${file.mode} ${file.oid} ${name}\n`
  return `M ${file.mode} inline ${name}\n${data(file.content)}`
}

/** Numbered lines, `length` of them, some replaced. */
export const text = (changes: Record<number, string> = {}, length = 30): string =>
  Array.from({ length }, (_, at) => `${changes[at + 1] ?? `line ${at + 1}`}\n`).join('')
