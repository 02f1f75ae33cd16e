/**
 * A merge of Forklift that is too large for its agent, from its stuck run to the pull request: the real forklift, the
 * real forge with its desk in the browser, a real Temporal server, a scripted model, and the double of GitHub.
 */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasBrowser, openBrowser } from '../../../support/browser.ts'
import { builtPage } from '../../../support/built-page.ts'
import { openForge } from '../../../support/forge.ts'
import { parentsOf, show } from '../../../support/git.ts'
import { until } from '../../../support/repository.ts'
import { type AnswerTo, done, says, write } from '../../../support/task-model.ts'
import { runIn, TaskScene } from '../../../support/tasks.ts'
import { hasNoTemporal } from '../../../support/temporal.ts'
import { expectExit, makeWorld, type World } from '../../../support/world.ts'

setDefaultTimeout(400_000)

/** Time limit for a step of the page on a busy machine, in milliseconds. */
const STEP_TIMEOUT_MS = 90_000
const NAMES = Array.from({ length: 10 }, (_, at) => `src/${at}.txt`)
const filesOf = (word: string) => Object.fromEntries(NAMES.map(name => [name, `first\n${word}\nlast\n`]))
const BY_AGENT = 'first\nby the agent\nlast'
const BY_MODEL = 'first\nby the model\nlast'
/** The agent resolves one of the eleven conflicts, and asks about another. */
const STUCK = `merge || true
printf 'first\\nby the agent\\nlast\\n' >src/0.txt
echo 'Which side of src/5.txt?' >STUCK.md
exit 4`

/** Resolves all files of a part; the first part asks until it is answered. */
const answerTo: AnswerTo = ({ kind, text, task, answered }) => {
  if (kind !== 'resolve') return undefined
  if (task === 'part-1' && !answered) return says('blocked_on_human', 'Unclear.', { question: 'Which side?' })
  const own = [...NAMES, 'greeting.txt'].filter(name => new RegExp(`^${name}$`, 'm').test(text))
  return done('Both.', ...own.map(name => write(name, `${BY_MODEL}\n`)))
}

type Asked = AsyncDisposable & {
  world: World
  forge: (...args: string[]) => ReturnType<TaskScene['forge']>
  env: Record<string, string | undefined>
  model: string
  /** The run of the tasks, which waits for a person, and the branch that it will land on. */
  run: string
  branch: string
}

