/** The kind of host that Forklift opens pull requests on. */
import { GITHUB } from './github.ts'
import type { HostKind } from './host.ts'

export const HOST: HostKind = GITHUB
