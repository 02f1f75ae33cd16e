/** The environment in which git never prompts, never starts a pager, and reads no configuration but the trusted one. */

export type Variables = Record<string, string | undefined>

/**
 * Variables that would point git at another repository (`git rev-parse --local-env-vars`), name another author, or
 * change what its words mean.
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
  // No file: an existing one, even empty, gets advice.
  GIT_GRAFT_FILE: '/dev/null/none',
  GIT_OPTIONAL_LOCKS: '0',
  // A server that says nothing for a minute has stalled.
  GIT_HTTP_LOW_SPEED_LIMIT: '1',
  GIT_HTTP_LOW_SPEED_TIME: '60',
}
/** The user's and the system's configuration switched off: for the workspace and for verdicts. */
export const OWN_CONFIG = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_COUNT: '0',
  GIT_CONFIG_PARAMETERS: '',
  GIT_ATTR_NOSYSTEM: '1',
  // The workspace's list of refs is written by hand.
  GIT_DEFAULT_REF_FORMAT: 'files',
}

/** This process's environment as git gets it: unattended, and with `more` on top; undefined takes a variable away. */
export function unattended(more: Variables = {}): Variables {
  const inherited = Object.entries(process.env).filter(([name]) => !MISLEADING.test(name))
  return { ...Object.fromEntries(inherited), ...NEVER_ASK, ...more }
}
