/** The files of a repository that make machines run something, that agents obey, or that say what is installed. */
import type { Path } from './git/repository.ts'

/**
 * What a push starts on other machines: the files that CI systems, builders of previews and packages, and the
 * services behind GitHub's checks read from the pushed commit, by their own documentation. Of systems that are not in
 * this table the usual names are there: a folder of workflows or pipelines in a dot-folder, and a file named after CI.
 */
const CI = [
  // Folders of workflows, and actions that a workflow may call from anywhere.
  /^\.(github|gitea|forgejo)\/(workflows|actions)\//i,
  /^\.(circleci|buildkite|woodpecker|semaphore|tekton|teamcity|builds|zuul\.d|dagger|harness|jenkins)\//i,
  /^\.(azure-?pipelines|azuredevops|pipelines?|gitlab\/ci|gitlab-ci|codesandbox|do|platform|upsun|openshift-ci)\//i,
  /^\.(ci-operator|ci|cnb|copr|obs|workflows?|space|depot|drone|concourse|prow|hercules-ci|launchpad)\//i,
  /^\.[^/]+\/(workflows?|pipelines?)\//i,
  /^(zuul\.d|dagger)\/|^ci_scripts\/ci_[^/]*$/i,
  /(^|\/)action\.ya?ml$/i,
  // CI systems whose file may lie in a folder.
  /(^|\/)(\.?azure-pipelines[^/]*|\.?bitbucket-pipelines|\.?cloudbuild[^/]*|\.?buildspec[^/]*)\.(ya?ml|json)$/i,
  /(^|\/)([^/]*\.)?gitlab-ci\.(ya?ml|json)$/i,
  /(^|\/)(Jenkinsfile(\.[^/]*)?|Earthfile|dagger\.json|Procfile)$/i,
  // CI systems with a file in the root.
  /^\.?(travis|appveyor|cirrus|drone|woodpecker|build|wercker|codefresh|zuul|screwdriver)\.(ya?ml|star|jsonnet)$/i,
  /^\.?(taskcluster|packit|ci-operator|evergreen|shippable|buildkite|vsts-ci|scrutinizer|launchpad|cnb)\.ya?ml$/i,
  /^\.?(bitrise|codemagic|codeship-services|codeship-steps|gocd|jitpack|garnix|prow|pre-commit-config)\.ya?ml$/i,
  /^(\.onedev-buildspec\.ya?ml|\.space\.kts|\.?nix-ci\.nix|\.hydra\.json|\.copr|\.deepsource\.toml|(snap\/)?snapcraft\.ya?ml)$/i,
  /^[^/]*(^|[-_.])(ci|cicd|pipelines?|workflows?|buildspec)\.(ya?ml|toml|jsonc?|jsonnet|star|kts|nix|hcl|cue)$/i,
  // Builders of previews and documentation: they run the build of what was pushed.
  /(^|\/)(netlify\.toml|vercel\.json|now\.json|wrangler\.(toml|jsonc?)|fly\.toml|railway\.(toml|json)|nixpacks\.toml)$/i,
  /(^|\/)(amplify|render|apprunner|heroku|apphosting(\.[^/]*)?|\.platform\.app)\.ya?ml$|^app\.(ya?ml|json)$/i,
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
  /^githooks\/|^\.?(lefthook|overcommit)\.(ya?ml|toml|json)$/i,
]

const among = (patterns: RegExp[], path: Path): boolean => patterns.some(pattern => pattern.test(path))

/** Whether a machine somewhere runs what this file says as soon as it is pushed. */
export const steersCi = (path: Path): boolean => among(CI, path)

/** Whether a link or a submodule at a path would stand for a file, or for a folder of files, that steers CI. */
export const canHoldCi = (path: Path): boolean =>
  ['', '/x.yml', '/workflows/x.yml', '/ci/x.yml'].some(below => steersCi(`${path}${below}`))
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

/** Names of files that machines tend to run or obey, whichever program reads them. */
const AUTOMATION = [
  // Configuration and scripts in a folder that is hidden, and configuration that is hidden itself.
  /(^|\/)\.[^/]+\/(.*\/)?[^/.]+$|(^|\/)\.[^/]+\/.*\.(ya?ml|toml|jsonc?|json5|jsonnet|star|hcl|cue|nix|kts|groovy|lua)$/i,
  /(^|\/)\.[^/]+\/.*\.(sh|bash|zsh|fish|ps1|bat|cmd|py|rb|pl|php|[cm]?[jt]s)$/i,
  /(^|\/)\.[^/]*(rc|\.(ya?ml|toml|jsonc?|json5|[cm]?js|nix|kts))$/i,
  // Configuration in the root, where nearly all services look for their own.
  /^[^/]+\.(ya?ml|toml|star|jsonnet|nix|hcl|cue)$/i,
  // From where git itself brings more, and what it makes of files.
  /^\.(gitmodules|lfsconfig)$|(^|\/)\.gitattributes$/i,
  // Hooks, recipes of images, and what package managers run at an installation.
  /(^|\/)(git-?)?hooks?\/[^/]+$/i,
  /(^|\/)((Docker|Container)file[^/]*|[^/]*\.(Docker|Container)file|(docker-)?compose[^/]*\.ya?ml)$/i,
  /(^|\/)(setup\.py|conftest\.py|sitecustomize\.py|build\.rs|binding\.gyp|[^/]*\.gemspec|extconf\.rb)$/i,
  /(^|\/)([^/]*[-_.])?(deploy|release|publish|postinstall|preinstall|bootstrap)([-_.][^/]*)?\.(sh|ya?ml|toml|py|[cm]?js)$/i,
]

/** Recipes of builds that a person starts, as any other code of theirs. */
const RECIPES =
  /(^|\/)((GNU)?Makefile|Justfile|Taskfile(\.dist)?\.ya?ml|Rakefile|Vagrantfile|Tiltfile|BUILD\.bazel|MODULE\.bazel|CMakeLists\.txt)$/i

/** Whether a file says how something is built, where a person starts that: in a conflict it is code as any other. */
export const isRecipe = (path: Path): boolean => RECIPES.test(path) && !steersCi(path)

/** Files that package managers write: a change of one is a change of what runs, wherever the files themselves lie. */
const LOCK_FILES =
  /(^|\/)(bun\.lockb?|package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|deno\.lock|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock|Pipfile\.lock|pdm\.lock|Gemfile\.lock|composer\.lock|mix\.lock|gradle\.lockfile|Package\.resolved|flake\.lock)$/i

/** Whether a package manager writes this file. */
export const isLockFile = (path: Path): boolean => LOCK_FILES.test(path)

/**
 * Whether a file has the shape of one that machines run or obey by themselves: for people to look at, not to refuse. A
 * lock file has not, wherever it lies: its conflicts are settled by generating it again, and nothing runs it.
 */
export const looksAutomatic = (path: Path): boolean =>
  steersCi(path) ||
  steersAgents(path) ||
  steersPackages(path) ||
  RECIPES.test(path) ||
  (among(AUTOMATION, path) && !isLockFile(path))
