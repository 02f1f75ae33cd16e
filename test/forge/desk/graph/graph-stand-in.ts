/** A graph of commits in memory with real lanes, for tests of the page alone. */

import type { GraphRow, GraphWindow } from '../../../../forge/desk/contract/graph.ts'
import type { CommitRow } from '../../../../forge/desk/contract/reading.ts'
import { type Lanes, layLanes } from '../../../../forge/desk/graph/lanes.ts'

type Commit = Pick<CommitRow, 'oid' | 'parents'> & Partial<CommitRow>

export class GraphOf {
  readonly #places: Map<string, number>
  readonly #lanes: Lanes

  /** Newest first, none above its children. `main`: the tip of the branch that has the first lane. */
  constructor(
    readonly commits: readonly Commit[],
    main?: string,
  ) {
    this.#places = new Map(commits.map(({ oid }, row) => [oid, row]))
    const from = new Int32Array(commits.length + 1)
    const parents: number[] = []
    for (const [row, commit] of commits.entries()) {
      from[row] = parents.length
      parents.push(...commit.parents.flatMap(oid => this.#places.get(oid) ?? []))
    }
    from[commits.length] = parents.length
    const trunk = main === undefined ? undefined : this.#places.get(main)
    const trunks = trunk === undefined ? [] : [trunk]
    const hasMain = trunk !== undefined
    this.#lanes = layLanes({ count: commits.length, from, parents: Int32Array.from(parents), trunks, hasMain })
  }

  window(from: number, count: number): GraphWindow {
    const commits = this.commits.slice(from, from + count)
    const lines = this.#lanes.lines(from, from + commits.length)
    const rows = commits.map((commit, at): GraphRow => {
      const { oid, parents, subject = `Change ${from + at}`, author = MIRA, committed = from + at, model } = commit
      const own = (lines[at] ?? []).map(({ child, ...line }) => ({ ...line, isAbandoned: false }))
      const place = { lane: this.#lanes.laneOf(from + at), color: this.#lanes.colorOf(from + at), lines: own }
      return { oid, parents, subject, author, committed, ...(model !== undefined && { model }), ...place }
    })
    return { rows, total: this.commits.length, lanes: this.#lanes.width }
  }

  placeOf(oid: string): number | undefined {
    return this.#places.get(oid)
  }

  find(words: string): { row: number; oid: string }[] {
    const wanted = words.toLowerCase()
    return this.commits.flatMap(({ oid, subject = '', author = MIRA }, row) =>
      `${subject} ${author.name} ${oid}`.toLowerCase().includes(wanted) ? [{ row, oid }] : [],
    )
  }
}

const MIRA = { name: 'Mira Okafor', email: 'mira@example.com' }
