/** Recognises files, by their paths, that start CI, steer agents or package managers, or say what is installed. */
import type { Path } from './git/repository.ts'

/**
 * Files that start something on other machines when pushed: read by CI systems, by builders of previews and packages,
 * and by the services behind GitHub's checks, according to their documentation. For systems not in this table the usual
 * names are matched: a folder of workflows or pipelines in a hidden folder, and a file named after CI.
 */
const CI = [
  // Folders of workflows, and actions that a workflow may call from any folder.
  /^\.(github|gitea|forgejo)\/(workflows|actions)\//i,
  /^\.(circleci|buildkite|woodpecker|semaphore|tekton|teamcity|builds|zuul\.d|dagger|harness|jenkins)\//i,
  /^\.(azure-?pipelines|azuredevops|pipelines?|gitlab\/ci|gitlab-ci|codesandbox|do|platform|upsun|openshift-ci)\//i,
  /^\.(ci-operator|ci|cnb|copr|obs|workflows?|space|depot|drone|concourse|prow|hercules-ci|launchpad)\//i,
  /^\.[^/]+\/(workflows?|pipelines?)\//i,
  /^(zuul\.d|dagger)\/|^ci_scripts\/ci_[^/]*$/i,
  /(^|\/)action\.ya?ml$/i,
  // CI systems whose file may be in any folder.
  /(^|\/)(\.?azure-pipelines[^/]*|\.?bitbucket-pipelines|\.?cloudbuild[^/]*|\.?buildspec[^/]*)\.(ya?ml|json)$/i,
  /(^|\/)([^/]*\.)?gitlab-ci\.(ya?ml|json)$/i,
  /(^|\/)(Jenkinsfile(\.[^/]*)?|Earthfile|dagger\.json|Procfile)$/i,
  // CI systems whose file is in the root folder.
  /^\.?(travis|appveyor|cirrus|drone|woodpecker|build|wercker|codefresh|zuul|screwdriver)\.(ya?ml|star|jsonnet)$/i,
  /^\.?(taskcluster|packit|ci-operator|evergreen|shippable|buildkite|vsts-ci|scrutinizer|launchpad|cnb)\.ya?ml$/i,
  /^\.?(bitrise|codemagic|codeship-services|codeship-steps|gocd|jitpack|garnix|prow|pre-commit-config)\.ya?ml$/i,
  /^(\.onedev-buildspec\.ya?ml|\.space\.kts|\.?nix-ci\.nix|\.hydra\.json|\.copr|\.deepsource\.toml|(snap\/)?snapcraft\.ya?ml)$/i,
  /^[^/]*(^|[-_.])(ci|cicd|pipelines?|workflows?|buildspec)\.(ya?ml|toml|jsonc?|jsonnet|star|kts|nix|hcl|cue)$/i,
  // Builders of previews and documentation: they run the build of the pushed commit.
  /(^|\/)(netlify\.toml|vercel\.json|now\.json|wrangler\.(toml|jsonc?)|fly\.toml|railway\.(toml|json)|nixpacks\.toml)$/i,
  /(^|\/)(amplify|render|apprunner|heroku|apphosting(\.[^/]*)?|\.platform\.app)\.ya?ml$|^app\.(ya?ml|json)$/i,
  /^\.?readthedocs\.ya?ml$/i,
]
/** Files that agents obey, and that run when a person opens, enters or commits to a checkout. */
const STEERING = [
  /(^|\/)(AGENTS?|CLAUDE|GEMINI|QWEN|WARP|FORK)(\.local)?\.md$/i,
  /(^|\/)(opencode\.jsonc?|\.mcp\.json|\.(cursor|windsurf|cline|roo)rules|\.aider\.conf\.ya?ml|\.envrc)$/i,
  /(^|\/)\.(opencode|agents|claude|codex|cursor|gemini|windsurf|clinerules|roo|continue|kiro|junie|amazonq)\//i,
  /(^|\/)\.(vscode|idea|zed|run|devcontainer|husky|git-?hooks)\//i,
  /^(\.gitpod\.yml|\.?devfile\.ya?ml|\.replit|\.mergify\.yml|renovate\.json5?|\.renovaterc(\.json5?)?)$/i,
  /^\.github\/(copilot-instructions\.md$|(instructions|prompts|agents|hooks)\/)/i,
  /^githooks\/|^\.?(lefthook|overcommit)\.(ya?ml|toml|json)$/i,
]

const among = (patterns: RegExp[], path: Path): boolean => patterns.some(pattern => pattern.test(path))

