/** The tool `diagnostics`: what language servers find wrong in files, as the turn has changed them. */
import * as v from 'valibot'
import { Failure } from '../../core/failure.ts'
import { asBytes, type Path } from '../../core/git/repository.ts'
import { many, short, visible, visiblePath } from '../../core/text.ts'
import type { WorkInProgressVfs } from '../vfs.ts'
import type { Tool, ToolResult } from './tool.ts'

/** A problem in a file; its position counts from 0. */
export type FoundProblem = {
  range: { start: { line: number; character: number } }
  severity: 'error' | 'warning' | 'info' | 'hint'
  message: string
  source: string
}

/**
 * Finds the problems of files. `found` has those that a language server knows, `unknown` those whose problems it did
 * not find in time. Throws a {@link Failure} where the server fails.
 */
export type FindProblems = (
  vfs: WorkInProgressVfs,
  paths: readonly Path[],
  signal: AbortSignal,
) => Promise<{ found: ReadonlyMap<Path, readonly FoundProblem[]>; unknown: readonly Path[] }>

const NAME = 'diagnostics'
/** At most this many files are looked at, and this many problems told. */
const [MAX_FILES, MAX_PROBLEMS] = [50, 100]

const Sent = v.object({
  paths: v.optional(v.pipe(v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(4096))), v.maxLength(MAX_FILES))),
})

/** The tool, which asks `find`. */
export function diagnosticsTool(find: FindProblems): Tool {
  const description = [
    'Errors and warnings that language servers (compilers, type checkers) find in files as they are now.',
    'Call it for what you have changed before you end, and correct what your changes broke.',
    'Modules that are not installed are reported as missing.',
  ].join(' ')
  const parameters = {
    type: 'object',
    properties: {
      paths: { type: 'array', items: { type: 'string' }, description: 'The files. All that you changed if left out.' },
    },
    additionalProperties: false,
  }
  return {
    description: { name: NAME, description, parameters },
    title: sent => {
      const parsed = v.safeParse(Sent, sent)
      const paths = (parsed.success && parsed.output.paths) || []
      return paths.length === 0 ? NAME : `${NAME} ${visible(short(paths.join(' '), 80))}`
    },
    run: async (sent, { vfs, signal }) => {
      const parsed = v.safeParse(Sent, sent ?? {})
      if (!parsed.success) return failed(`${NAME} was not run: ${parsed.issues[0].message}`)
      const changed = [...vfs.changes].flatMap(([path, change]) => (change ? [path] : []))
      const paths = (parsed.output.paths?.map(asBytes) ?? changed).filter(path => !path.startsWith('.forge/'))
      if (paths.length === 0) return { text: 'No file was changed.', isError: false, words: 'no file was changed' }
      const absent: Path[] = []
      for (const path of paths) if (!(await vfs.fileExists(path))) absent.push(path)
      if (absent.length > 0) return failed(`There is no file ${absent.map(visiblePath).join(', ')}.`)
      try {
        return told(paths, await find(vfs, paths.slice(0, MAX_FILES), signal))
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof Failure)) throw error
        return failed(`${NAME} failed. ${error.message}`)
      }
    },
  }
}

const failed = (text: string): ToolResult => ({ text, isError: true, words: visible(short(text, 120)) })

function told(paths: readonly Path[], { found, unknown }: Awaited<ReturnType<FindProblems>>): ToolResult {
  const problems = [...found].flatMap(([path, all]) =>
    all.filter(({ severity }) => severity !== 'hint').map(problem => ({ path, ...problem })),
  )
  const ofErrors = problems.filter(({ severity }) => severity === 'error')
  const ordered = [...ofErrors, ...problems.filter(({ severity }) => severity !== 'error')]
  const lines = ordered.slice(0, MAX_PROBLEMS).map(({ path, range: { start }, severity, message, source }) => {
    const end = source === '' ? '' : ` (${source})`
    return `${visiblePath(path)}:${start.line + 1}:${start.character + 1} ${severity}: ${message}${end}`
  })
  const known = [...found.keys()].filter(path => !unknown.includes(path))
  const without = paths.filter(path => !found.has(path))
  const notes = [
    ...(problems.length === 0 && known.length > 0 ? [`No problems in ${known.map(visiblePath).join(', ')}.`] : []),
    ...(ordered.length > lines.length ? [`… and ${ordered.length - lines.length} more.`] : []),
    ...(unknown.length > 0 ? [`Not known in time: ${unknown.map(visiblePath).join(', ')}.`] : []),
    ...(without.length > 0 ? [`No language server for ${without.map(visiblePath).join(', ')}.`] : []),
  ]
  return {
    text: [...lines, ...notes].join('\n'),
    isError: false,
    words:
      problems.length === 0
        ? 'no problems'
        : `${many(ofErrors.length, 'error')} of ${many(problems.length, 'problem')}`,
  }
}
