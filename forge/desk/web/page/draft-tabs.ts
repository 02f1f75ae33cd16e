/** Shows the branch that has the drafts after they were moved there. */
import type { At } from '../../contract/values.ts'
import type { LeftPosition } from '../editor/open-file.ts'
import { draftsOf } from './branch-facts.ts'
import type { Page } from './state.ts'

/** A file with a draft, the cursor in it, and the branch's commit. */
type ShownDraft = { path: string; position: LeftPosition | undefined; tip: string | undefined }

/** The file that the tab of a branch shows, if it has a draft. */
export function shownDraft(page: Page, branch: string): ShownDraft | undefined {
  const at: At = { kind: 'branch', branch }
  const path = page.tabs.peek().find(tab => tab.at.kind === 'branch' && tab.at.branch === branch)?.path
  if (path === undefined || !draftsOf(page, branch).includes(path)) return undefined
  // The file in the other branch may lack what another program has changed in it.
  return { path, position: page.files.find(at, path)?.leftPosition, tip: page.branch(branch)?.tip }
}

/** Shows a branch, with a file that was shown in another one, which may have another name here. */
export async function showWithDraft(page: Page, branch: string, draft: ShownDraft | undefined): Promise<void> {
  const path = draft && (await pathIn(page, branch, draft))
  const tab = page.open({ kind: 'branch', branch })
  if (path === undefined) return
  const opened = page.files.find(tab.at, path)
  // In a file that was open, the cursor has lost its place with the draft, which was taken out and is back again.
  if (opened && draft?.position) opened.goToLeft(draft.position)
  else page.files.open(tab.at, path, draft?.position)
  tab.edit(path)
}

async function pathIn({ connection }: Page, branch: string, { path, tip }: ShownDraft): Promise<string> {
  if (tip === undefined) return path
  const now = await connection.ask('paths now', { branch, since: tip, paths: [path] }).catch(() => undefined)
  return now?.paths[0] ?? path
}
