/**
 * Measures merges in parts (`forge resolve`) on merges that the maintainers of public forks have made: `bun
 * bench/resolve.ts LIST [--wrong] [--json]`. LIST has a line for each: the git folder of a clone, and the merge commit.
 *
 * A scripted model answers each part with what the project itself has committed for its files; the result is compared
 * with the project's merge. With `--wrong`, every third file is wrong in one of three ways, and it is counted what
 * notices that. The parts are done without Temporal and containers, so that only this program's own work is measured.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { commit } from '../core/git/commits.ts'
import { changesIn, diffTrees } from '../core/git/diffs.ts'
import { mergeTrees } from '../core/git/merges.ts'
import { type Objects, openObjects } from '../core/git/objects.ts'
import { asBytes, asText, openRepository, type Path } from '../core/git/repository.ts'
import { openScratch } from '../core/git/scratch.ts'
import { entryAt, type TreeChange, writeTree } from '../core/git/trees.ts'
import { review } from '../core/review.ts'
import { CodeReader } from '../forge/code/reader.ts'
import type { Oid } from '../forge/tasks/contract.ts'
import { conflictsOf } from '../forge/tasks/plan/conflicts.ts'
import { lintPlan } from '../forge/tasks/plan/lint.ts'
import { planOfMerge } from '../forge/tasks/plan/merge.ts'
import { partsOf } from '../forge/tasks/plan/parts.ts'
import { type MergePart, mergedBy, mergeMessage } from '../forge/tasks/runs/merging.ts'
import { pathsIn } from '../forge/tasks/runs/resolved.ts'
import { RunStore } from '../forge/tasks/runs/store.ts'
import type { FileEdit, Resolution } from '../forge/tasks/steps/answers.ts'
import { applyAll } from '../forge/tasks/steps/apply.ts'
import { buildRequest } from '../forge/tasks/steps/request.ts'
import { applyResolutions, conflictsLeft } from '../forge/tasks/steps/resolutions.ts'
import { git } from '../test/support/git.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { wrong: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
})
const [list] = positionals
if (list === undefined) throw new Error('usage: bun bench/resolve.ts LIST [--wrong] [--json]')

const WINDOW = 200_000
const WHO = { name: 'Bench', email: 'bench@localhost.invalid', date: { seconds: 1_700_000_000, zone: '+0000' } }
const LIMITS = { cost: 1e6, requests: 1e6, tokens: 1e12, tasks: 1000, depth: 3, minutes: 1e6 }

type Answer = { edits: FileEdit[]; conflicts: Resolution[]; asks: string[] }
/** How a file is wrong: with its markers, empty, or with the side that is not the project's. */
type Fault = 'markers' | 'emptied' | 'one side'
const FAULTS: readonly Fault[] = ['markers', 'emptied', 'one side']

/** The project's own files of a part, as a model's answer; what no choice gives is asked of a person. */
async function ownAnswer(objects: Objects, merge: Oid, part: MergePart): Promise<Answer> {
  const answer: Answer = { edits: [], conflicts: [], asks: [] }
  const edit = async (path: string) => {
    const entry = await entryAt(objects, merge, asBytes(path))
    if (!entry) answer.edits.push({ kind: 'delete', path })
    const bytes = entry && (await objects.read(entry.oid))?.bytes
    if (!entry || !bytes) return
    const content = bytes.toString()
    if (Buffer.from(content).equals(bytes)) answer.edits.push({ kind: 'write', path, content })
    else answer.asks.push(path)
  }
  for (const path of part.texts) await edit(path)
  for (const { id, choices, paths } of part.choices) {
    const own = await Promise.all(paths.map(path => entryAt(objects, merge, asBytes(path))))
    const isOwn = (choice: (typeof choices)[number]) =>
      choice.files.every(({ entry }, at) => entry?.oid === own[at]?.oid && entry?.mode === own[at]?.mode)
    const exact = choices.find(isOwn)
    const near = choices.find(({ files }) => files.every(({ entry }, at) => !entry === !own[at]))
    const taken = exact ?? near
    if (taken) answer.conflicts.push({ id, take: taken.take })
    if (taken && !exact) for (const [at, path] of paths.entries()) if (own[at]) await edit(path)
    if (!taken) answer.asks.push(...paths)
  }
  return answer
}

