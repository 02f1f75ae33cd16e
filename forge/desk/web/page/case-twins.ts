/**
 * Warnings about new names that differ from existing ones only in case: file systems of macOS and Windows can't hold
 * both. A name also meets another one where its begin up to a slash, a folder, differs only in case.
 */

import type { Refs } from '../../contract/graph.ts'
import { isIn } from '../../contract/paths.ts'
import type { FolderEntry } from '../../contract/reading.ts'
import { joinPath, named, readable } from '../ui/names.ts'
import { remoteBranches } from './remote-branches.ts'
import type { Page } from './state.ts'
import { FOLDER } from './tree.ts'

const folded = (name: string): string => readable(name).toLowerCase()

/**
 * The first name that meets a new one only in case, or the part of it up to a slash that does; undefined if there is
 * none, and for a name that lies in folders that exist as they are typed.
 */
export function caseTwin(name: string, others: readonly string[]): string | undefined {
  const parts = name.split('/')
  for (let count = 1; count <= parts.length; count++) {
    const begin = parts.slice(0, count).join('/')
    if (others.some(other => isIn(other, begin))) continue
    const twin = others.find(other => folded(beginOf(other, count)) === folded(begin))
    if (twin === undefined) return undefined
    const same = beginOf(twin, count)
    return same === twin ? twin : `${same}/`
  }
  return undefined
}

const beginOf = (name: string, count: number): string => name.split('/').slice(0, count).join('/')

const words = (twin: string | undefined): string | undefined =>
  twin === undefined
    ? undefined
    : `Differs from ${named(twin)} only in case: on macOS and Windows they can’t both exist.`

/** A warning about the name of a new branch, or of the branch `renamed`. Remote branches count, as far as known. */
export function branchWarning(page: Page, name: string, renamed?: string): string | undefined {
  const local = (page.desk.peek()?.branches ?? []).map(branch => branch.name)
  const own = caseTwin(
    name,
    local.filter(other => other !== renamed),
  )
  if (own !== undefined) return words(own)
  // A push of the branch brings its name to the remote.
  for (const [remote, branches] of Map.groupBy(remoteBranches(page), branch => branch.remote)) {
    const twin = caseTwin(
      name,
      branches.map(branch => branch.name),
    )
    if (twin !== undefined) return words(`${remote}/${twin}`)
  }
  return undefined
}

/**
 * Gives warnings about the name of a new tag, or about the new name of the tag `renamed`. The tags are asked for once,
 * at the first letter: those that the graph has loaded may be older.
 */
export function tagWarnings(page: Page, renamed?: string): (name: string) => Promise<string | undefined> {
  let asked: Promise<Refs> | undefined
  return async name => {
    asked ??= page.connection.ask('refs', {})
    const { tags } = await asked
    return words(
      caseTwin(
        name,
        tags.map(tag => tag.name).filter(other => other !== renamed),
      ),
    )
  }
}

/** Gives warnings about paths for files of a branch. `moved`: the files and folders that leave their old paths. */
export function fileWarnings(
  page: Page,
  branch: string,
  moved: readonly string[] = [],
): (paths: readonly string[]) => Promise<string | undefined> {
  const listings = new Map<string, Promise<FolderEntry[]>>()
  const listed = (folder: string): Promise<FolderEntry[]> => {
    const at = { kind: 'branch', branch } as const
    const listing = listings.get(folder) ?? page.connection.ask('folder', { at, path: folder })
    listings.set(folder, listing)
    return listing
  }
  const twinOf = async (path: string): Promise<string | undefined> => {
    let folder = ''
    for (const name of path.split('/')) {
      const all = await listed(folder)
      const stay = all.filter(entry => entry.draft !== 'deleted' && !moved.includes(joinPath(folder, entry.name)))
      const own = stay.find(entry => entry.name === name)
      if (!own) {
        const twin = stay.find(entry => folded(entry.name) === folded(name))
        return twin && `${joinPath(folder, twin.name)}${twin.mode === FOLDER ? '/' : ''}`
      }
      if (own.mode !== FOLDER) return undefined
      folder = joinPath(folder, name)
    }
    return undefined
  }
  return async paths => {
    for (const path of paths) {
      // A folder that can't be listed has no warning.
      const twin = await twinOf(path).catch(() => undefined)
      if (twin !== undefined) return words(twin)
    }
    return undefined
  }
}
