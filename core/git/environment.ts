/**
 * The environment variables that git runs with: it never prompts, never starts a pager, and reads only trusted
 * configuration.
 */

import { isAscii } from './single-bytes.ts'

export type Variables = Record<string, string | undefined>

/**
 * Variables that would point git at another repository (`git rev-parse --local-env-vars`), name another author, or
 * change git's output.
 */
const MISLEADING =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|NAMESPACE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|GRAFT_FILE|SHALLOW_FILE|(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|REPLACE_REF_BASE|IMPLICIT_WORK_TREE|ATTR_SOURCE|INTERNAL_SUPER_PREFIX|\w+_PATHSPECS|EXTERNAL_DIFF|ALLOW_PROTOCOL|DEFAULT_REF_FORMAT|DEFAULT_HASH|TRACE\w*)$/
const NEVER_ASK = {
  LC_ALL: 'C',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
  GIT_NO_REPLACE_OBJECTS: '1',
  GIT_NO_LAZY_FETCH: '1',
  // This path must not exist: for an existing file, even an empty one, git prints advice.
  GIT_GRAFT_FILE: '/dev/null/none',
  GIT_OPTIONAL_LOCKS: '0',
  // End a transfer that is slower than 1 byte per second for a minute.
  GIT_HTTP_LOW_SPEED_LIMIT: '1',
  GIT_HTTP_LOW_SPEED_TIME: '60',
}
/** For a search that ignores case: git knows letters beyond ASCII only in a UTF-8 locale, in which it is slower. */
export const ignoringCase = (words: string): Record<string, string> => (isAscii(words) ? {} : { LC_ALL: 'C.UTF-8' })

/** Switches off the user's and the system's configuration: for the workspace and for judging merges. */
export const OWN_CONFIG = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_COUNT: '0',
  GIT_CONFIG_PARAMETERS: '',
  GIT_ATTR_NOSYSTEM: '1',
  // The workspace's packed-refs file is written by Forklift itself.
  GIT_DEFAULT_REF_FORMAT: 'files',
}

/** The environment for git: this process's own, made unattended, with `more` on top. Undefined removes a variable. */
export function unattended(more: Variables = {}): Variables {
  const inherited = Object.entries(process.env).filter(([name]) => !MISLEADING.test(name))
  return { ...Object.fromEntries(inherited), ...NEVER_ASK, ...more }
}
