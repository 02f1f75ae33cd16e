#!/usr/bin/env bash
# make demo: lets a fork fall behind, and runs Forklift on it until the agent has a question for the user. Needs no
# docker, key or GitHub. With a folder that it made (make desk DEMO=FOLDER), opens the desk on that fork, where the user
# answers the question.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here project=${here%/*}

main() {
  if (($# > 0)); then
    place=$1
    open_the_desk "${@:2}"
    return
  fi
  place=$(mktemp -d "${TMPDIR:-/tmp}/forklift-demo.XXXXXX")
  introduce
  isolate
  start_github
  make_a_fork
  run_forklift
  say_how_it_goes_on
}

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi
title() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
note() { sed '/./s/^/  /'; }
shown() { # COMMAND...: what is typed, and what comes of it
  printf '\n  %s$ %s%s\n' "$dim" "$*" "$plain"
  "$@" 2>&1 | note
}

introduce() {
  title 'Forklift, on a fork made for this demo'
  note <<TEXT

Real here:    forklift.ts, the harness, git, the merge and its judgement, the
              branch that is pushed.
Stand-ins:    docker (a script that starts the harness without a container,
              so nothing is locked in), OpenCode (a script with one answer,
              no model), GitHub (a small server on this machine).
TEXT
}

# Sets an environment without git configuration, tokens or anything of the user's, except HOME, where a browser has its
# profile.
isolate() {
  local name
  for name in "${!GIT_@}"; do unset "$name"; done
  mkdir -p "$place/config/forklift" "$place/bin"
  export XDG_STATE_HOME=$place/state FORKLIFT_OPENCODE_ENV=$place/config/forklift/opencode.env
  export GIT_CONFIG_GLOBAL=$place/config/gitconfig GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
  unset FORKLIFT_TIMEOUT_SECONDS FORKLIFT_TEST_FAULT FORKLIFT_TEST_LABEL
  export PATH=$place/bin:$PATH FORKLIFT_TEST_DOCKER=$place/docker FORKLIFT_TEST_AGENT=$project/harness/run.sh
}

# Starts the stand-in for GitHub, where the fork's pull requests are opened. It ends with this script.
start_github() {
  rm -f "$place/github-ready"
  bun --no-env-file --config=/dev/null --no-install "$here/demo-github.ts" "$place" &
  local github=$!
  # shellcheck disable=SC2064 # this one, whatever is started later
  trap "kill $github 2>/dev/null || true" EXIT
  until [[ -e $place/github-ready ]]; do
    kill -0 "$github" 2>/dev/null || exit 1
    sleep 0.05
  done
  address=$(<"$place/github-address")
  export GITHUB_API_URL=$address GH_ENTERPRISE_TOKEN=ghp_0123456789abcdefSECRETSECRETSECRETS
}

commit() { # AUTHOR MESSAGE: everything in the current folder
  git add --all
  git -c "user.name=$1" commit --quiet --message "$2"
}

make_a_fork() {
  title 'A fork, and an upstream that went on'
  git config --global init.defaultBranch main
  git config --global user.name 'You'
  git config --global user.email you@fork.example
  git config --global advice.detachedHead false
  git config --global "url.$place/origin.git.insteadOf" "$address/you/my-fork.git"
  git config --global "url.$place/upstream.git.insteadOf" "$address/una/greet.git"

  git init --quiet --bare "$place/upstream.git"
  git init --quiet "$place/upstream"
  cd "$place/upstream"
  printf '%s\n' '#!/usr/bin/env bash' '# Greets whoever is named.' '' "name=\${1:-world}" '' "echo \"Hello, \$name!\"" >greet.sh
  printf '%s\n' '#!/usr/bin/env bash' '# Says goodbye to whoever is named.' '' "name=\${1:-world}" '' "echo \"Goodbye, \$name.\"" >goodbye.sh
  printf '%s\n' '#!/usr/bin/env bash' 'set -e' \
    "is() { if [[ \$1 == \"\$2\" ]]; then echo \"ok: \$1\"; else echo \"\$1 is not \$2\" && exit 1; fi; }" '' \
    "is \"\$(./greet.sh Ann)\" 'Hello, Ann!'" >test.sh
  chmod +x greet.sh goodbye.sh test.sh
  printf '# greet\n\nGreets people.\n' >README.md
  commit Una 'Greet people'
  git push --quiet "$place/upstream.git" main
  git clone --quiet --bare "$place/upstream.git" "$place/origin.git"

  git clone --quiet "$address/you/my-fork.git" "$place/my-fork"
  cd "$place/my-fork"
  git remote add upstream "$address/una/greet.git"
  local file
  for file in greet.sh test.sh goodbye.sh; do
    sed -e 's/Hello/Ahoy/' -e 's/Goodbye, \(.*\)\./Fair winds, \1!/' "$file" >new && cat new >"$file"
  done
  rm new
  printf 'This fork greets like a pirate: "Ahoy", never "Hello".\n' >FORK.md
  commit You 'Greet like a pirate'
  git push --quiet origin main

  cd "$place/upstream"
  printf '%s\n' '#!/usr/bin/env bash' '# Greets whoever is named.' '' 'loud=no' \
    "if [[ \${1:-} == --loud ]]; then loud=yes && shift; fi" "name=\${1:-world}" '' "greeting=\"Hello, \$name!\"" \
    "if [[ \$loud == yes ]]; then greeting=\${greeting^^}; fi" "echo \"\$greeting\"" >greet.sh
  echo "is \"\$(./greet.sh --loud Ann)\" 'HELLO, ANN!'" >>test.sh
  commit Una 'Greet people who are far away: --loud'
  printf '\nWith --loud, greets people who are far away.\n' >>README.md
  commit Una 'Explain --loud'
  sed 's/Goodbye, \(.*\)\./See you soon, \1./' goodbye.sh >new && cat new >goodbye.sh && rm new
  commit Una 'Hope to see people again'
  git push --quiet "$place/upstream.git" main

  cd "$place/my-fork"
  shown git log --oneline
  shown git --git-dir="$place/upstream.git" log --oneline main
  shown cat FORK.md
}

run_forklift() {
  title 'forklift'
  ln -s "$here/stand-ins/docker" "$place/bin/docker"
  ln -s "$here/stand-ins/opencode" "$place/bin/opencode"
  printf 'OPENCODE_%s\n' API_KEY=no-key-needed MODEL=no-model VARIANT=none AGENT=build >"$FORKLIFT_OPENCODE_ENV"
  chmod 600 "$FORKLIFT_OPENCODE_ENV"
  printf '\n  %s$ cd my-fork && forklift%s\n' "$dim" "$plain"
  local code=0
  "$project/forklift.ts" 2>&1 || code=$?
  ((code == 4)) || exit "$code"
}

say_how_it_goes_on() {
  local run
  run=$(echo "$XDG_STATE_HOME"/forklift/runs/*)
  title 'Two conflicts are settled, and the third one is a question. Answer it on the desk, in the browser:'
  printf '\n  %smake desk DEMO=%s%s\n' "$bold" "$place" "$plain"
  title 'Where everything lies'
  note <<TEXT

$run
  metadata.json        what the run was about
  outcome.json         how it ended
  STUCK.md             what the agent asks
  workspace/           what the agent worked in
  harness-state/       what it was told (instructions.txt), what it said (logs/transcript.txt)
$place/my-fork         the checkout of the fork: untouched

To clear it away: rm -rf $place

With docker, a key and a fork of your own: make image, then forklift in that fork. README.md says how.
TEXT
}

open_the_desk() { # ARGUMENT...: of forge
  [[ -e $place/my-fork/.git && -e $place/github-address ]] || {
    echo "$place is not a folder that make demo has made." >&2
    exit 1
  }
  isolate
  start_github
  "$project/forge.ts" "$@" "$place/my-fork"
}

main "$@"
