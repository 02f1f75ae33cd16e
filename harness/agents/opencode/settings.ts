/** OpenCode's settings: their file, and the variables that enter the container. ../README.md lists what is exported. */
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { visible } from '../../../core/text.ts'

type Environment = Record<string, string | undefined>

/** The agent's name in messages. */
export const AGENT = 'OpenCode'

/** The agent's settings. `environment`: the only variables that enter the container, including the model's key. */
export type AgentSettings = {
  model: string
  variant: string
  agent: string
  environment: Record<string, string | undefined>
}

const ALLOWED = 'letters, digits, ".", "_", "-" and "/"'
/** A value that consists of a few harmless characters, such as a model's name. */
export const Word = v.pipe(
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

const words = { OPENCODE_API_KEY: Word, OPENCODE_MODEL: Word, OPENCODE_VARIANT: Word, OPENCODE_AGENT: Word }
const SettingsSchema = v.strictObject({ ...words, OPENCODE_BASE_URL: v.optional(Endpoint) })

/** The name of the file with OpenCode's settings. */
export const SETTINGS_FILE = 'opencode.env'

/** The settings file: FORKLIFT_OPENCODE_ENV, else opencode.env in the user's configuration folder. */
export const agentSettingsFile = (env: Environment): string =>
  env.FORKLIFT_OPENCODE_ENV || join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forklift', SETTINGS_FILE)

/** Reads opencode.env; options of the command line override it. Notes if other users can read the file. */
export async function readAgentSettings(
  file: string,
  options: { model?: string | undefined; variant?: string | undefined; agent?: string | undefined },
  note: (text: string) => void,
): Promise<AgentSettings> {
  const shown = visible(file)
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw new Failure(`${shown} can't be read (${error.code}): check its owner and mode.`)
    throw new Failure(
      `${shown} is missing: create it with a line NAME=value for each of ${Object.keys(words).join(', ')}.`,
    )
  })
  const override = { OPENCODE_MODEL: options.model, OPENCODE_VARIANT: options.variant, OPENCODE_AGENT: options.agent }
  const chosen = Object.entries(override).filter(([, value]) => value !== undefined)
  const parsed = v.safeParse(SettingsSchema, { ...parseEnvFile(text, shown), ...Object.fromEntries(chosen) })
  if (!parsed.success) throw new Failure(`In ${shown}, ${parsed.issues.map(complaint).join('; ')}.`)
  if ((await stat(file)).mode & 0o077) note(`others can read ${shown}, and your key is in there: chmod 600 it.`)
  const { OPENCODE_MODEL: model, OPENCODE_VARIANT: variant, OPENCODE_AGENT: agent } = parsed.output
  return { model, variant, agent, environment: parsed.output }
}

/** Describes an invalid setting by its name, never by its value, which may be the key. */
function complaint(issue: v.BaseIssue<unknown>): string {
  const name = visible(v.getDotPath(issue) ?? '')
  if (issue.type !== 'strict_object') return `${name} ${issue.message}`
  return issue.expected === 'never' ? `${name} is no setting that Forklift knows: remove it` : `${name} is missing`
}

/** Parses `NAME=value` lines. Allows comments, empty lines, a leading `export`, and quotes around the value. */
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
