/** Asks the language server of a file, and gives its answers to the editor. */
import { effect, untracked } from '@preact/signals'
import { h, render } from 'preact'
import { useEffect } from 'preact/hooks'
import type { LanguageState } from '../../contract/language.ts'
import { Markdown } from '../chat/markdown.tsx'
import { type LanguageQuestions, positionAt } from '../editor/language-tools.ts'
import type { OpenFile } from '../editor/open-file.ts'
import { type Page, PageProvider, type Tab } from '../page/state.ts'

/** A file of a branch. */
interface FileOfBranch {
  branch: string
  path: string
}

function fileOfBranch({ at, path }: OpenFile): FileOfBranch | undefined {
  return at.kind === 'branch' ? { branch: at.branch, path } : undefined
}

/**
 * The questions about a file. What was typed reaches the desk before each. One that can't be answered is answered by
 * nothing: while something is typed, no error may come in between.
 */
export function questionsAbout(page: Page, file: OpenFile): LanguageQuestions {
  const { connection } = page
  const quietly = async <Answer>(ask: (about: FileOfBranch) => Promise<Answer>): Promise<Answer | undefined> => {
    const about = fileOfBranch(file)
    if (!about) return undefined
    try {
      await file.sent()
      return await ask(about)
    } catch {
      return undefined
    }
  }
  return {
    complete: (position, prefix, trigger) =>
      quietly(about =>
        connection.ask('complete', { ...about, position, prefix, ...(trigger !== undefined && { trigger }) }),
      ),
    details: (list, item) => quietly(about => connection.ask('completion details', { ...about, list, item })),
    hover: position => quietly(about => connection.ask('hover', { ...about, position })),
    signatures: async position => (await quietly(about => connection.ask('signatures', { ...about, position }))) ?? [],
    render: markdown => {
      const box = document.createElement('div')
      box.className = 'cm-known'
      render(h(PageProvider, { value: page }, h(Markdown, { text: markdown })), box)
      return { dom: box, destroy: () => render(null, box) }
    },
  }
}

/** Connects a file with its language server while it is shown. */
export function useLanguage(page: Page, file: OpenFile): void {
  useEffect(() => {
    const about = fileOfBranch(file)
    if (!about) return undefined
    return effect(() => {
      // Asked again when the file was opened again after a break, and when servers were switched on or off.
      const isOpen = file.opens.value > 0 && file.file.value?.kind === 'text'
      page.languageSwitches.value
      if (isOpen) untracked(() => understand(page, file, about))
    })
  }, [page, file, file.at, file.path])
  useEffect(() => {
    let shown: LanguageState | undefined
    return effect(() => {
      // Problems of the time of a break were not told.
      file.opens.value
      const state = file.language.value
      untracked(() => show(page, file, state, state !== shown))
      shown = state
    })
  }, [page, file])
  useEffect(
    () =>
      effect(() => {
        // A server that has ended since it was idle starts again with the next edit.
        const about = fileOfBranch(file)
        const isEdited = file.edits.value > 0
        if (isEdited && about && file.language.peek()?.is === 'idle') untracked(() => understand(page, file, about))
      }),
    [page, file],
  )
}

/** Gives the editor the tools of a language server that can be asked, or takes them away. */
function show(page: Page, file: OpenFile, state: LanguageState | undefined, isNew: boolean): void {
  if (state?.is !== 'ready') {
    file.showServer(undefined)
    return
  }
  if (isNew || !file.hasServer) file.showServer({ can: state.can, questions: questionsAbout(page, file) })
  askForProblems(page, file)
}

async function understand(page: Page, file: OpenFile, about: FileOfBranch): Promise<void> {
  try {
    const state = await page.connection.ask('understand file', about)
    // The same state is kept, so that the editor's tools stay as they are.
    if (JSON.stringify(state) !== JSON.stringify(file.language.peek())) file.language.value = state
  } catch {
    // Without an answer the file is edited as without a server.
    file.language.value = undefined
  }
}

async function askForProblems(page: Page, file: OpenFile): Promise<void> {
  const about = fileOfBranch(file)
  if (!about) return
  const found = await page.connection.ask('problems', about).catch(() => undefined)
  if (found) file.takeProblems(found.version, found.problems)
}

/** The places of the name at the cursor by the file's language server; undefined where none can answer. */
export async function placesByServer(
  page: Page,
  tab: Tab,
  path: string,
  file: OpenFile,
  of: 'definitions' | 'references',
) {
  const language = file.language.peek()
  const { stateHere: state } = file
  if (tab.at.kind !== 'branch' || language?.is !== 'ready' || !state) return undefined
  if (!(of === 'definitions' ? language.can.defines : language.can.refers)) return undefined
  const position = positionAt(state.doc, state.selection.main.head)
  const ask = { branch: tab.at.branch, path, position, of }
  // A server that fails here is no reason to show nothing: the places by name are shown.
  return await page.connection.ask('symbol places', ask).catch(() => undefined)
}
