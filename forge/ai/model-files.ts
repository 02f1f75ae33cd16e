/** Resolves the file names of a model, and says which files it may read and write. */
import { Failure } from '../../core/failure.ts'
import { asBytes, type Path } from '../../core/git/repository.ts'
import { sizeInWords, visiblePath } from '../../core/text.ts'
import { type Vfs, verifyPath } from '../vfs.ts'
import { isUtf8 } from './lines.ts'

/** Larger files, in bytes, are neither read nor written by a model. */
export const MAX_MODEL_FILE_BYTES = 10 << 20

/**
 * The path that a model's text means: a leading `./` is dropped, and \xe9 stands for a byte that is no UTF-8, as in
 * what the model reads. Throws a {@link Failure} where it is no path.
 */
export async function pathFrom(vfs: Vfs, text: string): Promise<Path> {
  if (!text.isWellFormed()) throw new Failure('There is half a character (a lone surrogate) in the path.')
  const path = asBytes(text.replace(/^(\.\/)+/, ''))
  const spelled = path.replace(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  if (spelled !== path && (await vfs.entryAt(spelled)) && !(await vfs.entryAt(path))) return spelled
  verifyPath(path)
  return path
}

/** Whether a path is `.forge` or below it, in any spelling that a file system treats as the same. */
export function isOfTheForge(path: Path): boolean {
  const [top = ''] = path.split('/')
  // As with .git: macOS ignores some characters; Windows ignores trailing dots and blanks, and all after a colon.
  const onMac = top.replace(/\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf/g, '')
  const names = [onMac, ...top.split('\\')].map(name => name.replace(/:.*$/s, '').replace(/[. ]+$/, ''))
  return names.some(name => /^(\.forge|forge~\d+)$/i.test(name))
}

/** Throws a {@link Failure} where a model may not change this path. */
export function verifyMayChange(path: Path): void {
  if (!isOfTheForge(path)) return
  throw new Failure(`${visiblePath(path)} is the forge's own: the conversation and approvals there can't be changed.`)
}

/** What is at a path. `other`: something that can't be read as text; its `words` say what. */
export type ModelFile =
  | { kind: 'none' }
  | { kind: 'folder'; files: Path[] }
  | { kind: 'text'; bytes: Buffer; isUtf8: boolean }
  | { kind: 'other'; what: 'link' | 'submodule' | 'bytes'; words: string }

/** Reads what is at a path. */
export async function modelFileAt(vfs: Vfs, path: Path): Promise<ModelFile> {
  const name = visiblePath(path)
  const entry = await vfs.entryAt(path)
  if (!entry) {
    const files = (await vfs.listFiles(path)).map(file => file.path)
    return files.length > 0 ? { kind: 'folder', files } : { kind: 'none' }
  }
  if (entry.mode === '160000') {
    const words = `${name} is a submodule, at its commit ${entry.oid.slice(0, 12)}: its files are in another repository.`
    return { kind: 'other', what: 'submodule', words }
  }
  const info = await vfs.objects.info(entry.oid)
  if (info && info.size > MAX_MODEL_FILE_BYTES) return tooLarge(name, info.size)
  const bytes = await vfs.readFile(path)
  if (entry.mode === '120000') {
    const words = `${name} is a symbolic link to ${visiblePath(bytes.toString('latin1'))}: work on that file instead.`
    return { kind: 'other', what: 'link', words }
  }
  if (bytes.length > MAX_MODEL_FILE_BYTES) return tooLarge(name, bytes.length)
  const words = whyNoText(bytes)
  if (words) return { kind: 'other', what: 'bytes', words: `${name} is ${words}.` }
  return { kind: 'text', bytes, isUtf8: isUtf8(bytes) }
}

const tooLarge = (name: string, size: number): ModelFile => ({
  kind: 'other',
  what: 'bytes',
  words: `${name} has ${sizeInWords(size)}: files of more than ${sizeInWords(MAX_MODEL_FILE_BYTES)} are neither read nor changed.`,
})

function whyNoText(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 43)
  if (bytes.length < 1024 && start.startsWith('version https://git-lfs.github.com/spec/v1\n'))
    return 'a pointer of Git LFS: the file itself is kept elsewhere'
  if (/^(\xff\xfe|\xfe\xff)/.test(start)) return 'text in UTF-16, which is not changed here'
  return bytes.includes(0) ? 'a binary file' : undefined
}
