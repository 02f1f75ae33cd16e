/**
 * Lists what checks can run: the programs of the image, the commands in FORGE.md, the ready-made checks that fit the
 * repository, and whether there is a network. For the linter, and as text for the planner.
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
import { readForgeMd } from '../../ai/forge-md.ts'
import { readyMade, readyMadeIn } from './ready-made.ts'
import type { TextCheck } from './texts.ts'

const FILE = 'programs.json'
const Stored = v.object({
  image: v.string(),
  programs: v.array(v.string()),
  versions: v.record(v.string(), v.string()),
})

/** The time limit for the list of programs and their versions, in seconds. */
const SECONDS = 60
/** The time limit for one program's version, in seconds. */
const VERSION_SECONDS = 10
/** A longer list, in bytes, is no list of our image. */
const MAX_LIST_BYTES = 4 << 20

/** The programs of an image with their versions; '' where the version is unknown. */
export type Programs = ReadonlyMap<string, string>

/** The programs that a planner is told about, out of some two thousand. Programs that every system has are left out. */
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

/**
 * The programs in the PATH of the image that checks run in. Asked once for each image and kept in the state folder.
 * Undefined where there is no container engine, or no image.
 */
export async function programsOf(state: string, signal: AbortSignal): Promise<Programs | undefined> {
  const image = await findImage(signal)
  if (image === undefined) return undefined
  const path = join(state, FILE)
  const known = await readJson(path, Stored).catch(() => undefined)
  if (known?.image === image) return programsIn(known)
  if ((await whyNoContainer(signal)) !== undefined) return undefined
  const asked = await askFor(state, signal)
  if (asked.programs.length === 0) return undefined
  await writeJson(path, { image, ...asked })
  return programsIn(asked)
}

const programsIn = ({ programs, versions }: Omit<v.InferOutput<typeof Stored>, 'image'>): Programs =>
  new Map(programs.map(name => [name, versions[name] ?? '']))

/** The arguments that show a version, for programs without --version. */
const OWN_WORDS: Record<string, string> = { go: 'version', lua: '-v' }

/**
 * A shell command that writes the names of all programs to `names`, and the output of their version options to
 * `versions`.
 */
function question(): string {
  const asks = namesThatMatter().map(
    name =>
      `(command -v ${name} >&2 && timeout ${VERSION_SECONDS} ${name} ${OWN_WORDS[name] ?? '--version'} ` +
      `</dev/null 2>&1 | head -n 2 | tr '\\n' ' ' > v.${name}) &`,
  )
  return [
    'compgen -c > names',
    ...asks,
    'wait',
    'for file in v.*; do printf "%s\\t%s\\n" "$file" "$(cat "$file")"; done > versions',
  ].join('\n')
}

/**
 * Lists the programs of the image and their versions in a container. The lists are written to files, since they are
 * longer than the kept output of a command.
 */
async function askFor(state: string, signal: AbortSignal): Promise<Omit<v.InferOutput<typeof Stored>, 'image'>> {
  const folder = await mkdtemp(join(state, 'programs-'))
  const linesOf = async (name: string): Promise<string[]> => {
    const file = await readUntrusted(join(folder, name), MAX_LIST_BYTES)
    return file?.kind === 'file' ? file.bytes.toString().split('\n') : []
  }
  try {
    await runClosed(folder, { command: question(), seconds: SECONDS }, signal)
    const names = await linesOf('names')
    const programs = [...new Set(names)].filter(name => /^[\w.+[-]{1,100}$/.test(name)).sort()
    const said = (await linesOf('versions')).flatMap(line => {
      const [, name = '', version] = /^v\.([\w.+-]+)\t.*?(\d{1,4}(?:\.\d{1,6}){1,3})/.exec(line) ?? []
      return version === undefined ? [] : [[name, version] as const]
    })
    return { programs, versions: Object.fromEntries(said) }
  } finally {
    await openAll(folder)
    await rm(folder, { recursive: true, force: true })
  }
}

const namesThatMatter = (): string[] => Object.values(THAT_MATTER).flatMap(names => names.split(' '))

/** What each ready-made check of texts (work that is no code) verifies in the files that a task has written. */
const TEXT_CHECKS: Record<TextCheck, string> = {
  citations: 'links of Markdown lead to files that are there, and notes are both said and cited',
  complete: 'nothing is empty or left to be filled in, and no heading stands above nothing',
  format: 'JSON, YAML and TOML can be read, fences of Markdown are closed, levels of headings are not skipped',
}

/** The text for the planner about checks at a commit; the same files and image give the same text. */
export async function checksInWords(
  objects: Objects,
  commit: Oid,
  { programs, hasNetwork }: { programs?: Programs; hasNetwork: boolean },
): Promise<string> {
  const [forge, fitting] = await Promise.all([readForgeMd(objects, commit), readyMadeIn(objects, commit, [])])
  const network = hasNetwork ? 'with a network' : 'without any network'
  const lines = [`Commands run by bash, in the top folder of the repository, in a container ${network}.`]
  if (programs) {
    lines.push('Programs of it by which to decide; of these kinds it has no others:')
    for (const [kind, names] of Object.entries(THAT_MATTER)) {
      const there = names.split(' ').flatMap(name => {
        const version = programs.get(name)
        return version === undefined ? [] : [`${name} ${version}`.trimEnd()]
      })
      lines.push(`- ${kind}: ${there.join(', ') || 'none'}`)
    }
  } else lines.push('Which programs it has is not known.')
  if (forge.checks.length > 0) {
    lines.push('FORGE.md lists these, which are run for every task and need not be asked for:')
    lines.push(...forge.checks.map(command => `- ${visible(command)}`))
  }
  // Where FORGE.md lists commands, ready-made checks that run commands would only repeat them.
  const ready = [...fitting].filter(name => isText(name) || forge.checks.length === 0)
  lines.push('Ready-made checks, to be named in a task:')
  for (const name of ready) {
    const words = isText(name)
      ? TEXT_CHECKS[name]
      : (await readyMade(objects, commit, name)).checks.map(visible).join(' · ')
    lines.push(`- ${name}: ${words}`)
  }
  return lines.join('\n')
}

const isText = (name: string): name is TextCheck => name in TEXT_CHECKS
