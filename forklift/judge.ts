#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/** `forklift/judge.ts START UPSTREAM RESULT` prints the page of the pull request for a merge, or why there is none. */
import { tmpdir } from 'node:os'
import type { ProcessOutput } from 'zx/core'
import type { Room } from '../core/git/plumbing.ts'
import * as git from '../core/git/plumbing.ts'
import { review } from '../core/review.ts'
import { shellIn } from '../core/shell.ts'
import { firstLine, visible } from '../core/text.ts'
import { ledgerText, page } from './page.ts'

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main([startRef, upstreamRef, resultRef, ...more]: string[]): Promise<number> {
  if (!startRef || !upstreamRef || !resultRef || more.length > 0) {
    console.error('usage: forklift/judge.ts START UPSTREAM RESULT')
    return 64
  }
  let room: Room | undefined
  try {
    const facts = ['--path-format=absolute', '--git-path', 'objects', '--show-object-format', '--end-of-options']
    const commits = [startRef, upstreamRef, resultRef].map(ref => `${ref}^{commit}`)
    const { stdout } = await shellIn({ cwd: process.cwd() })`git rev-parse ${facts} ${commits}`
    // Some versions of git print the mark of the end of options, too.
    const lines = stdout.trimEnd().replace('\n--end-of-options\n', '\n').split('\n').reverse()
    const [result = '', upstream = '', start = '', format = '', ...path] = lines
    const objects = path.reverse().join('\n')
    room = await git.openRoom(tmpdir(), [objects], format)
    const verdict = await review(room, { origin: start, start, upstream, result })
    const isGood = verdict.refusals.length === 0
    console.log(
      isGood ? page(verdict, { originBranch: startRef, upstreamBranch: upstreamRef }).body : ledgerText(verdict),
    )
    return isGood ? 0 : 3
  } catch (error) {
    console.error(visible(firstLine((error as ProcessOutput).stderr || (error as Error).message)))
    return 1
  } finally {
    await room?.close()
  }
}
