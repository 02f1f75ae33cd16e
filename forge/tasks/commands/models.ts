/** `forge models`: the models of each tier, with what is known of them. */
import { EXIT, type ExitCode } from '../../../core/failure.ts'
import { visible } from '../../../core/text.ts'
import { type Ability, LIST_DATE, listedModel } from '../../ai/model-list.ts'
import { openModel } from '../../ai/providers.ts'
import { readSettings, type Settings, TIERS, type Tier } from '../../ai/settings.ts'
import { isAssumed, priceOf } from '../runs/prices.ts'
import { thinkingFor } from '../steps/request.ts'
import type { CommandContext } from './context.ts'
import { parse } from './options.ts'

const USAGE = 'forge models [--json]'

export const HELP = `${USAGE}

Shows the models of each tier: window, price, how much they think, what they can do. What is known of them is a copy of
models.dev's list of ${LIST_DATE}; FORGE_PRICES, FORGE_WINDOW and FORGE_THINKING_… in forge.env go before it. Nothing is sent.

  --json   as JSON, one object for each tier and model`

/** What is known of a model. Windows in tokens, prices in US dollars for a million tokens. */
type ModelRow = {
  tier: Tier
  model: string
  /** Why the model can't be asked, as a sentence; undefined where it can. */
  missing?: string
  window?: number
  price?: { input: number; output: number; isAssumed: boolean }
  thinking: string
  /** What the model can do; undefined where the list of models does not know it. */
  can?: Ability[]
}

export async function runCommand(argv: string[], { env, out }: CommandContext): Promise<ExitCode> {
  const { values } = parse(argv, { options: { json: { type: 'boolean' } }, usage: USAGE, words: [0, 0] })
  const settings = await readSettings(env)
  const named = TIERS.toReversed().flatMap(tier => settings.modelsOf(tier).map(model => ({ tier, model })))
  const rows = await Promise.all(named.map(({ tier, model }) => rowOf(settings, tier, model)))
  if (values.json) for (const row of rows) out(JSON.stringify(row))
  else if (rows.length === 0) out(settings.missing() ?? '')
  else for (const line of tableOf(rows)) out(line)
  return EXIT.done
}

async function rowOf(settings: Settings, tier: Tier, model: string): Promise<ModelRow> {
  const missing = settings.missing(model)
  const price = priceOf(model, settings)
  const can = listedModel(model)?.can
  const row = { tier, model, thinking: thinkingFor(settings, tier, model) ?? 'none', ...(can && { can }) }
  if (missing !== undefined) return { ...row, missing }
  const { window } = await openModel(model, settings)
  const { input, output } = price ?? {}
  if (input === undefined || output === undefined) return { ...row, window }
  return { ...row, window, price: { input, output, isAssumed: isAssumed(model, settings) } }
}

function tableOf(rows: readonly ModelRow[]): string[] {
  const cells = [
    ['tier', 'model', 'window', 'price', 'thinking', 'can'],
    ...rows.map(({ tier, model, window, price, thinking, can }) => [
      tier,
      visible(model),
      window?.toLocaleString('en') ?? '-',
      price ? `$${price.input}/${price.output}${price.isAssumed ? ' at most' : ''}` : 'not known',
      thinking,
      can?.join(', ') ?? 'not listed',
    ]),
  ]
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map(line => (line[at] ?? '').length)))
  const table = cells.map(line =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const missing = [...new Set(rows.flatMap(row => row.missing ?? []))]
  return [...table, `Known by models.dev's list of ${LIST_DATE}. Prices: US dollars for a million tokens.`, ...missing]
}
