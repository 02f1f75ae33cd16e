#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Prints the page of the pull request for a merge, or why it would be refused: `forklift/judge.ts START UPSTREAM
 * RESULT`.
 */
import { tmpdir } from 'node:os'
import { openRepository } from '../core/git/repository.ts'
import { GitError, read } from '../core/git/run.ts'
import { openScratch } from '../core/git/scratch.ts'
import { review } from '../core/review.ts'
import { firstLine, visible } from '../core/text.ts'
import { ledgerText, page } from './pull-request.ts'

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main([startRef, upstreamRef, resultRef, ...more]: string[]): Promise<number> {
  if (!startRef || !upstreamRef || !resultRef || more.length > 0) {
    console.error('usage: forklift/judge.ts START UPSTREAM RESULT')
    return 64
  }
  const interruption = new AbortController()
  const { signal } = interruption
  // An interruption removes the scratch repository and ends running git processes.
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => interruption.abort(new Error(name)))
  try {
    const repository = await openRepository(process.cwd(), { signal })
    const commits = [startRef, upstreamRef, resultRef].map(ref => `${ref}^{commit}`)
    const resolved = await read(repository, ['rev-parse', '--revs-only', ...commits])
    const [start = '', upstream = '', result = ''] = resolved.split('\n')
    const { objects, format } = repository
    await using scratch = await openScratch({ parent: tmpdir(), borrowed: [objects], format, signal })
    const verdict = await review(scratch, { origin: start, start, upstream, result })
    const isGood = verdict.refusals.length === 0
    console.log(
      isGood ? page(verdict, { originBranch: startRef, upstreamBranch: upstreamRef }).body : ledgerText(verdict),
    )
    return isGood ? 0 : 3
  } catch (error) {
    const words = error instanceof GitError ? error.stderr : ''
    console.error(visible(firstLine(words || (error as Error).message)))
    return 1
  }
}
