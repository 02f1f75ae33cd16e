/** The files of a repository that make machines run something, that agents obey, or that say what is installed. */
import type { Path } from './git/repository.ts'

/**
 * What a push makes somebody's machine run: the files that CI systems, builders of previews and the services behind
 * GitHub's checks read from the pushed commit, by their own documentation.
 */
const CI = [
  // Folders of workflows, and actions that a workflow may call from anywhere.
  /^\.(github|gitea|forgejo)\/(workflows|actions)\//i,
  /^\.(circleci|buildkite|woodpecker|semaphore|tekton|teamcity|builds|zuul\.d|dagger|harness|jenkins)\//i,
  /^\.(azure-?pipelines|azuredevops|pipelines|gitlab\/ci|codesandbox|do|platform|upsun|openshift-ci|ci-operator)\//i,
  /^(zuul\.d|dagger)\/|^ci_scripts\/ci_[^/]*$/i,
  /(^|\/)action\.ya?ml$/i,
  // CI systems whose file may lie in a folder.
  /(^|\/)(\.gitlab-ci|\.?azure-pipelines[^/]*|\.?bitbucket-pipelines|\.?cloudbuild[^/]*|\.?buildspec[^/]*)\.(ya?ml|json)$/i,
  /(^|\/)(Jenkinsfile(\.[^/]*)?|Earthfile|dagger\.json|Procfile)$/i,
  // CI systems with a file in the root.
  /^\.?(travis|appveyor|cirrus|drone|woodpecker|build|wercker|codefresh|zuul|screwdriver)\.(ya?ml|star|jsonnet)$/i,
  /^\.?(taskcluster|packit|ci-operator|evergreen|shippable|buildkite|vsts-ci|scrutinizer)\.ya?ml$/i,
  /^(bitrise|codemagic|codeship-services|codeship-steps|gocd)\.ya?ml$/i,
  // Builders of previews and documentation: they run the build of what was pushed.
  /(^|\/)(netlify\.toml|vercel\.json|now\.json|wrangler\.(toml|jsonc?)|fly\.toml|railway\.(toml|json)|nixpacks\.toml)$/i,
  /(^|\/)(amplify|render|apprunner|heroku|\.platform\.app)\.ya?ml$|^app\.(ya?ml|json)$/i,
  /^\.?readthedocs\.ya?ml$/i,
]
/** What agents obey, and what runs when a person opens, enters or commits to a checkout. */
const STEERING = [
  /(^|\/)(AGENTS?|CLAUDE|GEMINI|QWEN|WARP|FORK)(\.local)?\.md$/i,
  /(^|\/)(opencode\.jsonc?|\.mcp\.json|\.(cursor|windsurf|cline|roo)rules|\.aider\.conf\.ya?ml|\.envrc)$/i,
  /(^|\/)\.(opencode|agents|claude|codex|cursor|gemini|windsurf|clinerules|roo|continue|kiro|junie|amazonq)\//i,
  /(^|\/)\.(vscode|idea|zed|run|devcontainer|husky|git-?hooks)\//i,
  /^(\.gitpod\.yml|\.?devfile\.ya?ml|\.replit|\.mergify\.yml|renovate\.json5?|\.renovaterc(\.json5?)?)$/i,
  /^\.github\/(copilot-instructions\.md$|(instructions|prompts|agents|hooks)\/)/i,
  /^githooks\/|^\.?(lefthook|pre-commit-config|overcommit)\.(ya?ml|toml|json)$/i,
]

const among = (patterns: RegExp[], path: Path): boolean => patterns.some(pattern => pattern.test(path))

/** Whether a machine somewhere runs what this file says as soon as it is pushed. */
export const steersCi = (path: Path): boolean => among(CI, path)
/** Whether agents obey this file, or it runs when a person opens, enters or commits to a checkout. */
export const steersAgents = (path: Path): boolean => among(STEERING, path)

/** Where packages come from, and what runs with each command of a package manager. */
const PACKAGES = [
  /(^|\/)(\.npmrc|\.yarnrc(\.ya?ml)?|\.pnpmrc|\.?pnpmfile\.[cm]?js|pnpm-workspace\.yaml|\.?bunfig\.toml)$/i,
  /(^|\/)(\.?pip\.conf|pip\.ini|\.pypirc|uv\.toml|\.bundle\/config|\.cargo\/config(\.toml)?|\.mvn\/.*|gradle\.properties)$/i,
  /(^|\/)\.yarn\/(releases|plugins)\//i,
]

/** Whether a package manager obeys this file: from where it installs, and what it runs. */
export const steersPackages = (path: Path): boolean => among(PACKAGES, path)

/** Files that package managers write: a change of one is a change of what runs, wherever the files themselves lie. */
const LOCK_FILES =
  /(^|\/)(bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|deno\.lock|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock|Gemfile\.lock|composer\.lock|mix\.lock|gradle\.lockfile|Package\.resolved|flake\.lock)$/i

/** Whether a package manager writes this file. */
export const isLockFile = (path: Path): boolean => LOCK_FILES.test(path)