async function measure(line: string) {
  const [from = '', merge = ''] = line.trim().split(/\s+/)
  const folder = await mkdtemp(join(tmpdir(), 'bench-resolve-'))
  try {
    await git(folder, 'init', '--quiet', '--bare', '.')
    await writeFile(join(folder, 'objects/info/alternates'), `${join(from, 'objects')}\n`)
    const [, ours = '', theirs = ''] = (await git(folder, 'rev-list', '--parents', '--max-count=1', merge)).split(' ')
    await git(folder, 'update-ref', 'refs/heads/main', ours)
    const repository = await openRepository(folder)
    await using objects = openObjects(repository)
    const began = performance.now()
    const merged = await mergeTrees(repository, ours, theirs, { objects, withBase: true })
    const mergedMs = performance.now() - began
    const conflicts = await conflictsOf(objects, merged)
    using code = new CodeReader(objects, folder)
    const parts = await partsOf(objects, { ours, theirs }, conflicts, code)
    const description = { into: 'main', name: 'upstream', parts, left: conflicts.left, checks: [] }
    const plan = planOfMerge('Merge upstream', description)
    const message = mergeMessage('Merge upstream', description)
    const base = await commit(objects, {
      tree: conflicts.tree,
      parents: [ours, theirs],
      message,
      author: WHO,
      committer: WHO,
    })
    const { complaints } = await lintPlan(plan, { objects, tree: base, limits: LIMITS })
    const planMs = performance.now() - began
    const about = await mergedBy(objects, base)
    if (!about) throw new Error('The base describes no merge')
    const store = new RunStore(objects, 'bench')
    const reference = await store.put('plan', JSON.stringify(plan))
    const changes = new Map<Path, TreeChange>()
    const faults = new Map<string, Fault>()
    const found = { refused: 0, unseen: 0, asked: conflicts.left.flatMap(({ paths }) => paths), tokens: [] as number[] }
    let files = 0
    for (const part of parts) {
      const step = { run: 'bench', task: part.task, attempt: 1, step: `${part.task}/1/1`, kind: 'resolve' as const }
      const input = { ...step, tier: 'generation' as const, choice: 0, base, depth: 0, about: [reference] }
      const model = { name: 'bench/model', window: WINDOW }
      const built = await buildRequest(input, { objects, store, model, secrets: [], merging: { merged: about, part } })
      found.tokens.push(built.tokens)
      const marked = await Promise.all(
        part.texts.map(async path => (await objects.read(`${base}:${asBytes(path)}`))?.bytes),
      )
      const ids = marked.flatMap(bytes =>
        [...(bytes?.toString('latin1') ?? '').matchAll(/^<{7} (M\d+) ours/gm)].map(([, id = '']) => id),
      )
      found.unseen += ids.filter(id => !built.bytes.includes(`<<<<<<< ${id} ours`)).length
      const answer = await ownAnswer(objects, merge, part)
      found.asked.push(...answer.asks)
      if (answer.asks.length > 0) continue
      if (values.wrong)
        for (const [at, edit] of answer.edits.entries()) {
          if (edit.kind !== 'write' || files++ % 3 !== 2) continue
          const fault = FAULTS[faults.size % FAULTS.length] ?? 'markers'
          faults.set(edit.path, fault)
          answer.edits[at] = await wrongly(objects, { base, ours, theirs, merge }, edit, fault)
        }
      const resolved = await applyResolutions(objects, base, part, answer.conflicts)
      if (!resolved.changes) throw new Error(`${part.task}: ${resolved.complaints.join(' ')}`)
      const between = await writeTree(objects, base, resolved.changes)
      const applied = await applyAll(objects, between, answer.edits, new AbortController().signal)
      if (!applied.files) throw new Error(`${part.task}: ${applied.words}`)
      const tree = await writeTree(objects, between, applied.files.changes)
      if ((await conflictsLeft(objects, tree, part)) !== undefined) {
        found.refused++
        // The model is asked again; here it is right then, in the files whose markers it has left.
        for (const [path, fault] of faults) if (fault === 'markers' && pathsIn(part).includes(path)) answer.edits = []
      }
      for (const path of pathsIn(part)) changes.set(asBytes(path), await entryAt(objects, tree, asBytes(path)))
    }
    const tree = await writeTree(objects, base, changes)
    const result = await commit(objects, {
      tree,
      parents: [ours, theirs],
      message: 'Merge\n',
      author: WHO,
      committer: WHO,
    })
    const doneMs = performance.now() - began
    await using scratch = await openScratch({
      parent: tmpdir(),
      borrowed: [repository.objects, join(from, 'objects')],
      format: repository.format,
    })
    const judged = await review(scratch, { origin: ours, start: ours, upstream: theirs, result })
    const judgedMs = performance.now() - began - doneMs
    const inParts = new Set(parts.flatMap(pathsIn))
    const differs = [...changesIn(await diffTrees(repository, tree, merge)).map(([path]) => asText(path))]
    const isAsked = new Set(found.asked)
    const inAsked = (path: string) =>
      isAsked.has(path) || parts.some(part => pathsIn(part).includes(path) && pathsIn(part).some(it => isAsked.has(it)))
    const said = [...judged.refusals, ...judged.partial].join(' ')
    const resolutionOf = new Map(judged.conflicts.map(({ path, resolution }) => [asText(path), resolution]))
    const noticed = (path: string, fault: Fault): boolean =>
      fault === 'markers' ||
      said.includes(path) ||
      judged.around.map(asText).includes(path) ||
      isWhole(resolutionOf.get(path))
    return {
      merge: `${from.split('/').at(-2)} ${merge.slice(0, 10)}`,
      files: inParts.size + conflicts.left.length,
      texts: conflicts.texts.length,
      hunks: conflicts.texts.reduce((sum, { count }) => sum + count, 0),
      choices: conflicts.choices.length,
      left: conflicts.left.length,
      asked: [...isAsked].length,
      parts: parts.length,
      complaints: complaints.length,
      unseen: found.unseen,
      tokens: Math.round(found.tokens.reduce((sum, it) => sum + it, 0) / Math.max(1, found.tokens.length)),
      most: Math.max(0, ...found.tokens),
      differInParts: differs.filter(path => inParts.has(path) && !inAsked(path)),
      differAsked: differs.filter(inAsked).length,
      differElsewhere: differs.filter(path => !inParts.has(path) && !inAsked(path)),
      refusals: judged.refusals.map(it => it.slice(0, 160)),
      wrong: Object.fromEntries(
        FAULTS.map(fault => {
          const some = [...faults].filter(([, it]) => it === fault)
          return [fault, `${some.filter(([path]) => noticed(path, fault)).length} of ${some.length}`]
        }),
      ),
      ms: {
        merge: Math.round(mergedMs),
        plan: Math.round(planMs),
        parts: Math.round(doneMs - planMs),
        judge: Math.round(judgedMs),
      },
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const isWhole = (resolution: string | undefined): boolean =>
  resolution === "upstream's version" || resolution === "the fork's version" || resolution === 'deleted'

async function wrongly(
  objects: Objects,
  { base, ours, theirs, merge }: { base: Oid; ours: Oid; theirs: Oid; merge: Oid },
  edit: Extract<FileEdit, { kind: 'write' }>,
  fault: Fault,
): Promise<FileEdit> {
  const read = async (tree: Oid) => (await objects.read(`${tree}:${asBytes(edit.path)}`))?.bytes?.toString()
  if (fault === 'emptied') return { ...edit, content: '' }
  if (fault === 'markers') return { ...edit, content: (await read(base)) ?? '' }
  const own = await read(merge)
  const sides = [await read(ours), await read(theirs)]
  return { ...edit, content: sides.find(it => it !== undefined && it !== own) ?? '' }
}

for (const line of (await readFile(list, 'utf8')).split('\n').filter(it => /^\S+\s+[0-9a-f]{7,64}/.test(it))) {
  const measured = await measure(line).catch(error => ({
    merge: line.slice(0, 120),
    error: String(error).slice(0, 300),
  }))
  console.log(values.json ? JSON.stringify(measured) : Bun.inspect(measured, { depth: 4, compact: true }))
}
