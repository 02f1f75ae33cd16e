/** A stand-in for gpg that waits for an answer, like one that asks for a passphrase or a touch of a key. */
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

/** Writes the stand-in for gpg into a folder, and configures the repository at `path` to sign commits with it. */
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

  /** How many signatures were asked for. */
  async questions(): Promise<number> {
    const file = Bun.file(join(this.folder, 'questions'))
    return (await file.exists()) ? (await file.text()).split('\n').length - 1 : 0
  }

  /** Waits until this many signatures were asked for. */
  async asked(times = 1): Promise<void> {
    await until(async () => (await this.questions()) >= times)
  }

  /** Lets the waiting signature be made, or refuses it. */
  async answer(answer: 'yes' | 'no'): Promise<void> {
    await Bun.$`echo ${answer} > ${join(this.folder, 'answers')}`
  }
}
