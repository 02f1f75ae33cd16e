/**
 * What can be run to check things: the programs of the image, the checks that FORGE.md lists, the ready-made ones that
 * the repository has something for, and whether there is a network. For the linter, and in words for the planner.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { readJson, writeJson } from '../../../core/state.ts'
import { visible } from '../../../core/text.ts'
import { readUntrusted } from '../../../core/untrusted.ts'
import { findImage, openAll, runClosed, whyNoContainer } from '../../ai/closed-container.ts'
import { readForgeMd } from './forge-md.ts'
import { readyMade, readyMadeIn } from './ready-made.ts'

const FILE = 'programs.json'
const Stored = v.object({ image: v.string(), programs: v.array(v.string()) })

/** Seconds for a list of names, also on a machine that is busy. */
const SECONDS = 60
/** Of a list that is longer, the image is not ours. */
const MAX_LIST_BYTES = 4 << 20

/**
 * The programs of the image that checks run in, as its shell finds them: asked for once an image, and kept in the state
 * folder. Undefined where there is no engine, or no image.
 */
export async function programsOf(state: string, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  const image = await findImage(signal)
  if (image === undefined) return undefined
  const path = join(state, FILE)
  const known = await readJson(path, Stored)
  if (known?.image === image) return new Set(known.programs)
  if ((await whyNoContainer(signal)) !== undefined) return undefined
  const programs = await askFor(state, signal)
  if (programs.length === 0) return undefined
  await writeJson(path, { image, programs })
  return new Set(programs)
}

/** By a file, since there are more than what is kept of a command's output. */
async function askFor(state: string, signal: AbortSignal): Promise<string[]> {
  const folder = await mkdtemp(join(state, 'programs-'))
  try {
    await runClosed(folder, { command: 'compgen -c > names', seconds: SECONDS }, signal)
    const names = await readUntrusted(join(folder, 'names'), MAX_LIST_BYTES)
    if (names?.kind !== 'file') return []
    return [...new Set(names.bytes.toString().split('\n'))].filter(name => /^[\w.+[-]{1,100}$/.test(name)).sort()
  } finally {
    await openAll(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

/** Of two thousand programs, those by which a planner decides. What every system has needs no telling. */
const THAT_MATTER: Record<string, string> = {
  Languages:
    'bun node deno python3 python ruby perl php lua go rustc gcc g++ clang java javac kotlinc scala dotnet swift ghc elixir erl julia Rscript',
  'Package managers':
    'npm npx pnpm yarn bunx pip pip3 uv poetry pipenv cargo gem bundle composer mvn gradle mix cabal stack',
  'Test runners': 'pytest tox nox jest vitest mocha playwright phpunit rspec bats ctest',
  'Compilers, linters and formatters':
    'tsc biome eslint prettier oxlint ruff mypy pyright black flake8 pylint isort rustfmt gofmt golangci-lint clang-format clang-tidy shellcheck shfmt rubocop yamllint hadolint markdownlint',
  'Other tools': 'make cmake ninja meson git jq yq rg sqlite3 psql redis-server xmllint pandoc',
}

/** What the planner is told of all this, at a commit; the same files and the same image give the same words. */
export async function checksInWords(
  objects: Objects,
  commit: Oid,
  { programs, hasNetwork }: { programs?: ReadonlySet<string>; hasNetwork: boolean },
): Promise<string> {
  const [forge, fitting] = await Promise.all([readForgeMd(objects, commit), readyMadeIn(objects, commit, [])])
  const network = hasNetwork ? 'with a network' : 'without any network'
  const lines = [`Commands run by bash, in the top folder of the repository, in a container ${network}.`]
  if (programs) {
    lines.push('Programs of it by which to decide; of these kinds it has no others:')
    for (const [kind, names] of Object.entries(THAT_MATTER)) {
      const there = names.split(' ').filter(name => programs.has(name))
      lines.push(`- ${kind}: ${there.join(', ') || 'none'}`)
    }
  } else lines.push('Which programs it has is not known.')
  if (forge.checks.length > 0) {
    lines.push('FORGE.md lists these, which are run for every task and need not be asked for:')
    lines.push(...forge.checks.map(command => `- ${visible(command)}`))
  }
  lines.push('Ready-made checks that fit this repository, by name:')
  for (const name of fitting) {
    const commands = isText(name) ? [] : (await readyMade(objects, commit, name)).checks
    lines.push(commands.length > 0 ? `- ${name}: ${commands.map(visible).join(' · ')}` : `- ${name}`)
  }
  return lines.join('\n')
}

const isText = (name: string): name is 'citations' | 'complete' | 'format' =>
  ['citations', 'complete', 'format'].includes(name)