/** Whether CI runs what this file says as soon as it is pushed. */
export const steersCi = (path: Path): boolean => among(CI, path)

/** Whether a link or a submodule at this path could stand for a CI file or a folder of CI files. */
export const canHoldCi = (path: Path): boolean =>
  ['', '/x.yml', '/workflows/x.yml', '/ci/x.yml'].some(below => steersCi(`${path}${below}`))
/** Whether agents obey this file, or it runs when a person opens, enters or commits to a checkout. */
export const steersAgents = (path: Path): boolean => among(STEERING, path)

/** Files that say where packages come from, and what runs with each command of a package manager. */
const PACKAGES = [
  /(^|\/)(\.npmrc|\.yarnrc(\.ya?ml)?|\.pnpmrc|\.?pnpmfile\.[cm]?js|pnpm-workspace\.yaml|\.?bunfig\.toml)$/i,
  /(^|\/)(\.?pip\.conf|pip\.ini|\.pypirc|uv\.toml|\.bundle\/config|\.cargo\/config(\.toml)?|\.mvn\/.*|gradle\.properties)$/i,
  /(^|\/)\.yarn\/(releases|plugins)\//i,
]

/** Whether this file says from where a package manager installs, or what it runs. */
export const steersPackages = (path: Path): boolean => among(PACKAGES, path)

/** Names of files that programs tend to run or obey by themselves. */
const AUTOMATION = [
  // Configuration and scripts in hidden folders, and hidden configuration files.
  /(^|\/)\.[^/]+\/(.*\/)?[^/.]+$|(^|\/)\.[^/]+\/.*\.(ya?ml|toml|jsonc?|json5|jsonnet|star|hcl|cue|nix|kts|groovy|lua)$/i,
  /(^|\/)\.[^/]+\/.*\.(sh|bash|zsh|fish|ps1|bat|cmd|py|rb|pl|php|[cm]?[jt]s)$/i,
  /(^|\/)\.[^/]*(rc|\.(ya?ml|toml|jsonc?|json5|[cm]?js|nix|kts))$/i,
  // Configuration in the root folder, where nearly all services look for theirs.
  /^[^/]+\.(ya?ml|toml|star|jsonnet|nix|hcl|cue)$/i,
  // Files that say from where git fetches submodules and large files (Git LFS), and how it converts files.
  /^\.(gitmodules|lfsconfig)$|(^|\/)\.gitattributes$/i,
  // Hooks, image recipes, and what package managers run on installation.
  /(^|\/)(git-?)?hooks?\/[^/]+$/i,
  /(^|\/)((Docker|Container)file[^/]*|[^/]*\.(Docker|Container)file|(docker-)?compose[^/]*\.ya?ml)$/i,
  /(^|\/)(setup\.py|conftest\.py|sitecustomize\.py|build\.rs|binding\.gyp|[^/]*\.gemspec|extconf\.rb)$/i,
  /(^|\/)([^/]*[-_.])?(deploy|release|publish|postinstall|preinstall|bootstrap)([-_.][^/]*)?\.(sh|ya?ml|toml|py|[cm]?js)$/i,
]

/** Build recipes such as a Makefile: like other code, they run only when a person starts them. */
const RECIPES =
  /(^|\/)((GNU)?Makefile|Justfile|Taskfile(\.dist)?\.ya?ml|Rakefile|Vagrantfile|Tiltfile|BUILD\.bazel|MODULE\.bazel|CMakeLists\.txt)$/i

/** Whether a file is a build recipe that only a person starts: in a conflict it is treated as code. */
export const isRecipe = (path: Path): boolean => RECIPES.test(path) && !steersCi(path)

/** Files that package managers write: changing one changes what runs, wherever the packages are. */
const LOCK_FILES =
  /(^|\/)(bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|deno\.lock|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock|Gemfile\.lock|composer\.lock|mix\.lock|gradle\.lockfile|Package\.resolved|flake\.lock)$/i

/** Whether this is a lock file, written by a package manager. */
export const isLockFile = (path: Path): boolean => LOCK_FILES.test(path)

/**
 * Whether a file looks like one that programs run or obey by themselves: to be shown to people, not refused. Lock files
 * are excluded: their conflicts are resolved by generating them again, and nothing runs them.
 */
export const looksAutomatic = (path: Path): boolean =>
  steersCi(path) ||
  steersAgents(path) ||
  steersPackages(path) ||
  RECIPES.test(path) ||
  (among(AUTOMATION, path) && !isLockFile(path))