/** Lets Forklift get stuck, and resolves its merge in two parts, of which the first asks a person. */
async function openAsked(): Promise<Asked> {
  await using opened = new AsyncDisposableStack()
  const scene = opened.use(await TaskScene.open())
  const world = opened.use(await makeWorld({ files: { fork: filesOf('ours'), upstream: filesOf('theirs') } }))
  // Both programs share one home.
  const state = join(world.home, '.local/state/forklift')
  await mkdir(state, { recursive: true })
  await symlink(state, join(scene.env.XDG_STATE_HOME ?? '', 'forklift'))
  await symlink(join(world.home, '.config/forklift'), join(scene.env.XDG_CONFIG_HOME ?? '', 'forklift'))
  const env = { ...scene.env, ...world.env, PATH: `${world.path('bin')}:${scene.env.PATH}` }
  const forge = (...args: string[]) => scene.forge(args, { cwd: world.checkout, env })
  scene.model.knows('Merge upstream', { tasks: [], answer: answerTo })
  await world.agent(STUCK)
  expectExit(await world.run(), 4)
  const { path } = await world.lastRun()
  const { code, err, out } = await forge('resolve', '--forklift', path, '--yes')
  expect({ code, out: code === 4 ? '' : out + err }).toEqual({ code: 4, out: '' })
  expect(err).toContain('10 files in conflict, in 2 parts.\n')
  const { FORGE_MODEL: model = '' } = scene.model.server.environment('openai')
  const kept = opened.move()
  const facts = { world, forge, env, model, run: runIn(err), branch: `forklift-${path.slice(-15)}` }
  return { ...facts, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

describe.skipIf(hasNoTemporal)('a merge of Forklift in parts, one of which asks', () => {
  test('is answered, landed and published, and the page says by which models, and what was asked', async () => {
    await using asked = await openAsked()
    const { world, forge, run, branch, model } = asked
    expect(await forge('answer', run, 'part-1', 'Take both.')).toMatchObject({ code: 0, err: '' })
    expect(await forge('attach', run)).toMatchObject({ code: 0 })
    const landed = await forge('land', run, '--yes')
    expect({ code: landed.code, err: landed.err }).toEqual({ code: 0, err: '' })
    expect(landed.out).toContain(`To open the pull request: forklift --publish ${branch}\n`)
    expectExit(await world.run(['--publish', branch]), 0)
    const { body, headSha, draft } = world.pull
    expect(body).toContain(`Merged in parts, on \`${branch}\`, and judged by Forklift.`)
    expect(body).toContain(`10 files in conflict were resolved in 2 parts, by \`${model}\` (2 parts).`)
    expect(body).toContain('1 conflict had been resolved by an agent with ')
    expect(body).toContain('A person was asked 1 question:')
    expect(body).toContain('- `Which side?` Answer: `Take both.`')
    expect(draft).toBe(false)
    const sides = [await world.tip('origin'), await world.tip('upstream')].map(tip => tip ?? '')
    expect(await parentsOf(world.origin, headSha)).toEqual(sides)
    expect(await show(world.origin, headSha, 'src/0.txt')).toBe(BY_AGENT)
    for (const name of NAMES.slice(1)) expect(await show(world.origin, headSha, name)).toBe(BY_MODEL)
  })

  test.skipIf(!hasBrowser)(
    'is finished by hand on the desk from the palette, by the keyboard alone, and Forklift judges and publishes it',
    async () => {
      const built = await builtPage()
      await using asked = await openAsked()
      const { world, env, branch, model } = asked
      await using forge = await openForge({ env, checkout: world.checkout }, built)
      await using browser = await openBrowser()
      const page = await browser.context.newPage()
      page.setDefaultTimeout(STEP_TIMEOUT_MS)
      const troubles: string[] = []
      page.on('pageerror', error => troubles.push(String(error)))
      await page.goto(forge.address)
      await page.getByRole('tab', { name: 'Tasks' }).click()
      // The task that asks is shown: what is done for the whole run is in the palette all the same.
      await page.getByRole('complementary', { name: 'The task part-1' }).getByText('Which side?').first().waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Command palette' }).fill('Finish by hand')
      await page.getByRole('option', { name: /^Finish by hand: Merge upstream/ }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('tab', { name: new RegExp(branch) }).waitFor()
      const files = page.getByRole('navigation', { name: 'Conflicted files' })
      const count = (region: string) => files.getByRole('region', { name: region }).getByRole('button').count()
      await until(async () => (await count('To do')) === 8, STEP_TIMEOUT_MS)
      const names = await files.getByRole('region', { name: 'To do' }).getByRole('button').allTextContents()
      const conflict = page.getByRole('region', { name: 'Conflict 1 of 1', exact: true })
      for (let left = 8; left > 0; left--) {
        await page.keyboard.press('F8')
        await conflict.and(page.locator(':focus')).waitFor()
        await page.keyboard.press('1')
        await until(async () => (await count('To do')) === left - 1, STEP_TIMEOUT_MS)
      }
      await page.getByLabel('Commit message').waitFor()
      expect(await page.getByRole('list', { name: 'To review' }).count()).toBe(0)
      await page.keyboard.press('Alt+Shift+f')
      const strip = page.getByRole('region', { name: 'Publish with Forklift' })
      await strip.getByRole('button', { name: 'Publish' }).click()
      await strip.getByRole('link', { name: /pull\/1$/ }).waitFor()
      const { body, headSha, draft } = world.pull
      expect(body).toContain(`Merged in parts, on \`${branch}\`, and judged by Forklift.`)
      expect(body).toContain(`2 files in conflict were resolved in 1 part, by \`${model}\` (1 part).`)
      expect(body).toContain('8 files in conflict were left for a person.')
      expect(draft).toBe(false)
      const sides = [await world.tip('origin'), await world.tip('upstream')].map(tip => tip ?? '')
      expect(await parentsOf(world.origin, headSha)).toEqual(sides)
      expect(await show(world.origin, headSha, 'src/0.txt')).toBe(BY_AGENT)
      const told = await Promise.all(NAMES.slice(1).map(name => show(world.origin, headSha, name)))
      // The first part had eight files, one of which may be that of the greeting.
      const byHand = told.filter(text => text === 'first\nours\nlast').length
      const isGreeting = names.some(name => name.includes('greeting'))
      expect(byHand).toBe(isGreeting ? 7 : 8)
      expect(told.filter(text => text === BY_MODEL)).toHaveLength(9 - byHand)
      expect(troubles).toEqual([])
    },
  )
})
