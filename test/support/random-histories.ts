/**
 * Random pairs of histories: two branches from a common commit, with edits, renames, folders that become files, links,
 * modes and merges of their own. The same seed makes the same pair on every machine.
 */
import type { Random } from './random.ts'
import { randomFrom } from './random.ts'

type File = { mode: '100644' | '100755' | '120000'; content: string }
type Files = Map<string, File>
type Made = { mark: number; files: Files }

const NAMES = ['a.txt', 'b.txt', 'c', 'docs/one.md', 'docs/two.md', 'lib/x/deep.ts', 'lib/y.ts', 'tool.sh']
const FOLDERS = ['docs', 'lib', 'lib/x', 'new', 'c', 'a.txt']
const LINES = 14

/** A stream for `git fast-import` with the branches `SEED/ours` and `SEED/theirs` of each pair. */
export function randomPairs(seeds: readonly number[]): string {
  const out: string[] = []
  let marks = 0
  let clock = Date.UTC(2026, 8, 1) / 1000
  const write = (branch: string, files: Files, message: string, parents: readonly Made[]): Made => {
    marks++
    clock += 60
    const [first, ...others] = parents
    const who = `Nadia Ödegaard <nadia@project.example> ${clock} +0530`
    out.push(
      ...(first ? [] : [`reset ${branch}\n`]),
      `commit ${branch}\nmark :${marks}\nauthor ${who}\ncommitter ${who}\n${data(message)}`,
      ...(first ? [`from :${first.mark}\n`] : []),
      ...others.map(({ mark }) => `merge :${mark}\n`),
      'deleteall\n',
      ...[...files].map(([path, { mode, content }]) => `M ${mode} inline ${path}\n${data(content)}`),
    )
    return { mark: marks, files }
  }
  for (const seed of seeds) {
    const random = randomFrom(seed)
    const ref = (side: string) => `refs/heads/${seed}/${side}`
    const base = write(ref('base'), beginning(random), `Begin ${seed}\n`, [])
    const ours = goOn(random, base, 'ours', (files, message, parents) => write(ref('ours'), files, message, parents))
    const shared = random.chance(0.2) ? ours.at(-1) : undefined
    const theirs = (files: Files, message: string, parents: readonly Made[]) =>
      write(ref('theirs'), files, message, parents)
    const steps = goOn(random, base, 'theirs', theirs)
    // Sometimes a change is on both sides, as two commits, or one side has merged part of the other.
    const last = steps.at(-1) ?? base
    if (shared && random.chance(0.5)) theirs(mutated(random, last.files), 'Bring the others in\n', [last, shared])
    else if (shared) theirs(sameChange(base.files, shared.files, last.files), 'The same again\n', [last])
  }
  return out.join('')
}

/**
 * A stream for `git fast-import` with one history on `main`, of `count` commits after the first. It has only regular
 * text files, which are all that a model can write in a run.
 */
export function randomHistory(seed: number, count: number): string {
  const random = randomFrom(seed)
  const out: string[] = []
  let files = asTexts(beginning(random))
  for (let number = 0; number <= count; number++) {
    if (number > 0) files = asTexts(mutated(random, files))
    const who = `Nadia Ödegaard <nadia@project.example> ${Date.UTC(2026, 8, 1) / 1000 + 60 * number} +0530`
    out.push(
      `commit refs/heads/main\nmark :${number + 1}\nauthor ${who}\ncommitter ${who}\n${data(`Change ${number}\n`)}`,
      ...(number === 0 ? [] : [`from :${number}\n`]),
      'deleteall\n',
      ...[...files].map(([path, { mode, content }]) => `M ${mode} inline ${path}\n${data(content)}`),
    )
  }
  return out.join('')
}

