/** Changes the line ends of a file: a draft with the same text, by one operation. */
import { Failure } from '../../../core/failure.ts'
import { oidOf } from '../../../core/git/objects.ts'
import type { Path } from '../../../core/git/repository.ts'
import { visiblePath } from '../../../core/text.ts'
import type { LineEnd } from '../contract/editable-text.ts'
import { MAX_EDITABLE_BYTES } from '../contract/limits.ts'
import { encode } from '../reading/text.ts'
import type { BranchWork } from './branch-work.ts'
import { editableText, withFiles } from './change-texts.ts'
import { existing } from './draft-files.ts'
import { verifyNoClash } from './drafts.ts'
import { change } from './file-operations.ts'

/** The kind of operation that changes the line ends of a file. */
export const LINE_ENDS = 'line ends'

/**
 * Gives all lines of a file these line ends. The file becomes a draft, unless it then is as it was saved, and the
 * operation can be undone.
 * @returns Whether that changed the file.
 * @throws A {@link Failure} if the file can't be edited.
 */
export async function changeLineEnds(
  work: BranchWork,
  path: Path,
  lineEnd: Exclude<LineEnd, 'mixed'>,
): Promise<boolean> {
  const { objects } = work.room
  const name = visiblePath(path)
  let isChanged = false
  const words = `change the line endings of ${name} to ${lineEnd} in ${visiblePath(work.name)}`
  await change(work, { kind: LINE_ENDS, words }, async drafts => {
    verifyNoClash(drafts, [path])
    const entry = await existing(objects, drafts, path, work.name)
    const decoded = await editableText(work, path, entry)
    if ('why' in decoded) throw new Failure(decoded.why)
    // A text of mixed line ends has each \r as a character: also a single one is a line end, as in other editors.
    const bytes = encode(decoded.text.replace(/\r\n?/g, '\n'), { lineEnd, bom: decoded.bom })
    if (bytes.length > MAX_EDITABLE_BYTES)
      throw new Failure(`${name} would have more than 2 MB with these line endings: it was left as it is.`)
    const oid = oidOf(objects.repository.format, { type: 'blob', bytes })
    isChanged = oid !== entry.oid
    return isChanged ? await withFiles(work, [{ path, file: { mode: entry.mode, oid, bytes } }]) : drafts
  })
  return isChanged
}
