/** Actions on code by a language server: problems, what is known of a name, rename, quick fixes; and how it formats. */
import { nextDiagnostic, previousDiagnostic } from '@codemirror/lint'
import type { EditorView } from '@codemirror/view'
import type { Abilities, Proposed } from '../../contract/language.ts'
import { positionAt, showHover, showSignatures } from '../editor/language-tools.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { attempt } from '../page/actions.ts'
import { isInConflict } from '../page/branch-facts.ts'
import type { Page } from '../page/state.ts'
import { undoOfLast } from '../page/undo.ts'
import type { Actions } from '../ui/action.ts'
import { baseName, named, readable } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import type { ShownFile } from './code-actions.ts'
import { questionsAbout } from './language.ts'

const TOPIC = 'language server'
const NO_FORMATTER = 'No formatter is known: add one to FORGE.md, under Checks, as - mend: `COMMAND`, and save it'

const fileOf = ({ page, tab, path }: ShownFile): OpenFile | undefined =>
  tab.path === path ? page.files.find(tab.at, path) : undefined

function abilities(about: ShownFile): Abilities | undefined {
  const state = fileOf(about)?.language.value
  return state?.is === 'ready' ? state.can : undefined
}

/** Whether a server runs for the shown file that can do something, and the file can be edited. */
const can = (ability: 'renames' | 'fixes') => (about: ShownFile) =>
  abilities(about)?.[ability] === true && fileOf(about)?.state?.readOnly === false

const hasServer = (about: ShownFile): boolean => abilities(about) !== undefined

/** In a branch with conflicts, the same keys go from one to the next. */
const hasKeysOfProblems = (about: ShownFile): boolean => hasServer(about) && !isInConflict(about.page, about.tab)

export const languageActions = {
  nextProblem: {
    label: 'Next problem',
    keys: 'F8',
    icon: 'arrow-down',
    isPossible: hasKeysOfProblems,
    run: about => fileOf(about)?.run(nextDiagnostic),
  },
  previousProblem: {
    label: 'Previous problem',
    keys: 'Shift+F8',
    icon: 'arrow-up',
    isPossible: hasKeysOfProblems,
    run: about => fileOf(about)?.run(previousDiagnostic),
  },
  problems: {
    label: 'Problems…',
    keys: 'Ctrl+Alt+P',
    icon: 'alert',
    isPossible: hasServer,
    run: about => listProblems(about),
  },
  hover: {
    label: 'Show the type and documentation',
    keys: 'Ctrl+Alt+H',
    icon: 'question',
    isPossible: about => abilities(about)?.hovers === true,
    run: about => inEditor(about, showHover),
  },
  signature: {
    label: 'Show the signature',
    keys: 'Ctrl+Shift+Space',
    icon: 'question',
    isPossible: about => abilities(about)?.signs === true,
    run: about => inEditor(about, showSignatures),
  },
  renameSymbol: {
    label: 'Rename symbol…',
    keys: 'F2',
    icon: 'pencil',
    isPossible: about => can('renames')(about) && fileOf(about)?.nameAtCursor() !== undefined,
    run: about => renameSymbol(about),
  },
  quickFix: {
    label: 'Quick fix…',
    keys: 'Ctrl+.',
    icon: 'check',
    // In a text with a refused part, the keys insert what is allowed of it.
    isPossible: about => can('fixes')(about) && fileOf(about)?.hasRefusedText === false,
    run: about => offerFixes(about),
  },
  switch: {
    label: 'Switch language servers on or off',
    inPalette: about =>
      fileOf(about)?.language.value?.is === 'off' ? 'Turn on language servers' : 'Turn off language servers',
    keys: 'Ctrl+Alt+Shift+K',
    icon: 'settings',
    isPossible: about => fileOf(about)?.language.value !== undefined,
    run: about => switchServers(about.page, fileOf(about)?.language.peek()?.is === 'off'),
  },
  restart: {
    label: 'Restart the language server',
    keys: 'Ctrl+Alt+Shift+R',
    icon: 'refresh',
    isPossible: about => ['ready', 'ended'].includes(fileOf(about)?.language.value?.is ?? ''),
    run: about => restartServer(about),
  },
} satisfies Actions<ShownFile>

/** Switches language servers on or off for this repository. */
export function switchServers(page: Page, isOn: boolean): Promise<void> {
  return attempt(page, () => page.connection.ask('switch language servers', { isOn }), { topic: TOPIC })
}

export function restartServer({ page, tab, path }: ShownFile): Promise<void> | undefined {
  if (tab.at.kind !== 'branch') return undefined
  const { branch } = tab.at
  return attempt(page, () => page.connection.ask('restart language server', { branch, path }), { topic: TOPIC })
}

/** Asks whether the commands of FORGE.md that prepare the files may run, and runs them. */
export function approvePreparing(page: Page, branch: string, commands: string[]): void {
  page.dialog.value = {
    kind: 'confirm',
    title: 'Run the preparing commands of FORGE.md?',
    words: [
      'They run in the locked container, on a copy of the branch’s files, before language servers start.',
      'They have the network only if you have allowed it for checks (forge network).',
    ],
    list: commands,
    button: 'Approve and run',
    run: async () => {
      await page.connection.ask('approve preparing', { branch, commands })
    },
  }
}

