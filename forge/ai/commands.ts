/**
 * Commands for the AI, such as tests and linters, for repositories where the user has switched commands on. They run on
 * a copy of the branch's files in a locked-down container without network. Nothing of them runs on this machine itself,
 * and the files that a command leaves are read as untrusted.
 */
import { mkdir, opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { NOT_STARTED } from '../../core/container.ts'
import { Failure } from '../../core/failure.ts'
import { asBytes, asText, type Path } from '../../core/git/repository.ts'
import { firstLine, many, short, visible, visiblePath } from '../../core/text.ts'
import { readUntrusted } from '../../core/untrusted.ts'
import { materializedIn, removeLeftBehind, type WorkInProgressVfs } from '../vfs.ts'
import { openAll, runClosed, whyNoContainer } from './closed-container.ts'
import { CHECKS_RUN } from './desk-words.ts'
import { isSwitchedOn, switchTo } from './switches.ts'
import type { Tool, ToolResult } from './tool.ts'
import { takeTrial, trialOf, verifyMayBeWritten } from './trial.ts'

/** The time limit of a command in seconds: the default, and the longest that the model can ask for. */
const SECONDS = { usual: 120, most: 600 }
/**
 * Limits for taking over the files that a command changed: bytes of one file, bytes in all, entries and depth of the
 * folders that are read; and how many names a message lists (`told`).
 */
const KEPT = { file: 16 << 20, bytes: 64 << 20, entries: 200_000, depth: 64, told: 20 }

const NAME = 'run_command'

const Sent = v.object({
  command: v.pipe(v.string(), v.trim(), v.nonEmpty(), v.maxLength(10_000)),
  seconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(SECONDS.most)), SECONDS.usual),
  keep_changes: v.optional(v.pipe(v.array(v.pipe(v.string(), v.nonEmpty(), v.maxLength(300))), v.maxLength(50)), []),
})

// --- Whether there are commands at all

/** Whether the user has switched commands on, for the repository of this state folder. */
export const areCommandsOn = (state: string): Promise<boolean> => isSwitchedOn(state, 'commands-are-on')

/** Switches commands on or off. Throws where the state folder is not writable. */
export const switchCommands = (state: string, isOn: boolean): Promise<void> => switchTo(state, 'commands-are-on', isOn)

/** Removes files that commands of a killed process have left in a state folder, unreadable ones included. */
export async function removeLeftCommands(state: string): Promise<void> {
  await mkdir(materializedIn(state), { recursive: true })
  await openAll(materializedIn(state))
  await removeLeftBehind(materializedIn(state))
}

/** Why no command can be run here, as a sentence; undefined where one can. */
export async function whyNoCommands(state: string, signal: AbortSignal): Promise<string | undefined> {
  if (!(await areCommandsOn(state)))
    return 'Commands are switched off for this repository: the user can switch them on.'
  const why = await whyNoContainer(signal)
  return why && `Commands need ${why}`
}

// --- The tool

/**
 * The tool run_command. `state`: the repository's state folder, which has the switch, and where the copy of the files
 * is put while a command runs. `checksAfterTurn`: its description says that the checks of FORGE.md run by themselves.
 */
export function commandTool(state: string, { checksAfterTurn = false } = {}): Tool {
  const description = [
    'Runs a shell command (bash) in a container with a copy of the files as they are now, without any network.',
    'For tests, linters, formatters and builds. What it changes in the files is lost unless keep_changes names it.',
    ...(checksAfterTurn ? [CHECKS_RUN] : []),
  ].join(' ')
  const parameters = {
    type: 'object',
    properties: {
      command: { type: 'string', description: 'The command, run by bash in the top folder.' },
      seconds: {
        type: 'number',
        description: `How long it may take: ${SECONDS.usual} if left out, at most ${SECONDS.most}.`,
      },
      keep_changes: {
        type: 'array',
        items: { type: 'string' },
        description: 'Files, folders or globs (src/**/*.ts) whose changes come back. Nothing comes back if left out.',
      },
    },
    required: ['command'],
    additionalProperties: false,
  }
  return {
    description: { name: NAME, description, parameters },
    title: sent => {
      const parsed = v.safeParse(Sent, sent)
      return parsed.success ? `${NAME} ${visible(short(parsed.output.command, 80))}` : NAME
    },
    run: async (sent, { vfs, signal }) => {
      const parsed = v.safeParse(Sent, sent)
      if (!parsed.success) return failed(`${NAME} was not run: ${wrongWords(parsed.issues[0])}`)
      const why = await whyNoCommands(state, signal)
      if (why) return failed(`${NAME} was not run. ${why}`)
      try {
        return await runCommand(state, parsed.output, vfs, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof Failure)) throw error
        return failed(`${NAME} failed, and changed nothing. ${error.message}`)
      }
    },
  }
}

type Wish = v.InferOutput<typeof Sent>

const failed = (text: string): ToolResult => ({ text, isError: true, words: visible(short(text, 120)) })

const wrongWords = (issue: v.BaseIssue<unknown>): string => {
  const path = v.getDotPath(issue)
  return `${path ? `${path}: ` : ''}${issue.message}`
}

