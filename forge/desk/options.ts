/** The command line of `forge`, parsed once and trusted afterwards. */
import { parseArgs } from 'node:util'
import { EXIT, Failure } from '../../core/failure.ts'
import { visible } from '../../core/text.ts'

export type DeskCommandOptions = {
  /** The folder whose repository is opened. */
  folder: string
  /** The port to listen on; undefined: the last one, or a free one. */
  port: number | undefined
  open: boolean
  help: boolean
  version: boolean
}

/** Parses the arguments. Throws for unknown ones. */
export function parseDeskOptions(argv: string[]): DeskCommandOptions {
  const options = {
    port: { type: 'string' },
    'no-open': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
    version: { type: 'boolean' },
  } as const
  try {
    const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true })
    const [folder = '.', more] = positionals
    if (more !== undefined) throw new Error(`one folder at a time, not ${more} too`)
    if (folder === '') throw new Error('the name of the folder is empty')
    return {
      folder,
      port: values.port === undefined ? undefined : parsePort(values.port),
      open: !values['no-open'],
      help: values.help ?? false,
      version: values.version ?? false,
    }
  } catch (error) {
    const reason = visible((error as Error).message.split(/\n|\. /)[0] ?? '')
    throw new Failure(`${reason}. See forge --help.`, EXIT.usage)
  }
}

function parsePort(word: string): number {
  const port = Number(word)
  if (!/^\d{1,5}$/.test(word) || port < 1 || port > 65_535)
    throw new Error(`--port needs a number from 1 to 65535, not ${word}`)
  return port
}
