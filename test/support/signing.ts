/** A stand-in for gpg that asks, as one with a passphrase or a key to be touched does, and waits for the answer. */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git } from './git.ts'
import { until } from './repository.ts'

const PROGRAM = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
cat >/dev/null
echo asked >>questions
read -r answer <answers
[ "$answer" = yes ] || exit 1
printf '\\n[GNUPG:] SIG_CREATED D\\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nAAAA\\n-----END PGP SIGNATURE-----\\n'
`

/** Has the commits of a repository signed by the stand-in, which stands in a folder. */
export async function signBySlowHand(folder: string, path: string): Promise<SlowHand> {
  const program = join(folder, 'slow-hand')
  await writeFile(program, PROGRAM)
  await chmod(program, 0o755)
  await Bun.$`mkfifo ${join(folder, 'answers')}`
  await git(path, 'config', 'gpg.program', program)
  await git(path, 'config', 'commit.gpgSign', 'true')
  return new SlowHand(folder)
}

export class SlowHand {
  constructor(readonly folder: string) {}

  /** How often it was asked for a signature. */
  async questions(): Promise<number> {
    const file = Bun.file(join(this.folder, 'questions'))
    return (await file.exists()) ? (await file.text()).split('\n').length - 1 : 0
  }

  /** Waits until it was asked so often. */
  async asked(times = 1): Promise<void> {
    await until(async () => (await this.questions()) >= times)
  }

  /** Signs what it was asked for, or does not. */
  async answer(answer: 'yes' | 'no'): Promise<void> {
    await Bun.$`echo ${answer} > ${join(this.folder, 'answers')}`
  }
}