async function runCommand(state: string, wish: Wish, vfs: WorkInProgressVfs, signal: AbortSignal): Promise<ToolResult> {
  await using made = await vfs.materialize(materializedIn(state))
  const { folder } = made
  // Files that the command made unreadable could neither be read nor removed.
  const end = await runClosed(folder, wish, signal).finally(() => openAll(folder))
  signal.throwIfAborted()
  if (end.exitCode === NOT_STARTED && !end.wasStopped)
    throw new Failure(`docker did not start the container (${visible(firstLine(end.output))}).`)
  const kept = await keepChanges(folder, wish.keep_changes, vfs)
  const how = end.wasStopped
    ? `It was stopped after ${wish.seconds} seconds.`
    : `It ended with ${end.exitCode ?? 'a signal'} after ${many(end.seconds, 'second')}.`
  const text = [how, ...tellKept(kept), end.output ? `Its output:\n${end.output}` : 'It printed nothing.'].join('\n')
  const isError = end.wasStopped || end.exitCode !== 0
  const words = `${visible(short(wish.command, 60))}: ${end.wasStopped ? 'stopped' : `exit ${end.exitCode ?? '?'}`}`
  return { text, isError, words, touched: kept.touched }
}

// --- What comes back

type Kept = { touched: Path[]; refused: string[] }

const tellKept = ({ touched, refused }: Kept): string[] => {
  const list = (all: readonly string[]) =>
    `${all.slice(0, KEPT.told).join(', ')}${all.length > KEPT.told ? ` and ${all.length - KEPT.told} more` : ''}`
  return [
    ...(touched.length > 0 ? [`Changed: ${list(touched.map(visiblePath))}.`] : []),
    ...(refused.length > 0 ? [`Not taken back: ${list(refused)}.`] : []),
  ]
}

/**
 * Takes a command's changes over into the work in progress, in the requested files: all changes, or none where there
 * are too many.
 */
async function keepChanges(folder: string, patterns: readonly string[], vfs: WorkInProgressVfs): Promise<Kept> {
  if (patterns.length === 0) return { touched: [], refused: [] }
  const isWanted = matcherOf(patterns)
  const before = new Map((await vfs.listFiles('')).map(file => [file.path, file]))
  const { files, refused } = await filesIn(folder, isWanted)
  const trial = trialOf(vfs)
  const touched: Path[] = []
  for (const { path, mode } of before.values()) {
    const isLeft = files.has(path) || refused.has(path)
    if (isWanted(path) && !isLeft && isReadable(path) && mode !== '160000')
      await keep(refused, path, () => trial.deleteFile(path), touched)
    // Symbolic links are not taken over. One that existed before the command is not reported as refused.
    if (mode === '120000') refused.delete(path)
  }
  let bytes = 0
  for (const [path, { place, mode }] of files) {
    const found = await readUntrusted(place, KEPT.file + 1)
    if (found?.kind !== 'file') continue
    if (found.bytes.length > KEPT.file) {
      refused.set(path, 'larger than 16 MB')
      continue
    }
    bytes += found.bytes.length
    if (bytes > KEPT.bytes) throw new Failure('What keep_changes names has more than 64 MB: name less of it.')
    const there = before.get(path)
    const isSame = there?.mode === mode && (await vfs.readFile(path)).equals(found.bytes)
    if (!isSame) await keep(refused, path, () => trial.writeFile(path, found.bytes, { mode }), touched)
  }
  await takeTrial(vfs, trial)
  return { touched: touched.sort(), refused: [...refused].map(([path, why]) => `${visiblePath(path)} (${why})`) }
}

/** Whether a path is UTF-8. Other paths can't be opened by their name in a listing. */
const isReadable = (path: Path): boolean => asBytes(asText(path)) === path

/** Runs `act`. If the path is refused, records that, and does not throw. */
async function keep(refused: Map<Path, string>, path: Path, act: () => Promise<void>, touched: Path[]): Promise<void> {
  try {
    verifyMayBeWritten(path)
    await act()
    touched.push(path)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    refused.set(path, error.message.replace(/\.$/, ''))
  }
}

/** A function that tells whether a path equals one of `patterns`, is below one, or matches one as a glob. */
function matcherOf(patterns: readonly string[]): (path: Path) => boolean {
  const wanted = patterns.map(pattern => {
    const plain = asBytes(pattern.replace(/^\.\/+/, '').replace(/\/+$/, ''))
    const glob = new Bun.Glob(plain)
    return (path: Path) => plain === '.' || path === plain || path.startsWith(`${plain}/`) || glob.match(path)
  })
  return path => wanted.some(matches => matches(path))
}

/** The wanted files below a folder, and wanted paths that are no regular files. Links are not followed. */
async function filesIn(folder: string, isWanted: (path: Path) => boolean) {
  const files = new Map<Path, { place: string; mode: '100644' | '100755' }>()
  const refused = new Map<Path, string>()
  let entries = 0
  const look = async (inside: string, depth: number): Promise<void> => {
    for await (const entry of await opendir(join(folder, inside))) {
      if (++entries > KEPT.entries)
        throw new Failure(`The command left more than ${KEPT.entries} files: none is taken back.`)
      const name = inside === '' ? entry.name : `${inside}/${entry.name}`
      const path = asBytes(name)
      if (entry.isDirectory()) {
        // A nested repository is not part of the branch's files.
        if (depth < KEPT.depth && entry.name !== '.git') await look(name, depth + 1)
        else if (isWanted(path)) refused.set(path, depth < KEPT.depth ? 'a repository' : 'too deep')
        continue
      }
      if (!isWanted(path)) continue
      // A name that is not UTF-8 can't be opened by this decoded form.
      const place = join(folder, name)
      const stats = entry.isFile() ? await stat(place).catch(() => undefined) : undefined
      if (!stats) refused.set(path, entry.isSymbolicLink() ? 'a link' : 'no file')
      else files.set(path, { place, mode: stats.mode & 0o100 ? '100755' : '100644' })
    }
  }
  await look('', 1)
  return { files, refused }
}