const asTexts = (files: Files): Files =>
  new Map(
    [...files].map(([path, { mode, content }]) => [
      path,
      { mode: mode === '120000' ? '100644' : mode, content: content.replaceAll('\0', ' is no text in ') },
    ]),
  )

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`

function beginning(random: Random): Files {
  const files: Files = new Map()
  for (const name of NAMES) if (random.chance(0.8)) files.set(name, { mode: '100644', content: textOf(random, name) })
  files.set('always.txt', { mode: '100644', content: textOf(random, 'always') })
  return files
}

const textOf = (random: Random, name: string): string =>
  random.chance(0.08)
    ? `binary\0${name}${random.below(5)}`
    : Array.from({ length: LINES }, (_, at) => `${name} line ${at}\n`).join('')

type Write = (files: Files, message: string, parents: readonly Made[]) => Made

function goOn(random: Random, base: Made, side: string, write: Write): Made[] {
  const made: Made[] = []
  let tip = base
  const count = 1 + random.below(4)
  for (let number = 1; number <= count; number++) {
    const isEmpty = random.chance(0.04)
    const message = random.chance(0.1)
      ? `  Change ${side} ${number}  \n\n\n# odd\n\n`
      : `Change ${side} ${number}\n\nÄnderung.\n`
    if (random.chance(0.1)) {
      const beside = write(mutated(random, tip.files), `Beside ${number}\n`, [tip])
      const on = write(mutated(random, tip.files), `On ${number}\n`, [tip])
      tip = write(mutated(random, on.files), `Merge beside ${number}\n`, [on, beside])
    } else tip = write(isEmpty ? tip.files : mutated(random, tip.files), message, [tip])
    made.push(tip)
  }
  return made
}

/** Applies the changes of one side since the base to the other, where the other is unchanged. */
function sameChange(base: Files, changed: Files, onto: Files): Files {
  const files = new Map(onto)
  for (const [path, file] of changed)
    if (base.get(path) !== file && onto.get(path) === base.get(path)) put(files, path, file)
  return files
}

function put(files: Files, path: string, file: File): void {
  // Git can't have a file and a folder of the same name.
  for (const other of [...files.keys()])
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) files.delete(other)
  files.set(path, file)
}

function mutated(random: Random, before: Files): Files {
  const files = new Map(before)
  const times = 1 + random.below(3)
  for (let time = 0; time < times; time++) mutate(random, files)
  return files
}

function mutate(random: Random, files: Files): void {
  const paths = [...files.keys()].sort()
  const path = random.pick(paths)
  const file = files.get(path)
  if (!file) return
  const kind = random.below(20)
  if (kind < 9) files.set(path, { ...file, content: editedText(random, file.content) })
  else if (kind < 11) put(files, random.chance(0.5) ? random.pick(NAMES) : `new/${random.below(4)}.txt`, plain(random))
  else if (kind < 13 && path !== 'always.txt') files.delete(path)
  else if (kind < 15) moveFile(random, files, path, file)
  else if (kind < 16) moveFolder(random, files)
  else if (kind < 17) files.set(path, { ...file, mode: file.mode === '100755' ? '100644' : '100755' })
  else if (kind < 18) put(files, path, { mode: '120000', content: `target${random.below(3)}` })
  else if (kind < 19) put(files, random.pick(FOLDERS), plain(random))
  else put(files, `${path}/inside.txt`, plain(random))
}

function moveFile(random: Random, files: Files, path: string, file: File): void {
  files.delete(path)
  const to = random.chance(0.5) ? `moved/${random.below(3)}.txt` : `${random.pick(FOLDERS)}/${path.split('/').at(-1)}`
  put(files, to, random.chance(0.5) ? file : { ...file, content: editedText(random, file.content) })
}

const plain = (random: Random): File => ({
  mode: random.chance(0.2) ? '100755' : '100644',
  content: textOf(random, `new ${random.below(4)}`),
})

function editedText(random: Random, text: string): string {
  if (!text.includes('\n')) return `${text}${random.below(5)}`
  const lines = text.split('\n')
  const at = random.below(lines.length)
  lines.splice(at, random.below(3), ...(random.chance(0.8) ? [`edited ${random.below(3)}`] : []))
  return lines.join('\n')
}

function moveFolder(random: Random, files: Files): void {
  const folder = random.pick(['docs', 'lib', 'lib/x'])
  const to = random.pick(['papers', 'source', 'docs'])
  for (const [path, file] of [...files]) {
    if (!path.startsWith(`${folder}/`) || to === folder) continue
    files.delete(path)
    put(files, `${to}/${path.slice(folder.length + 1)}`, file)
  }
}
