#!/usr/bin/env bun
/** Screenshots of the page at several widths, in light and dark: bun screenshots.ts FOLDER [NAME…] */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Text } from '@codemirror/state'
import type { Page } from 'playwright-core'
import { openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { FORK, ForkliftStandIn, RUNS, text } from '../merging-stand-in.ts'
import { bytes, type StandIn } from '../web-stand-in.ts'
import { ask, HALF_A_TURN, HOSTILE_ANSWER, QUESTION, RICH_ANSWER, TOOL_APPROVAL, withTurns } from './chat-scene.ts'
import { BRANCH, CLAIM, CLAIM_HALF, POSTGRES, STUCK, withMerging } from './merging-scene.ts'
import { openDesk, SCENE_FILES, startScene } from './scene.ts'
import { APPROVING, DONE, withTasks } from './tasks-scene.ts'

const [folder = '/tmp/desk-pictures', ...wanted] = Bun.argv.slice(2)
const WIDTHS = [800, 1280, 1920]

const LONG = `src/${'a-folder-with-a-long-name/'.repeat(3)}${'name-'.repeat(30)}.ts`
const TURNED = bytes('docs/evil\u202Etxt.exe')

interface Scene {
  prepare?: (standIn: StandIn) => void
  act: (page: Page, standIn: StandIn) => Promise<void>
}

async function openFile(page: Page, path: string): Promise<void> {
  const tree = page.getByRole('tree', { name: 'Explorer' })
  const parts = path.split('/')
  for (const [index, part] of parts.entries()) {
    const item = tree.getByRole('treeitem', { name: part, exact: true, level: index + 1 }).first()
    const isOpen = (await item.getAttribute('aria-expanded')) === 'true'
    if (!isOpen) await item.click()
  }
  await Bun.sleep(200)
}

const EDITED = SCENE_FILES['src/queue/lease.ts']
  .replace('const RENEW_AT = 0.6', 'const RENEW_AT = 0.75')
  .replace('\n/** Renewals in a row that may fail before the lease is given up. */\nconst MAX_MISSES = 3;\n', '')
  .replace(
    '    let misses = 0;\n',
    '    let misses = 0;\n    const started = this.#clock.now();\n    let last = started;\n',
  )

function withDrafts(standIn: StandIn): void {
  const branch = standIn.branches.get('retry-jitter')
  for (const path of ['src/queue/backoff.ts', 'README.md', 'src/queue/types.ts']) {
    standIn.commit(
      'retry-jitter',
      `edit: ${path.slice(path.lastIndexOf('/') + 1)}`,
      path.endsWith('types.ts') ? 'opus-5.5' : undefined,
    )
  }
  if (branch) branch.files = new Map(branch.files).set('src/queue/lease.ts', { mode: '100644', text: EDITED })
  standIn.commit(
    'retry-jitter',
    'Bound renewals and give up a lost lease\n\nA lease that is lost is not renewed for ever.',
    'opus-5.5',
  )
  standIn.layout = {
    tabs: [
      { at: { kind: 'branch', branch: 'lease-renewal' }, files: [], folders: [] },
      {
        at: { kind: 'branch', branch: 'retry-jitter' },
        files: ['src/queue/lease.ts', 'src/queue/backoff.ts', 'src/queue/claim.ts'].map(path => ({
          path,
          top: 0,
          cursor: 0,
        })),
        active: 'src/queue/lease.ts',
        folders: ['src', 'src/queue', 'src/store'],
      },
      { at: { kind: 'branch', branch: 'http-metrics' }, files: [], folders: [] },
    ],
    active: 1,
  }
}

function withRuns(standIn: StandIn): void {
  new ForkliftStandIn(standIn).info = { ...FORK, runs: RUNS }
}

async function type(page: Page): Promise<void> {
  await page.getByText('while (!signal').click()
  await page.keyboard.press('End')
  await page.keyboard.type('\nconst now = this.#clock.now();')
  await Bun.sleep(500)
}

const SCENES: Record<string, Scene> = {
  branch: { prepare: withDrafts, act: type },
  chat: { act: async () => {} },
  conversation: { prepare: standIn => void withTurns(standIn), act: async () => {} },
  'turn-running': {
    prepare: standIn => {
      withTurns(standIn).script = HALF_A_TURN
    },
    act: async page => {
      await ask(page, QUESTION)
      await Bun.sleep(1_500)
    },
  },
  'turn-docked': {
    prepare: standIn => {
      withTurns(standIn).script = HALF_A_TURN
    },
    act: async page => {
      await ask(page, QUESTION)
      await openFile(page, 'src/queue/lease.ts')
      await page.keyboard.press('Alt+Shift+J')
      await Bun.sleep(500)
    },
  },
  'turn-stopped': {
    prepare: standIn => {
      withTurns(standIn).script = HALF_A_TURN
    },
    act: async page => {
      await ask(page, QUESTION)
      await page.getByRole('button', { name: 'Stop', exact: true }).click()
      await page.getByRole('button', { name: 'Keep' }).waitFor()
    },
  },
  'turn-again': {
    prepare: standIn => {
      withTurns(standIn).script = async turn => {
        turn.text('I am reading the worker', 'reasoning')
        turn.again('The provider is overloaded', 12)
        await turn.stopped
      }
    },
    act: async page => {
      await ask(page, QUESTION)
      await Bun.sleep(1_200)
    },
  },
  'turn-approval': {
    prepare: standIn => {
      withTurns(standIn).script = async turn => {
        const call = turn.call({ name: 'store_stats', title: 'postgres', state: 'waits' })
        await turn.waits({ ...TOOL_APPROVAL, call: call.id }, 'store_stats is to be looked at')
      }
    },
    act: async page => {
      await ask(page, 'How many queries are there?')
      await page.getByRole('button', { name: 'Review the tool' }).waitFor()
    },
  },
  approval: {
    prepare: standIn => {
      withTurns(standIn).script = async turn => {
        const call = turn.call({ name: 'store_stats', title: 'postgres', state: 'waits' })
        await turn.waits({ ...TOOL_APPROVAL, call: call.id }, 'store_stats is to be looked at')
      }
    },
    act: async page => {
      await ask(page, 'How many queries are there?')
      await page.getByRole('button', { name: 'Review the tool' }).click()
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      await Bun.sleep(400)
    },
  },
  'answer-rich': {
    prepare: standIn => {
      withTurns(standIn).script = async turn => {
        turn.text(RICH_ANSWER)
        turn.end({ how: 'done' })
      }
    },
    act: async page => {
      await ask(page, 'Say all of it')
      await Bun.sleep(800)
    },
  },
  'answer-hostile': {
    prepare: standIn => {
      withTurns(standIn).script = async turn => {
        turn.text(HOSTILE_ANSWER)
        turn.end({
          how: 'failed',
          words: 'The key has no credit left at OpenRouter: top it up there, or choose another model.',
        })
      }
    },
    act: async page => {
      await ask(page, 'Be nasty')
      await Bun.sleep(800)
    },
  },
  'past-conversation': {
    prepare: standIn => {
      const ai = withTurns(standIn)
      const [tip] = standIn.branches.get('lease-renewal')?.commits ?? []
      if (tip) ai.past.set(tip.oid, ai.of('lease-renewal').items)
    },
    act: async page => {
      await page.keyboard.press('Alt+h')
      await page.getByRole('option').first().dblclick()
      await Bun.sleep(500)
    },
  },
  repository: {
    prepare: withDrafts,
    act: async page => {
      await page.getByRole('tab', { name: 'Repository' }).click()
    },
  },
  review: {
    prepare: withDrafts,
    act: async page => {
      await type(page)
      await page.keyboard.press('Alt+r')
      await Bun.sleep(600)
    },
  },
  'side-by-side': {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await page.keyboard.press('Alt+s')
      await Bun.sleep(600)
    },
  },
  palette: {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await Bun.sleep(400)
      await page.keyboard.press('Control+k')
      await page.keyboard.type('re')
      await Bun.sleep(400)
    },
  },
  history: {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+h')
      await Bun.sleep(400)
    },
  },
  'time-travel': {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+h')
      await page.getByRole('option').nth(1).dblclick()
      await Bun.sleep(300)
      await openFile(page, 'src/queue/lease.ts')
    },
  },
  find: {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Control+Shift+f')
      await page.keyboard.type('lease')
      await Bun.sleep(600)
    },
  },
  gone: {
    prepare: withDrafts,
    act: async (page, standIn) => {
      await type(page)
      standIn.branches.delete('retry-jitter')
      standIn.sayDesk()
      await Bun.sleep(300)
    },
  },
  search: {
    prepare: withDrafts,
    act: async page => {
      await page.getByText('while (!signal').click()
      await page.keyboard.press('Control+f')
      await page.keyboard.type('lease')
      await Bun.sleep(300)
    },
  },
  dialog: {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+n')
      await Bun.sleep(200)
    },
  },
  operations: {
    prepare: standIn => {
      withDrafts(standIn)
      standIn.canUndo = 'save lease.ts to retry-jitter'
      for (const [index, words] of [
        'save lease.ts to retry-jitter',
        'rename branch jitter to retry-jitter',
        'delete branch old',
      ].entries()) {
        const refs = [{ ref: 'refs/heads/retry-jitter', before: 'a'.repeat(40), after: 'b'.repeat(40) }]
        standIn.operations.push({
          id: `${index}`.repeat(40),
          kind: 'save',
          words,
          time: Date.now() / 1000 - 4000 * (index + 1),
          refs,
        })
      }
    },
    act: async page => {
      await page.keyboard.press('Alt+o')
      await Bun.sleep(300)
    },
  },
  menu: {
    prepare: withDrafts,
    act: async page => {
      await page.getByRole('treeitem', { name: 'claim.ts' }).click({ button: 'right' })
      await Bun.sleep(200)
    },
  },
  symbols: {
    prepare: withDrafts,
    act: async page => {
      await page.getByText('while (!signal').click()
      await page.keyboard.press('Alt+l')
      await Bun.sleep(300)
    },
  },
  merging: {
    prepare: standIn => {
      const merging = withMerging(standIn)
      merging.forklift = { run: 'tern_20261122_101500', stuck: STUCK }
      merging.add({ path: 'src/queue/types.ts', kind: 'text', all: 1, state: 'odd', words: 'it takes neither side' })
      const draft = { text: Text.of(CLAIM_HALF.split('\n')), version: 0 }
      standIn.branches.get(BRANCH)?.drafts.set(CLAIM, draft)
    },
    act: async page => {
      await page.keyboard.press('Alt+Shift+J')
      await page.getByRole('button', { name: /postgres\.ts/ }).click()
      await page.getByRole('button', { name: /claim\.ts/ }).click()
      await page.getByRole('button', { name: 'Next conflict' }).click()
      await Bun.sleep(800)
    },
  },
  'merging-whole': {
    prepare: standIn => {
      const merging = withMerging(standIn)
      const sides = {
        base: text('a\nb\n'),
        ours: { is: 'nothing' } as const,
        theirs: { is: 'other', words: 'an image of 12 KB', mode: '100755', oid: 'a'.repeat(40) } as const,
      }
      merging.add({ path: 'logo.png', kind: 'modify/delete', words: 'deleted in main, changed in upstream', sides })
    },
    act: async page => {
      await page.getByRole('button', { name: /logo\.png/ }).click()
      await Bun.sleep(400)
    },
  },
  'merging-done': {
    prepare: standIn => {
      const merging = withMerging(standIn)
      merging.odd = ['More than half of the files that git merged went back to one side.']
      for (const path of [CLAIM, POSTGRES])
        standIn.branches.get(BRANCH)?.files.set(path, { mode: '100644', text: 'x\n' })
      merging.add({ path: 'src/queue/types.ts', kind: 'text', all: 1, state: 'odd', words: 'it takes neither side' })
    },
    act: async page => {
      await page.getByRole('button', { name: /claim\.ts/ }).click()
      await Bun.sleep(400)
    },
  },
  forklift: {
    prepare: withRuns,
    act: async (page, standIn) => {
      await page.getByRole('tab', { name: 'Repository' }).click()
      await page.getByRole('button', { name: 'Run Forklift' }).click()
      standIn.say({ say: 'forklift', line: 'Fetching upstream/main' })
      standIn.say({ say: 'forklift', line: 'The agent merges: claude-sonnet-5, at most 8:00' })
      await Bun.sleep(500)
    },
  },
  'by-commit': {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+r')
      await page.getByRole('tab', { name: 'By commit' }).click()
      await Bun.sleep(600)
    },
  },
  tasks: {
    prepare: standIn => void withTasks(standIn),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByRole('form', { name: 'Answer' }).waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(300)
    },
  },
  'tasks-run': {
    prepare: standIn => void withTasks(standIn),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByRole('button', { name: 'Back to the run' }).click()
      await page.locator('.report').waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-plan': {
    prepare: standIn => void withTasks(standIn, [APPROVING, DONE]),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.plan-task').first().waitFor()
      await page.locator('.journal li').first().waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-plan-end': {
    prepare: standIn => void withTasks(standIn, [APPROVING, DONE]),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.plan-commands').first().waitFor()
      await page.locator('.plan-text').evaluate(it => it.scrollTo(0, it.scrollHeight))
      await Bun.sleep(300)
    },
  },
  'tasks-land': {
    prepare: standIn => void withTasks(standIn, [DONE]),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.locator('.node').first().waitFor()
      await page.keyboard.press('Alt+Shift+f')
      await page.getByRole('dialog').getByText('A1 Each route').waitFor()
      await Bun.sleep(200)
    },
  },
  'tasks-none': {
    prepare: standIn => void withTasks(standIn, []),
    act: async page => {
      await page.keyboard.press('Alt+t')
      await page.getByText('No runs yet').waitFor()
    },
  },
  waiting: {
    prepare: withDrafts,
    act: async (page, standIn) => {
      standIn.delay = 10_000
      await page.getByRole('treeitem', { name: 'README.md' }).click()
      await Bun.sleep(900)
    },
  },
  keys: {
    prepare: withDrafts,
    act: async page => {
      await page.keyboard.press('Alt+k')
      await Bun.sleep(200)
    },
  },
  empty: {
    prepare: standIn => {
      standIn.branches.clear()
      standIn.isEmpty = true
      standIn.name = 'sandpiper'
    },
    act: async () => {},
  },
  long: {
    prepare: standIn => {
      const files = { [LONG]: 'x\n', [TURNED]: 'a\rb\u202Ec\n', 'src/\xe9t\xe9.ts': '1\n' }
      standIn.addBranch(`feature/${'a-very-long-branch-name-'.repeat(8)}`, { ...SCENE_FILES, ...files })
      standIn.layout = {
        tabs: [...standIn.branches.keys(), ...standIn.branches.keys()].map(branch => ({
          at: { kind: 'branch' as const, branch },
          files: [LONG, TURNED].map(path => ({ path, top: 0, cursor: 0 })),
          active: TURNED,
          folders: ['src', 'docs'],
        })),
        active: 4,
      }
    },
    act: async () => {
      await Bun.sleep(300)
    },
  },
  refused: {
    prepare: standIn => {
      withDrafts(standIn)
      standIn.refused.set(
        'save',
        'The commit could not be signed: gpg has no key for mira@example.com. The draft is kept. Set user.signingKey, or switch commit.gpgSign off.',
      )
    },
    act: async page => {
      await type(page)
      await page.keyboard.press('Control+s')
      await Bun.sleep(300)
    },
  },
  away: {
    prepare: withDrafts,
    act: async (page, standIn) => {
      await standIn.stop()
      await type(page)
    },
  },
}

const built = await builtPage()
await mkdir(folder, { recursive: true })
for (const colorScheme of ['light', 'dark'] as const) {
  await using browser = await openBrowser({ colorScheme })
  for (const [name, { prepare, act }] of Object.entries(SCENES)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    const standIn = await startScene(built)
    prepare?.(standIn)
    const page = await openDesk(browser.context, standIn)
    await act(page, standIn)
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: width === 1920 ? 1080 : 800 })
      await Bun.sleep(120)
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) })
    }
    if (page.troubles.length > 0) console.log(name, page.troubles)
    await page.close()
    await standIn.stop()
  }
}
process.exit(0)
