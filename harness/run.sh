#!/usr/bin/env bash
# The harness: begins the merge, lets the agent (agents/chosen) finish it, and ends in time.
#
#   run.sh [WORKSPACE] [STATE]      (/workspace and /harness-state by default)
#
# Takes
#   WORKSPACE           a repository with <branch> checked out at <start>, and
#                       refs/remotes/upstream/<upstream_branch> at <upstream>
#   STATE/run.txt       lines of key=value: branch, upstream_branch, start, upstream, seconds; and any number of
#                       reject=ADDRESS/PREFIX, for entry.sh
#   STATE/fork-context.md   FORK.md, where the fork has one
#   the agent's settings (agents/chosen/agent.sh)
#   FORKLIFT_PROXY      optional: the address to use instead of the model's (see entry.sh)
#
# Gives
#   the merge, committed on <branch>; or WORKSPACE/STUCK.md
#   STATE/instructions.txt, and in STATE/logs/: harness.log, events.jsonl (the agent's own report),
#   transcript.txt (the same for people), agent.log (the agent's standard error)
#
# Exit codes
#   0 the agent finished, or time ran out with upstream merged and everything committed
#   2 time ran out, or a TERM came, before that
#   4 stuck: the agent wrote STUCK.md
#   5 the agent or this harness failed
# Whether a result is good is decided by Forklift, outside of the container, with git.
set -Eeuo pipefail
trap 'die "line $LINENO failed"' ERR # the status of a failed command could equal one of the exit codes above

harness=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
readonly harness
# shellcheck source=harness/agents/chosen/agent.sh
source "$harness/agents/chosen/agent.sh"

workspace=$(realpath -- "${1:-/workspace}")
state=$(realpath -- "${2:-/harness-state}")
readonly workspace state
readonly logs=$state/logs
readonly scratch=$state/scratch # HOME and temporary files of this run: on disk, since they may be large
readonly events=$logs/events.jsonl
readonly agent_log=$logs/agent.log
readonly begun=$SECONDS

branch='' upstream_branch='' start='' upstream='' seconds=''
merge_outcome=''            # clean, conflicts or none: the result of git's own merge
agent_pid='' agent_status=0 # process id of the agent, the leader of its own process group
stopped=''                  # why the agent was stopped: deadline or TERM
timers=()
look='' # process id of look_around

main() {
  prepare_logs
  read_run
  check_agent_settings
  command -v jq >/dev/null || die 'jq is not on PATH'
  enter_workspace
  watch_the_clock
  look_around &
  look=$!
  begin_merge
  write_instructions
  configure_agent
  run_agent
  write_transcript
  conclude
}

# --- the facts of the run ---------------------------------------------------

prepare_logs() {
  mkdir -p "$logs"
  : >"$logs/harness.log"
  : >"$events"
  trap clean_up EXIT
}

say() { printf '%s\n' "$*" | record; }

# Prints a sentence to the log and to standard error, without control characters.
record() { printable | tee -a "$logs/harness.log"; }

# Removes control characters: first ASCII, then U+0080 to U+009F in UTF-8, repeatedly, since a removal can form a new
# one.
printable() { LC_ALL=C tr -d '\000-\010\013-\037\177' | LC_ALL=C sed -e :again -e $'s/\302[\200-\237]//g' -e 't again'; }

die() {
  say "harness: $*"
  exit 5
}

# run.txt is parsed, never sourced: its branch names are untrusted.
read_run() {
  local line key value
  [[ -f $state/run.txt ]] || die "$state/run.txt is missing: it says what to merge"
  while IFS= read -r line || [[ -n $line ]]; do
    key=${line%%=*} value=${line#*=}
    case $key in
      branch | upstream_branch)
        git check-ref-format "refs/heads/$value" || die "run.txt: $key is not a branch name"
        ;;
      start | upstream)
        [[ $value =~ ^([0-9a-f]{40}|[0-9a-f]{64})$ ]] || die "run.txt: $key is not a commit id"
        ;;
      seconds)
        [[ $value =~ ^[1-9][0-9]{0,4}$ ]] || die 'run.txt: seconds is not a number from 1 to 99999'
        ;;
      reject) continue ;; # for the firewall: entry.sh reads it
      *) die "run.txt: unknown line: $line" ;;
    esac
    printf -v "$key" '%s' "$value"
  done <"$state/run.txt"
  for key in branch upstream_branch start upstream seconds; do
    [[ -n ${!key} ]] || die "run.txt: $key is missing"
  done
}

