/** A workflow that reads a file, which is not allowed. */
import { readFileSync } from 'node:fs'

export async function run(): Promise<string> {
  return readFileSync('/etc/hostname', 'utf8')
}
