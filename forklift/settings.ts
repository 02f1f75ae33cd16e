/** What a run is told: the command line, opencode.env and one variable. Parsed here once, trusted afterwards. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { EXIT, Failure } from '../core/failure.ts'
import { xdgFolder } from '../core/folders.ts'
import { visible } from '../core/text.ts'

type Environment = Record<string, string | undefined>

const ALLOWED = 'letters, digits, ".", "_", "-" and "/"'
const Word = v.pipe(
  v.string('is missing'),
  v.nonEmpty('is empty'),
  v.regex(/^[A-Za-z0-9._/-]*$/, `may only have ${ALLOWED}`),
  v.check(word => !word.startsWith('-'), 'may not begin with "-"'),
)
const Endpoint = v.pipe(
  v.string(),
  v.regex(
    /^https?:\/\/[A-Za-z0-9._~:/[\]-]+$/,
    'must be a plain http or https address, without user, query or fragment',
  ),
  v.url('is not a valid address'),
)

const flag = v.optional(v.boolean(), false)
/** What git may take for a branch or a commit, and never for an option. */
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
const words = { OPENCODE_API_KEY: Word, OPENCODE_MODEL: Word, OPENCODE_VARIANT: Word, OPENCODE_AGENT: Word }
const OpenCodeSchema = v.strictObject({ ...words, OPENCODE_BASE_URL: v.optional(Endpoint) })
export type Options = v.InferOutput<typeof OptionsSchema>
/** The only variables that enter the container. */
export type OpenCode = v.InferOutput<typeof OpenCodeSchema>

/** What a run with an agent needs besides the fork: the model's settings, the image's id, and the agent's seconds. */
export type AgentSetup = { openCode: OpenCode; image: string; seconds: number }

/** The command line. Anything unknown or unsafe is wrong usage. */
export function parseOptions(argv: string[]): Options {
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

/** Where the settings of OpenCode are: FORKLIFT_OPENCODE_ENV, else opencode.env in the user's configuration folder. */
export const openCodeFile = (env: Environment): string =>
  env.FORKLIFT_OPENCODE_ENV || join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forklift', 'opencode.env')

/** Where runs are kept. */
export const stateFolder = (env: Environment): string => join(xdgFolder(env.XDG_STATE_HOME, '.local/state'), 'forklift')

/** Reads opencode.env; the command line's words go first. What is unwise about the file is worth a note. */
export async function readOpenCode(file: string, options: Options, note: (text: string) => void): Promise<OpenCode> {
  const shown = visible(file)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new Failure(`${shown} can't be read (${error.code}): check its owner and mode.`)
    throw new Failure(
      `${shown} is missing: create it with a line NAME=value for each of ${Object.keys(words).join(', ')}.`,
    )
  })
  const override = { OPENCODE_MODEL: options.model, OPENCODE_VARIANT: options.variant, OPENCODE_AGENT: options.agent }
  const chosen = Object.entries(override).filter(([, value]) => value !== undefined)
  const parsed = v.safeParse(OpenCodeSchema, { ...parseEnvFile(text, shown), ...Object.fromEntries(chosen) })
  if (!parsed.success) throw new Failure(`In ${shown}, ${parsed.issues.map(complaint).join('; ')}.`)
  if ((await stat(file)).mode & 0o077) note(`others can read ${shown}, and your key is in there: chmod 600 it.`)
  return parsed.output
}

/** Names the setting, never its value: it may be the key. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const name = visible(v.getDotPath(issue) ?? '')
  if (issue.type !== 'strict_object') return `${name} ${issue.message}`
  return issue.expected === 'never' ? `${name} is no setting that Forklift knows: remove it` : `${name} is missing`
}

/** `NAME=value` lines; comments, empty lines, a leading `export` and quotes around the value are fine. */
function parseEnvFile(text: string, file: string): Record<string, string> {
  const settings: Record<string, string> = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue
    const [, name, quoted, plain] = /^\s*(?:export\s+)?([A-Za-z_]\w*)=(?:(["'].*["'])|(.*?))\s*$/.exec(line) ?? []
    if (!name) throw new Failure(`Line ${index + 1} of ${file} is not NAME=value: correct or remove it.`)
    settings[name] = quoted ? quoted.replace(/^(["'])(.*)\1$/, '$2') : (plain ?? '')
  }
  return settings
}

/** Eight minutes, or FORKLIFT_TIMEOUT_SECONDS for a manual rerun. */
export async function timeLimit(env: Environment): Promise<number> {
  const value = env.FORKLIFT_TIMEOUT_SECONDS
  if (!value) return 8 * 60
  if (/^[1-9]\d{0,4}$/.test(value)) return Number(value)
  throw new Failure('FORKLIFT_TIMEOUT_SECONDS must be a whole number of seconds from 1 to 99999: correct or unset it.')
}
