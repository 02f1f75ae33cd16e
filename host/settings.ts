/** What a run is told: the command line, opencode.env and one variable. Parsed here once, trusted afterwards. */
import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { parseArgs } from 'node:util'
import * as v from 'valibot'
import { EXIT, Failure } from './outcome.ts'
import { visible } from './terminal.ts'

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

const OptionsSchema = v.object({
  model: v.optional(Word),
  variant: v.optional(Word),
  agent: v.optional(Word),
  check: v.optional(v.boolean(), false),
  retry: v.optional(v.boolean(), false),
  help: v.optional(v.boolean(), false),
  version: v.optional(v.boolean(), false),
})
export type Options = v.InferOutput<typeof OptionsSchema>

const OpenCodeSchema = v.strictObject({
  OPENCODE_API_KEY: Word,
  OPENCODE_MODEL: Word,
  OPENCODE_VARIANT: Word,
  OPENCODE_AGENT: Word,
  OPENCODE_BASE_URL: v.optional(Endpoint),
})
/** The only variables that enter the container. */
export type OpenCode = v.InferOutput<typeof OpenCodeSchema>

/** The command line. Anything unknown or unsafe is wrong usage. */
export function parseOptions(argv: string[]): Options {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const options = { model: text, variant: text, agent: text, check: flag, retry: flag, help: flag, version: flag }
  try {
    const { values } = parseArgs({ args: argv, options, strict: true, allowPositionals: false })
    const parsed = v.safeParse(OptionsSchema, values)
    if (parsed.success) return parsed.output
    throw new Error(`--${v.getDotPath(parsed.issues[0])} ${parsed.issues[0].message}`)
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

/** The XDG base directory specification has relative paths ignored. */
const xdgFolder = (value: string | undefined, fallback: string): string =>
  value && isAbsolute(value) ? value : join(homedir(), fallback)

/** Reads opencode.env; the command line's words go first. `warning` says what is unwise about the file. */
export async function readOpenCode(file: string, options: Options): Promise<{ settings: OpenCode; warning?: string }> {
  const shown = visible(file)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new Failure(`${shown} can't be read (${error.code}): check its owner and mode.`)
    const keys = 'OPENCODE_API_KEY, OPENCODE_MODEL, OPENCODE_VARIANT and OPENCODE_AGENT'
    throw new Failure(`${shown} is missing: create it with a line NAME=value for each of ${keys}.`)
  })
  const given = {
    ...parseEnvFile(text, shown),
    ...(options.model && { OPENCODE_MODEL: options.model }),
    ...(options.variant && { OPENCODE_VARIANT: options.variant }),
    ...(options.agent && { OPENCODE_AGENT: options.agent }),
  }
  const parsed = v.safeParse(OpenCodeSchema, given)
  if (!parsed.success) throw new Failure(`In ${shown}, ${parsed.issues.map(complaint).join('; ')}.`)
  const { mode } = await stat(file)
  if ((mode & 0o077) === 0) return { settings: parsed.output }
  return { settings: parsed.output, warning: `others can read ${shown}: chmod 600 it, your key is in there.` }
}

/** Names the setting, never its value: it may be the key. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const name = visible(v.getDotPath(issue) ?? '')
  return issue.type === 'strict_object' && issue.expected === 'never'
    ? `${name} is not a setting of OpenCode that Forklift knows: remove it`
    : `${name} ${issue.type === 'strict_object' ? 'is missing' : issue.message}`
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
export function timeLimit(env: Environment): number {
  const value = env.FORKLIFT_TIMEOUT_SECONDS
  if (!value) return 8 * 60
  if (/^[1-9]\d{0,4}$/.test(value)) return Number(value)
  throw new Failure('FORKLIFT_TIMEOUT_SECONDS must be a whole number of seconds from 1 to 99999: correct or unset it.')
}
