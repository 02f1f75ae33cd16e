/** Minimal plans for tests, and the repository that they are for. */

import * as v from 'valibot'
import { type Assertion, Plan, type Task } from '../../../../forge/tasks/plan/schema.ts'
import type { Files } from '../../../support/git.ts'

/** A small program in TypeScript, with tests, CI and lock files. */
export const FILES: Files = {
  'package.json': '{ "scripts": { "test": "bun test", "lint": "tsc --noEmit" } }\n',
  'bun.lock': '{}\n',
  'packages/a/package-lock.json': '{}\n',
  'packages/a/index.ts': 'export const a = 1\n',
  '.github/workflows/ci.yml': 'on: push\n',
  'README.md': '# Tides\n',
  'FORGE.md': '# Checks\n- `bun test`\n',
  'run.sh': '#!/bin/sh\nexec bun src/cli.ts\n',
  'src/cli.ts': "import { parse } from './parse.ts'\nconsole.log(parse(''))\n",
  'src/parse.ts': 'export function parse(text: string): string[] {\n  return text.split(" ")\n}\n',
  'src/lines.ts': 'export const lines = (text: string): string[] => text.split("\\n")\n',
  'src/deep/a.ts': 'export const deep = 1\n',
  'test/parse.test.ts': "import { parse } from '../src/parse.ts'\n",
}

export const PROGRAMS: ReadonlySet<string> = new Set(
  'bun node git sh bash grep tsc make cat head tail npm python3'.split(' '),
)

type Parts<T> = { [K in keyof T]?: NonNullable<T[K]> extends readonly unknown[] | string | number ? T[K] : Parts<T[K]> }

/** A valid task with other values in some fields. By default it owns `src/ID.ts`. */
export function task(id: string, parts: Parts<Task> = {}): Task {
  const file = `src/${id}.ts`
  return {
    id,
    title: parts.title ?? `Make ${id}`,
    objective: {
      behaviour: 'Write it as the others are written.',
      outputs: [file],
      acceptance: ['It is there.'],
      ...parts.objective,
    },
    claims: parts.claims ?? [],
    boundaries: { write: [file], never: [], ...parts.boundaries },
    context: { files: [], tests: [], documents: [], ...parts.context },
    validation: {
      checks: [{ command: 'bun test', seconds: 300 }],
      reviews: ['Is it right?'],
      ...(parts.validation as object),
    },
    depends_on: parts.depends_on ?? [],
    tier: parts.tier ?? 'generation',
    recursion: parts.recursion ?? 0,
    size: parts.size ?? 'medium',
  }
}

export const command = (id: string, line: string): Assertion => ({
  id,
  says: 'It works.',
  how: { kind: 'command', command: line, seconds: 300 },
})

export const review = (id: string): Assertion => ({
  id,
  says: 'It reads well.',
  how: { kind: 'review', question: 'Does it?' },
})

/** A plan of these tasks. Where none claims the assertion A1, the first one does. */
export function plan(tasks: Task[], contract: Assertion[] = [command('A1', 'bun test')]): Plan {
  const [first, ...others] = tasks
  const isClaimed = tasks.some(({ claims }) => claims.length > 0)
  return v.parse(Plan, {
    title: 'Count lines',
    summary: 'Counting first, then showing it.',
    contract,
    tasks: first && !isClaimed ? [{ ...first, claims: contract.map(({ id }) => id) }, ...others] : tasks,
  })
}

/** The validation of a task by these commands, with a time limit of 300 seconds each. */
export const checks = (...lines: string[]) => ({
  validation: { checks: lines.map(line => ({ command: line, seconds: 300 })) },
})