function inEditor(
  about: ShownFile,
  show: (view: EditorView, questions: ReturnType<typeof questionsAbout>) => Promise<boolean>,
): void {
  const file = fileOf(about)
  if (!file) return
  file.run(async view => {
    const isShown = await show(view, questionsAbout(about.page, file))
    if (!isShown) about.page.tell({ topic: TOPIC, title: 'The language server knows nothing of this place' }, 'info')
  })
}

async function listProblems({ page, tab }: ShownFile): Promise<void> {
  const { at } = tab
  if (at.kind !== 'branch') return
  await attempt(
    page,
    async () => {
      const places = await page.connection.ask('all problems', { branch: at.branch })
      if (places.length === 0) {
        page.tell({ topic: TOPIC, title: 'No problems were found' })
        return
      }
      page.named.value = { tab, title: plural(places.length, 'problem'), places }
      page.palette.value = 'named'
    },
    { topic: TOPIC },
  )
}

/** The file, its branch and the position of the cursor; undefined where nothing can be asked. */
function atCursor(about: ShownFile) {
  const file = fileOf(about)
  const { at, path } = { at: about.tab.at, path: about.path }
  const state = file?.stateHere
  if (!file || !state || at.kind !== 'branch') return undefined
  const { doc, selection } = state
  const { from, to, head } = selection.main
  const range = { start: positionAt(doc, from), end: positionAt(doc, to) }
  return { file, ask: { branch: at.branch, path }, position: positionAt(doc, head), range }
}

async function renameSymbol(about: ShownFile): Promise<void> {
  const { page } = about
  const asked = atCursor(about)
  if (!asked) return
  const { file, ask, position } = asked
  await attempt(
    page,
    async () => {
      await file.sent()
      const found = await page.connection.ask('symbol to rename', { ...ask, position })
      if (!found) {
        page.tell({ topic: TOPIC, title: 'The name at the cursor can’t be renamed' }, 'info')
        return
      }
      page.dialog.value = {
        kind: 'ask',
        title: `Rename ${found.name}`,
        label: 'New name',
        value: found.name,
        selection: [0, found.name.length],
        button: 'Rename',
        hint: 'All files that use it become drafts, which Undo takes back at once.',
        run: async name => {
          const proposed = await page.connection.ask('rename symbol', { ...ask, position, name: name.trim() })
          take(about, file, proposed, `Renamed ${found.name} to ${name.trim()}`)
        },
      }
    },
    { topic: TOPIC },
  )
}

async function offerFixes(about: ShownFile): Promise<void> {
  const { page } = about
  const asked = atCursor(about)
  if (!asked) return
  const { file, ask, range } = asked
  await attempt(
    page,
    async () => {
      await file.sent()
      const { list, fixes } = await page.connection.ask('quick fixes', { ...ask, range })
      if (fixes.length === 0) {
        page.tell({ topic: TOPIC, title: 'There is no quick fix here' }, 'info')
        return
      }
      const items = fixes.map(({ fix, title }) => ({
        words: title,
        icon: 'check' as const,
        run: () =>
          attempt(
            page,
            async () => {
              const proposed = await page.connection.ask('make quick fix', { ...ask, list, fix })
              take(about, file, proposed, title)
            },
            { topic: TOPIC },
          ),
      }))
      file.run(view => {
        const place = view.coordsAtPos(view.state.selection.main.head) ?? { left: 0, bottom: 0 }
        page.openMenu({ title: 'Quick fixes', groups: [items] }, { x: place.left, y: place.bottom }, view.contentDOM)
      })
    },
    { topic: TOPIC },
  )
}

/** Formats the shown file by its language server. Throws where none can. */
export async function formatByServer(about: ShownFile): Promise<void> {
  const { page } = about
  const asked = atCursor(about)
  if (!asked) return
  const { file, ask } = asked
  // One that has ended since it was idle starts again.
  const state = await page.connection.ask('understand file', ask)
  if (state?.is === 'off') throw new Error(`${NO_FORMATTER}, or turn on language servers.`)
  if (state === undefined || state.is === 'missing') throw new Error(`${NO_FORMATTER}.`)
  await file.sent()
  const proposed = await page.connection.ask('format by server', { ...ask, ...file.indentation })
  const name = named(baseName(about.path))
  if (proposed.edits === 0) page.tell({ topic: 'format', title: `${name} is formatted already` }, 'info')
  else take(about, file, proposed)
}

/**
 * Takes over what a server proposed: edits of the shown file are made in the editor, others are there already. `done`:
 * what was done, in words.
 */
function take(
  { page }: ShownFile,
  file: OpenFile,
  { changes, version, files, edits, skipped }: Proposed,
  done = 'Changed',
): void {
  if (changes) {
    if (!file.makeChanges(version, changes)) throw new Error('The text has changed meanwhile: try again.')
    return
  }
  const [first] = skipped
  const left = first && `${readable(first.path)} was left as it is: ${first.why}`
  if (edits === 0) {
    page.tell({ topic: TOPIC, title: 'Nothing was changed', ...(left !== undefined && { words: left }) }, 'info')
    return
  }
  page.tell({
    topic: TOPIC,
    title: `${done} in ${plural(files, 'file')}`,
    ...(left !== undefined && { words: left }),
    ...undoOfLast(page),
  })
}
