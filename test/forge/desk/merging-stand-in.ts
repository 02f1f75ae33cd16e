/** A stand-in for a waiting merge, and for Forklift, in tests of the page alone. */

import type { Asked } from '../../../forge/desk/contract/contract.ts'
import type { Forklift, ForkliftRun } from '../../../forge/desk/contract/forklift.ts'
import type { ConflictFile, Merging, MergingFile } from '../../../forge/desk/contract/merging.ts'
import { parseConflicts } from '../../../forge/desk/web/editor/conflict-regions.ts'
import { oidOf, type Part, Refusal, type StandIn } from './web-stand-in.ts'

const NOTHING = { is: 'nothing' } as const
export const text = (words: string, mode = '100644') => ({ is: 'text', text: words, mode }) as const

/** A conflict with markers as git writes them. */
export function marked(ours: string, base: string, theirs: string, mark = 7): string {
  const line = (sign: string, words = '') => `${sign.repeat(mark)}${words}\n`
  return line('<', ' main') + ours + line('|', ' base') + base + line('=') + theirs + line('>', ' upstream/main')
}

type File = Pick<MergingFile, 'path' | 'kind'> & Partial<MergingFile> & { sides?: Partial<ConflictFile> }

export class MergingStandIn implements Part {
  readonly files = new Map<string, File>()
  odd: string[] = []
  forklift: Merging['forklift']
  at: Merging['at']
  kind: Merging['kind'] = 'merge'
  /** Files resolved as a whole. */
  readonly taken = new Map<string, string>()
  finished: string | undefined

  constructor(
    readonly standIn: StandIn,
    readonly branch: string,
  ) {
    standIn.parts.push(this)
    const info = standIn.branches.get(branch)
    if (info) info.merging = 'merge'
  }

  add(file: File): this {
    this.files.set(file.path, file)
    return this
  }

  answer(question: Asked): { value: unknown } | undefined {
    switch (question.ask) {
      case 'merging':
        return { value: question.branch === this.branch && this.finished === undefined ? this.#merging() : null }
      case 'conflict':
        return { value: this.#conflict(question.path) }
      case 'take side':
        this.taken.set(question.path, question.side)
        this.standIn.say({ say: 'branch', branch: this.branch })
        return { value: undefined }
      case 'ask for conflicts':
        return { value: { turn: 't1' } }
      case 'finish merging':
        return { value: this.#end(question.message ?? this.#merging().message) }
      case 'abort merging':
        return { value: this.#end('aborted') }
      default:
        return undefined
    }
  }

  #end(message: string): { words: string } {
    this.finished = message
    const info = this.standIn.branches.get(this.branch)
    if (info) delete info.merging
    this.standIn.sayDesk()
    this.standIn.say({ say: 'branch', branch: this.branch })
    return { words: `Merged upstream/main into ${this.branch}.` }
  }

  #merging(): Merging {
    const files = [...this.files.values()].map(file => this.#file(file))
    const open = files.filter(({ state }) => state === 'open')
    const left = open.reduce((sum, file) => sum + file.left, 0)
    return {
      kind: this.kind,
      ours: 'main',
      theirs: 'upstream/main',
      oursCommit: oidOf('ours'),
      theirsCommit: oidOf('theirs'),
      files,
      byGit: 48,
      message: `Merge branch 'upstream/main' into ${this.branch}\n`,
      odd: open.length === 0 ? this.odd : [],
      ...(left > 0 ? { notYet: `${left} conflicts are left in ${open.map(({ path }) => path).join(' and ')}.` } : {}),
      ...(this.forklift ? { forklift: this.forklift } : {}),
      ...(this.at ? { at: this.at } : {}),
    }
  }

  #file({ sides, ...file }: File): MergingFile {
    const mark = sides?.mark
    const now = this.standIn.textOf(this.branch, file.path) ?? ''
    const saved = this.standIn.branches.get(this.branch)?.files.get(file.path)?.text ?? ''
    const isWhole = mark === undefined && sides !== undefined
    const found = mark === undefined ? undefined : parseConflicts(now, mark)
    const left = found ? found.regions.length : isWhole && !this.taken.has(file.path) ? 1 : 0
    const all = mark === undefined ? 1 : parseConflicts(saved, mark).regions.length
    return { all, left, state: left > 0 ? 'open' : 'settled', ...file }
  }

  #conflict(path: string): ConflictFile {
    const file = this.files.get(path)
    if (!file) throw new Refusal(`${path} is in no conflict.`)
    const words = file.words ?? 'both changed the same lines'
    return { path, kind: file.kind, words, base: NOTHING, ours: text(''), theirs: text(''), ...file.sides }
  }
}

export const FORK: Forklift = {
  upstream: { name: 'quayside/tern', branch: 'main', ahead: 37 },
  runs: [],
  isRunning: false,
}

/** A fork with its runs, and a Forklift with scripted output. */
export class ForkliftStandIn implements Part {
  info: Forklift = FORK
  /** The branch as which a run is opened. */
  opens = 'forklift-20261122_101500'

  constructor(readonly standIn: StandIn) {
    standIn.parts.push(this)
  }

  answer(question: Asked): { value: unknown } | undefined {
    switch (question.ask) {
      case 'forklift':
        return { value: this.info }
      case 'run forklift':
        this.begin(undefined)
        return { value: undefined }
      case 'publish':
        this.begin(question.branch)
        return { value: undefined }
      case 'stop forklift':
        this.end(130)
        return { value: undefined }
      case 'open run':
        return { value: { branch: this.opens } }
      default:
        return undefined
    }
  }

  begin(branch: string | undefined): void {
    const said = branch === undefined ? { lines: [] } : { branch, lines: [] }
    this.info = { ...this.info, isRunning: true, said }
    this.standIn.say({ say: 'forklift' })
  }

  line(line: string): void {
    this.info = { ...this.info, said: { ...this.info.said, lines: [...(this.info.said?.lines ?? []), line] } }
    this.standIn.say({ say: 'forklift', line })
  }

  end(code: number): void {
    this.info = { ...this.info, isRunning: false, said: { lines: [], ...this.info.said, end: code } }
    this.standIn.say({ say: 'forklift', end: code })
  }
}

const HOUR = 3_600
const now = Math.floor(Date.now() / 1_000)

const run = (
  name: string,
  hours: number,
  more: Omit<ForkliftRun, 'run' | 'started' | 'isByHand' | 'canOpen'> & Partial<ForkliftRun>,
): ForkliftRun => ({
  run: `tern_${name}`,
  started: now - hours * HOUR,
  canOpen: false,
  isByHand: false,
  ...more,
})

export const RUNS: ForkliftRun[] = [
  run('20261122_101500', 2, { end: 'stuck', words: 'Stuck, 2 conflicts', canOpen: true }),
  run('20261118_020000', 98, {
    end: 'merged',
    words: 'Merged 34 commits',
    pullRequest: 'https://github.com/quayside/tern/pull/41',
  }),
  run('20261117_020000', 122, { end: 'timed out', words: 'Out of time, 3 conflicts', canOpen: true }),
  run('20261116_020000', 146, { end: 'refused', words: 'Refused: more than half went back', canOpen: true }),
  run('20261115_020000', 170, { end: 'failed', words: 'The agent or its harness failed' }),
]
