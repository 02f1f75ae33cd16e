/** A branch whose commits are rewritten by the desk, and by git's own rebase. */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Rewriting } from '../../../../forge/desk/contract/steps.ts'
import { type Desk, makeDesk, PERSON } from '../../../support/desk.ts'
import { gitWith } from '../../../support/git.ts'

const NUMBERS = Array.from({ length: 30 }, (_, at) => `${at}\n`)
/** Each commit changes another line, so that they can be in any order. */
const withLine = (lines: string[], at: number, words: string) => lines.with(at, `${words}\n`)

/** A branch `main` with a first commit and `a` to `e` after it; returns their ids by these names. */
export async function openLine(): Promise<{ desk: Desk; ids: Record<string, string> }> {
  const desk = await makeDesk({ files: { 'all.txt': NUMBERS.join('') } })
  const ids: Record<string, string> = { first: await desk.git('rev-parse', 'main') }
  let lines = NUMBERS
  for (const [at, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    lines = withLine(lines, at * 6, name)
    await writeFile(join(desk.path, 'all.txt'), lines.join(''))
    await desk.git(
      'commit',
      '-q',
      '-a',
      '-m',
      `Change ${name}\n\nWhy ${name}.`,
      '--author',
      `${name} <${name}@example.org>`,
    )
    ids[name] = await desk.git('rev-parse', 'main')
  }
  return { desk, ids }
}

export const rewrite = (rewriting: Rewriting, message?: string) => ({
  step: { step: 'rewrite' as const, branch: 'main', rewriting, ...(message !== undefined && { message }) },
})

/** The commits of a ref without their parents, oldest first. */
export const commitsOf = (desk: Desk, ref: string) => desk.git('log', '--reverse', '--format=%T %an %ae %at%n%B', ref)

/** Runs git's own rebase of the same branch with a todo list, and returns the result. */
export async function byGit(desk: Desk, todo: string, message?: string): Promise<string> {
  const editor = join(desk.folder, 'editor')
  const words = join(desk.folder, 'message')
  await writeFile(editor, `#!/bin/sh\ncat >"$1" <<'EOF'\n${todo}\nEOF\n`)
  await chmod(editor, 0o755)
  if (message !== undefined) await writeFile(words, message)
  const env = { ...PERSON, GIT_SEQUENCE_EDITOR: editor, GIT_EDITOR: message === undefined ? 'true' : `cp '${words}'` }
  await desk.git('worktree', 'add', '-q', '-f', '-B', 'by-git', join(desk.folder, 'by-git'), 'main')
  await gitWith(join(desk.folder, 'by-git'), ['rebase', '-q', '-i', '--root'], undefined, env)
  return await commitsOf(desk, 'by-git')
}

export const pick = (ids: Record<string, string>, ...names: string[]) =>
  names.map(name => `pick ${ids[name]}`).join('\n')