# Git and the agent get a made-up identity, a home folder of this run, and none of the user's configuration.
enter_workspace() {
  export GIT_AUTHOR_NAME='Forklift agent' GIT_AUTHOR_EMAIL=agent@forklift.invalid
  export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
  unset GIT_CONFIG_GLOBAL GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
  export GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat PAGER=cat
  export HOME=$scratch/home TMPDIR=$scratch/tmp
  export XDG_CONFIG_HOME=$HOME/.config XDG_CACHE_HOME=$HOME/.cache
  export XDG_DATA_HOME=$HOME/.local/share XDG_STATE_HOME=$HOME/.local/state
  # Version and package managers install below HOME, since the rest of the container is read-only. HUSKY=0 keeps a
  # package that many projects use from setting git hooks when it is installed.
  export HUSKY=0
  export N_PREFIX=$HOME/.n PYENV_ROOT=$HOME/.pyenv npm_config_prefix=$HOME/.local
  export PATH=$N_PREFIX/bin:$PYENV_ROOT/shims:$HOME/.cargo/bin:$HOME/.local/bin:$PATH
  mkdir -p "$HOME" "$TMPDIR" "$XDG_CONFIG_HOME"
  git config --global safe.directory "$workspace" # Docker Desktop may show another owner

  cd "$workspace" || die "cannot enter $workspace"
  [[ $(git rev-parse HEAD) == "$start" ]] || die "the workspace is not at $start"
  [[ $(git symbolic-ref HEAD) == "refs/heads/$branch" ]] || die "the workspace is not on branch $branch"
  [[ $(git rev-parse "refs/remotes/upstream/$upstream_branch") == "$upstream" ]] \
    || die "upstream/$upstream_branch is not at $upstream"
}

# --- time -------------------------------------------------------------------

# The agent's time. The rest is for ending well: 45 seconds of eight minutes, a quarter of a short run.
agent_seconds() { echo $((seconds - (seconds < 180 ? (seconds + 3) / 4 : 45))); }

watch_the_clock() {
  trap 'stop_agent deadline' ALRM
  trap 'stop_agent TERM' TERM
  later "$(agent_seconds)" kill -ALRM $$
}

# later SECONDS COMMAND…: runs a command after a delay, in a process group of its own, so that its sleep ends with it.
later() {
  set -m
  (
    sleep "$1"
    "${@:2}"
  ) </dev/null >/dev/null 2>&1 &
  timers+=("$!")
  set +m
}

clean_up() {
  local timer
  for timer in "${timers[@]}"; do kill -KILL -- "-$timer" 2>/dev/null || true; done
  if [[ -d $scratch ]]; then # some package managers write-protect their files
    chmod -R u+rwX "$scratch" && rm -rf "$scratch"
  fi
}

# Sends TERM to the agent's process group, and KILL two seconds later.
stop_agent() {
  if [[ -n $agent_pid ]] && kill -TERM -- "-$agent_pid" 2>/dev/null; then
    later 2 kill -KILL -- "-$agent_pid"
  fi
  stopped=${stopped:-$1}
}

