/** `forge trust`: which keys count besides this machine's own. */
import { join, resolve } from 'node:path'
import { EXIT, type ExitCode } from '../../../core/failure.ts'
import { xdgFolder } from '../../../core/folders.ts'
import { visible } from '../../../core/text.ts'
import { keyFrom, PURPOSES, type Purpose, SigningKeys, type TrustedKey } from '../../ai/signing-keys.ts'
import type { CommandContext } from './context.ts'
import { parse, wrong } from './options.ts'

const USAGE = 'forge trust [KEY | FILE] [--only results] [--remove KEY] [--json]'

export const HELP = `${USAGE}

Each machine signs what its user approves, and what its worker's checks have shown, with a key of its own. On this machine
count its own key, and those that you trust: without any, work of another machine is neither run nor landed here.

forge trust            prints this machine's key, which is given to forge trust on the others, and lists the trusted ones
forge trust KEY        trusts a key: the line that forge trust prints on another machine, or a file with that line

  --only results   what its worker found out counts, but nothing that it approves: for a machine that only works
  --remove KEY     trusts a key no longer: its name, its SHA256:… or the key itself
  --json           the list as JSON, one object for each key

The keys are those of ssh (ssh-keygen -Y), kept in ~/.config/forge: signing_key and allowed_signers.`

export async function runCommand(argv: string[], context: CommandContext): Promise<ExitCode> {
  const options = { only: { type: 'string' }, remove: { type: 'string' }, json: { type: 'boolean' } } as const
  // The words of a key may come as one argument or as three.
  const { values, positionals } = parse(argv, { options, usage: USAGE, words: [0, 3] })
  const { env, cwd, out } = context
  const keys = new SigningKeys(join(xdgFolder(env.XDG_CONFIG_HOME, '.config'), 'forge'))
  const given = positionals.join(' ')
  if (values.remove !== undefined) {
    if (given !== '' || values.only !== undefined) throw wrong('--remove stands alone', USAGE)
    const removed = await keys.distrust(values.remove)
    out(`Not trusted any more: ${inWords(removed)}`)
    return EXIT.done
  }
  if (values.only !== undefined && (values.only !== 'results' || given === ''))
    throw wrong('--only wants `results`, and a key', USAGE)
  if (given !== '') {
    const purposes: readonly Purpose[] = values.only === undefined ? PURPOSES : ['result']
    const trusted = await keys.trust(await keyFrom(given, resolve(cwd, given)), purposes)
    out(`Trusted: ${inWords(trusted)}`)
    return EXIT.done
  }
  const [own, trusted] = [await keys.ownLine(), await keys.trusted()]
  if (values.json) {
    for (const { name, words, purposes, line } of trusted) out(JSON.stringify({ name, words, purposes, key: line }))
    return EXIT.done
  }
  out('The key of this machine, for forge trust on others:')
  out(own)
  const copied = await keys.copied()
  if (copied !== undefined) out(copied)
  out('')
  if (trusted.length === 0) out('No other key is trusted.')
  else for (const one of trusted) out(inWords(one))
  return EXIT.done
}

const inWords = ({ name, words, purposes }: TrustedKey): string => {
  const what = purposes.length === PURPOSES.length ? 'approvals and results' : `only ${purposes.join()}s`
  return `${visible(words)} (${name}), for ${what}`
}
