/** Parses the command line and FORKLIFT_TIMEOUT_SECONDS. The agent's settings are parsed in the agent's folder. */
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { EXIT, Failure } from '../core/failure.ts'
import { visible } from '../core/text.ts'
import { type AgentSettings, Word } from '../harness/agents/chosen/settings.ts'

type Environment = Record<string, string | undefined>

const flag = v.optional(v.boolean(), false)
/** A revision for git that can't be taken for an option. */
const Revision = v.pipe(
  v.string(),
  v.nonEmpty('needs the name of a branch'),
  v.check(name => !name.startsWith('-'), 'needs the name of a branch'),
)
const OptionsSchema = v.object({
  model: v.optional(Word),
  variant: v.optional(Word),
  agent: v.optional(Word),
  check: flag,
  retry: flag,
  publish: v.optional(Revision),
  anyway: flag,
  help: flag,
  version: flag,
})
export type RunOptions = v.InferOutput<typeof OptionsSchema>
/**
 * What a run with an agent needs besides the fork: the agent's settings, the image's id, and the time limit in seconds.
 */
export type AgentSetup = { agent: AgentSettings; image: string; seconds: number }

/** Parses the command line. Throws for anything unknown or unsafe. */
export function parseOptions(argv: string[]): RunOptions {
  const [word, given] = [{ type: 'string' }, { type: 'boolean' }] as const
  const help = { type: 'boolean', short: 'h' } as const
  const agent = { model: word, variant: word, agent: word, retry: given }
  const options = { ...agent, check: given, publish: word, anyway: given, help, version: given }
  try {
    const { values } = parseArgs({ args: argv, options })
    const parsed = v.safeParse(OptionsSchema, values)
    if (!parsed.success) throw new Error(`--${v.getDotPath(parsed.issues[0])} ${parsed.issues[0].message}`)
    const pointless = Object.keys(agent).find(name => name in values)
    if (parsed.output.publish && pointless)
      throw new Error(`--publish asks no agent, so it does not go with --${pointless}`)
    if (parsed.output.anyway && !parsed.output.publish) throw new Error('--anyway goes with --publish BRANCH')
    return parsed.output
  } catch (error) {
    const reason = visible((error as Error).message.split(/\n|\. /)[0] ?? '')
    throw new Failure(`${reason}. See forklift --help.`, EXIT.usage)
  }
}

/** The time limit in seconds: eight minutes, or FORKLIFT_TIMEOUT_SECONDS for a manual run. */
export async function timeLimit(env: Environment): Promise<number> {
  const value = env.FORKLIFT_TIMEOUT_SECONDS
  if (!value) return 8 * 60
  if (/^[1-9]\d{0,4}$/.test(value)) return Number(value)
  throw new Failure('FORKLIFT_TIMEOUT_SECONDS must be a whole number of seconds from 1 to 99999: correct or unset it.')
}