# Kills the processes that the agent started: they may have process groups of their own and outlive it, but all have
# this run's mark in their environment. Without /proc only the agent's own process group is killed.
end_leftovers() {
  local environ
  kill -KILL -- "-$agent_pid" 2>/dev/null || true
  while IFS= read -r environ; do
    environ=${environ#/proc/}
    kill -KILL "${environ%/environ}" 2>/dev/null || true
  done < <(grep -lszxF "FORKLIFT_RUN=$scratch" /proc/[0-9]*/environ || true)
}

# --- programs and registries ---------------------------------------------------

# Programs whose presence the instructions mention, the languages with their versions, so that the agent need not look
# for them.
readonly languages=(node bun python3 gcc rustc go java ruby php perl dotnet swift)
readonly tools=(npm pip g++ cargo make cmake git-lfs jq rg fd sqlite3 openssl n pyenv rustup yarn pnpm uv poetry mvn gradle bundle composer
  docker psql redis-server chromium)
readonly registries=(registry.npmjs.org pypi.org index.crates.io proxy.golang.org repo.maven.apache.org rubygems.org
  github.com)
readonly version_seconds=3 registry_seconds=6 # for all together: they are asked at the same time

# Writes a file for each program found (for a language, with its version in it), and for each registry that answers.
look_around() {
  local name place=$scratch/here pids=()
  mkdir -p "$place"
  for name in "${languages[@]}" "${tools[@]}"; do
    ! command -v "$name" >/dev/null || : >"$place/$name"
  done
  for name in "${languages[@]}"; do
    [[ -e $place/$name ]] || continue
    version_of "$name" >"$place/$name" &
    pids+=("$!")
  done
  # Outside of the container (in a demo or a test), do not use the network.
  if [[ -n ${FORKLIFT_PROXY:-} ]]; then
    for name in "${registries[@]}"; do
      { ! curl --silent --output /dev/null --max-time "$registry_seconds" "https://$name/" || : >"$place/$name"; } &
      pids+=("$!")
    done
  fi
  if ((${#pids[@]} > 0)); then wait "${pids[@]}"; fi
} </dev/null 2>/dev/null

version_of() {
  local how=--version said
  case $1 in
    go) how=version ;;
    java) how=-version ;;
  esac
  said=$(timeout "$version_seconds" "$1" "$how" 2>&1) || true
  if [[ $said =~ [0-9]+(\.[0-9]+)+ ]]; then echo "${BASH_REMATCH[0]}"; fi
}

# those_there yes|no NAME...: lists the names that were found, with their versions; or those that were not.
those_there() {
  local wanted=$1 name is_there version list=''
  shift
  for name in "$@"; do
    is_there=no version=''
    if [[ -f $scratch/here/$name ]]; then
      is_there=yes
      version=$(head -c 40 "$scratch/here/$name")
    fi
    if [[ $is_there == "$wanted" ]]; then list+=", $name${version:+ $version}"; fi
  done
  echo "${list:2}"
}

what_is_here() {
  local reached unreached
  wait "$look" || true
  echo "- Programs that are here: $(those_there yes "${languages[@]}" "${tools[@]}")."
  echo "  Not here: $(those_there no "${languages[@]}" "${tools[@]}")."
  reached=$(those_there yes "${registries[@]}") unreached=$(those_there no "${registries[@]}")
  if [[ -z ${FORKLIFT_PROXY:-} ]]; then
    echo '- The internet may be there for packages.'
  elif [[ -z $reached ]]; then
    echo "- No registry of packages answered (tried: $unreached): do without what is not here."
  else
    echo "- For packages, these can be reached: $reached.${unreached:+ No answer came from $unreached.}"
  fi
  echo '  Install what you need below your home: you are not root, and nothing else is writable. There are no remotes and'
  echo '  no credentials here, and you need none.'
}

# --- the merge --------------------------------------------------------------

unmerged_files() { git diff --name-only --diff-filter=U; }

readonly most_files_told=20 most_commits_told=5 most_telling_seconds=10

# Lists the fork's commits for each file in conflict, which show what the fork wants there. File names end with NUL,
# since they may contain line ends.
list_fork_commits() {
  local -a files
  local file commits until=$((SECONDS + most_telling_seconds))
  mapfile -t -d '' files < <(git diff -z --name-only --diff-filter=U)
  for file in "${files[@]:0:most_files_told}"; do
    ((SECONDS < until)) || break
    commits=$(timeout "$most_telling_seconds" git --literal-pathspecs log --no-merges --no-decorate --format='  - %h %s' \
      --max-count="$most_commits_told" "$upstream..$start" -- "$file" | cut -c 1-160) || true
    [[ -n $commits ]] || commits='  - none but merges: see the diff'
    printf -- '- %.300s\n%s\n' "$file" "$commits"
  done
  if ((${#files[@]} > most_files_told)); then echo "- of the others, ask git log $upstream..$start -- FILE"; fi
}

# The common ancestor of the fork and upstream; one of them, where there are several.
fork_base() { git merge-base "$start" "$upstream" | cut -c 1-12; }

# The list is limited: the instructions are one argument, whose length is limited.
list_files() {
  local -a files
  mapfile -t files < <(unmerged_files)
  printf -- '- %.300s\n' "${files[@]:0:100}"
  if ((${#files[@]} > 100)); then echo "- and $((${#files[@]} - 100)) more (git status)"; fi
}

# Starts the merge with git, so that the agent's time goes to decisions.
begin_merge() {
  say "Merging upstream/$upstream_branch ($upstream) into $branch ($start)"
  local status=0
  git -c merge.conflictStyle=zdiff3 merge --no-edit "refs/remotes/upstream/$upstream_branch" 2>&1 | record || status=$?
  if ((status == 0)); then
    merge_outcome=clean
  elif [[ -n $(unmerged_files) ]]; then
    merge_outcome=conflicts
  else
    merge_outcome=none
  fi
}

is_merged() { git merge-base --is-ancestor "$upstream" "refs/heads/$branch"; }

has_uncommitted_work() {
  [[ -n $(git status --porcelain --untracked-files=no --ignore-submodules) ]] || git rev-parse -q --verify MERGE_HEAD >/dev/null
}

# Commits a merge that the agent resolved and staged, but did not commit.
commit_resolved_merge() {
  git rev-parse -q --verify MERGE_HEAD >/dev/null || return 0
  [[ -z $(unmerged_files) ]] || return 0
  say 'The agent resolved the merge and left it uncommitted: committing it.'
  git commit --no-edit --all 2>&1 | record
}

# --- the agent --------------------------------------------------------------

duration() { if (($1 < 120)); then echo "$1 seconds"; else echo "$(($1 / 60)) minutes"; fi; }

how_git_left_it() {
  case $merge_outcome in
    clean)
      echo 'Git has merged it without a conflict, and the merge is committed. What it cannot see is whether the two'
      echo 'sides still work together: please find that out, and mend what broke.'
      ;;
    conflicts)
      echo 'The merge is begun. Git settled what it could; these files hold conflict markers (the fork, the common'
      echo 'ancestor after |||||||, upstream) or were deleted on one side:'
      echo
      list_files
      echo
      echo "The fork's own commits that touched them, the newest first: they tell what the fork wants there. All that it has"
      echo "changed in a file, in its merges too: git diff $(fork_base) ${start:0:12} -- FILE"
      list_fork_commits
      ;;
    none) echo "Git could not begin the merge; what it said is in $logs/harness.log." ;;
  esac
}

# FORK.md, file names and commit messages are untrusted: they are printed, never evaluated.
instructions() {
  cat <<TEXT
You are in a checkout of a fork, on the branch $branch. Please bring in what is new upstream: merge
upstream/$upstream_branch into $branch. You know this craft, and you decide how it is best done.

How it stands
$(how_git_left_it)

Upstream's new commits ($(git rev-list --count "$start..$upstream")), the newest first:
$(git log --max-count=30 --no-decorate --format='- %h %s' "$start..$upstream" | cut -c 1-200)

What to do
1. Resolve what is in conflict: keep what the fork's own changes are for, and take what upstream improved. Where either
   reading is defensible, keep the fork's behaviour and name the choice in the message.
   Where the fork holds a copy of code that upstream changed (a file of its own made from one of upstream's, a second
   flavour), bring the change to the copy too where it fits, or say that you did not.
   Where upstream renamed something or changed how it is called, look for all of its users (git grep): git sees no
   conflict in the fork's own files.
2. Check it, and mend what the merge broke. Take no more than half of your time for it: run what covers the files that
   the merge or you changed, not everything. Where a test fails, run the same test on the fork's side of the merge
   (git worktree add --detach "\$TMPDIR/fork" ${start:0:12}) and say whether the merge caused it; else say "cause not
   checked". Where what a test needs is not here, leave it out: a stand-in that you write for it proves little.
3. Commit the result on $branch. Only what is committed there counts. Write a meaningful message: how you resolved
   things, what you ran and what came out of it, and what you did not run. Claim what you have checked, nothing else.
4. If you get stuck, write STUCK.md in the top folder, and say in it what you tried and what you need to know.
   A good question is a good result. With one question open, commit the best version that you can make without the
   answer, and put the question into STUCK.md, with what you chose meanwhile.

Good to know
- You have $(duration "$(agent_seconds)").
- Take the files that steer CI (workflows and the like) as the merge has them. What the fork has switched off stays off:
  a workflow that it has deleted, emptied or kept from running, and new ones where it has deleted all of them.
- What you install must not change git's configuration or tracked files, as the scripts of some packages do (husky sets
  core.hooksPath): leave such scripts out (npm ci --ignore-scripts, for example), and look at git status afterwards.
$(what_is_here)
TEXT
  if [[ -f $state/fork-context.md ]]; then
    printf '\nWhat the maintainers of the fork say about it (FORK.md):\n\n'
    head -c 60000 "$state/fork-context.md"
  fi
}

write_instructions() {
  instructions | printable >"$state/instructions.txt"
  record <"$state/instructions.txt"
}

run_agent() {
  [[ -z $stopped ]] || return 0
  local -a command
  agent_command "Merge upstream/$upstream_branch into $branch"
  say "Agent command: $(printf '%q ' "${command[@]}")\"\$(cat $(printf '%q' "$state/instructions.txt"))\" </dev/null"
  set -m # a process group of its own, so that it can be killed as a whole
  FORKLIFT_RUN=$scratch "${command[@]}" "$(cat "$state/instructions.txt")" </dev/null >"$events" 2>>"$agent_log" &
  agent_pid=$!
  set +m
  [[ -z $stopped ]] || stop_agent "$stopped" # a signal may have come before agent_pid was set
  while kill -0 "$agent_pid" 2>/dev/null; do # a signal ends `wait`, but not the agent
    wait "$agent_pid" || agent_status=$?
  done
  end_leftovers
  say "The agent ended after $((SECONDS - begun)) s with exit code $agent_status"
}

# --- what the agent reported --------------------------------------------------

readonly most_bytes=$((64 << 20)) most_lines=100000 longest_line=$((4 << 20))

# from_events PROGRAM: runs a jq program over `event`, each object that the agent reported, one a line. `words(KEYS)` is
# the string at these keys, unless it is missing or empty.
#
# The agent can write this file, so it may contain anything: it is read from its end, with limits on bytes, lines and
# bytes of a line, without NULs. A line that is not JSON does not affect the others, and the agent's ~/.jq is not read.
from_events() {
  # shellcheck disable=SC2016 # the names with a dollar sign are jq's
  local definitions='
    def event: inputs | fromjson? | objects;
    def words($keys): (try getpath($keys) catch null) | strings | select(. != "");'
  [[ -f $events && ! -L $events ]] || return 0
  { tail -c "$most_bytes" -- "$events" | head -c "$most_bytes" || true; } \
    | LC_ALL=C tr -d '\000' | LC_ALL=C cut -b "1-$longest_line" | tail -n "$most_lines" \
    | HOME=/nonexistent jq --null-input --raw-input --raw-output "$definitions $1"
}

write_transcript() {
  agent_transcript | printable >"$logs/transcript.txt" || say "The transcript could not be made; see $events"
}

# --- the result -------------------------------------------------------------------

# Whether the agent has written a STUCK.md, committed or not, that differs from the fork's and from upstream's.
agent_is_stuck() {
  local known here committed
  known=" $(git rev-parse -q --verify "$start:STUCK.md" || true) $(git rev-parse -q --verify "$upstream:STUCK.md" || true) "
  committed=$(git rev-parse -q --verify "refs/heads/$branch:STUCK.md" || true)
  if [[ -L STUCK.md ]]; then
    here=$(readlink -n STUCK.md | git hash-object --stdin)
  elif [[ -f STUCK.md ]]; then
    here=$(git hash-object -- STUCK.md)
  elif [[ -e STUCK.md ]]; then
    return 0
  fi
  [[ -n ${here:-} && $known != *" $here "* ]] || [[ -n $committed && $known != *" $committed "* ]]
}

write_stuck() {
  rm -rf STUCK.md
  {
    printf '# Time ran out\n\nForklift stopped the agent after %s.\n\n' "$(duration $((SECONDS - begun)))"
    if is_merged; then echo "Upstream is merged into $branch."; else echo "Upstream is not merged into $branch yet."; fi
    if [[ -n $(unmerged_files) ]]; then
      printf '\nFiles that still conflict:\n\n'
      list_files
    elif has_uncommitted_work; then
      printf '\nNo file conflicts any more, but these changes are not committed:\n\n'
      git status --porcelain --untracked-files=no --ignore-submodules | sed 's/^/    /'
    fi
    if [[ -n $(agent_last_words) ]]; then
      printf '\nThe last thing the agent said:\n\n'
      agent_last_words | sed 's/^/> /'
    fi
  } | printable >STUCK.md
}

conclude() {
  local failure
  if [[ -n $stopped ]]; then
    if agent_is_stuck; then
      say "Time ran out ($stopped); the agent wrote STUCK.md"
      exit 2
    elif is_merged && ! has_uncommitted_work; then
      say "Time ran out ($stopped), but upstream is merged and committed. The tests did not finish."
      exit 0
    fi
    write_stuck
    say "Time ran out ($stopped) before the merge was finished; see STUCK.md"
    exit 2
  fi
  if agent_is_stuck; then
    say 'The agent is stuck and wrote STUCK.md'
    exit 4
  fi
  failure=$(agent_failure)
  [[ -z $failure ]] || die "$failure (model $model_id); see events.jsonl and ${agent_log##*/} in $logs"
  commit_resolved_merge
  is_merged || say "The agent finished, but $branch does not hold upstream's commits"
  if has_uncommitted_work; then
    say 'These changes are not committed and not part of the result:'
    git status --porcelain --untracked-files=no --ignore-submodules | record
  fi
  say 'The agent finished'
}

main
