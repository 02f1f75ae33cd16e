/** Files from this computer into the branch, and back. */

import { attempt } from '../page/actions.ts'
import { branchOf } from '../page/branch-facts.ts'
import { following } from '../page/dialog-content.ts'
import type { Page, Tab } from '../page/state.ts'
import { baseName, joinPath, named, readable, toName } from '../ui/names.ts'
import { plural } from '../ui/times.ts'

/** At most this many bytes are added at once: they travel in one message. */
const MAX_ADDED_BYTES = 10 << 20
/** At most this many files are added at once. */
const MAX_ADDED_FILES = 1_000

/** A file of this computer, and its path below the folder that it is added to. */
export interface LocalFile {
  path: string
  file: File
}

/** Collects the files of a drop, including those in dropped folders. */
export async function droppedFiles(items: DataTransferItemList): Promise<LocalFile[]> {
  // `items` is empty after the event, so its entries are taken at once. An item that is not a file on disk, such as an
  // image of a page, has no entry.
  const entries = [...items].map(item => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }))
  const found: LocalFile[] = []
  for (const { entry, file } of entries) {
    if (entry) await collect(entry, '', found)
    else if (file) found.push({ path: file.name, file })
  }
  return found
}

async function collect(entry: FileSystemEntry, folder: string, found: LocalFile[]): Promise<void> {
  if (found.length > MAX_ADDED_FILES) return
  const path = joinPath(folder, entry.name)
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    found.push({ path, file })
    return
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  // Each call gives the next few entries; after the last ones, an empty list.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return
    for (const below of some) await collect(below, path, found)
  }
}

/** Asks for files of this computer, and adds them to a folder ('' for the top). */
export function chooseFiles(page: Page, tab: Tab, folder: string): void {
  const input = document.createElement('input')
  input.type = 'file'
  input.multiple = true
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])].map(file => ({ path: file.name, file }))
    void addFiles(page, tab, folder, Promise.resolve(files))
  })
  input.click()
}

/** Adds files to a folder, as drafts. Asks before files of the branch are replaced. */
export async function addFiles(page: Page, tab: Tab, folder: string, coming: Promise<LocalFile[]>): Promise<void> {
  const branch = branchOf(tab)
  if (branch === undefined) return
  await attempt(
    page,
    async () => {
      const files = await readAll(folder, await coming)
      if (files.length === 0) return
      const { existing } = await page.connection.ask('add files', { branch, files, isReplacing: false })
      if (existing.length === 0) added(page, tab, files)
      else askToReplace(page, tab, branch, files, existing)
    },
    { branch, topic: 'add files' },
  )
}

type Read = { path: string; base64: string }

async function readAll(folder: string, files: LocalFile[]): Promise<Read[]> {
  const size = files.reduce((sum, { file }) => sum + file.size, 0)
  if (files.length > MAX_ADDED_FILES)
    throw new Error(
      `At most ${MAX_ADDED_FILES.toLocaleString('en')} files are added at once: add a part of them, or all by git.`,
    )
  if (size > MAX_ADDED_BYTES)
    throw new Error(
      `These files have ${Math.ceil(size / (1 << 20))} MB: at most 10 MB are added at once. Add larger ones by git.`,
    )
  return await Promise.all(
    files.map(async ({ path, file }) => ({ path: joinPath(folder, toName(path)), base64: await base64Of(file) })),
  )
}

function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''))
    reader.onerror = () => reject(new Error(`${file.name} can't be read: ${reader.error?.message ?? ''}`))
    reader.readAsDataURL(file)
  })
}

function added(page: Page, tab: Tab, files: Read[]): void {
  const [first] = files
  if (!first) return
  tab.tree.reveal(first.path)
  page.spoken.value = `Added ${plural(files.length, 'file')}`
}

function askToReplace(page: Page, tab: Tab, branch: string, files: Read[], existing: string[]): void {
  const [first = ''] = existing
  const others = files.length - existing.length
  page.dialog.value = following(branch, it => ({
    kind: 'confirm',
    title: existing.length === 1 ? `Replace ${named(baseName(first))}?` : `Replace ${plural(existing.length, 'file')}?`,
    words: [
      existing.length === 1
        ? `It is in ${named(it)} already. What replaces it is a draft until you save. Undo restores it.`
        : `They are in ${named(it)} already. What replaces them is a draft until you save. Undo restores them.`,
      ...(others > 0
        ? [`${plural(others, 'other file')} will be added with ${existing.length === 1 ? 'it' : 'them'}.`]
        : []),
    ],
    list: existing,
    button: 'Replace',
    isDangerous: true,
    run: async () => {
      await page.connection.ask('add files', { branch: it, files, isReplacing: true })
      added(page, tab, files)
    },
  }))
}

/** Downloads a file of the branch, with the edits of its draft. */
export function download(page: Page, tab: Tab, path: string): Promise<void> {
  return attempt(page, async () => {
    const { base64 } = await page.connection.ask('file bytes', { at: tab.at, path })
    const bytes = Uint8Array.from(atob(base64), character => character.charCodeAt(0))
    const link = document.createElement('a')
    // With this type, browsers store the content rather than show it.
    link.href = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }))
    link.download = readable(baseName(path))
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  })
}
