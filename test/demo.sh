#!/usr/bin/env bash
# make demo: Forklift's main job on a throw-away fork, on a machine without docker, without a key, without GitHub.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here project=${here%/*}
place=$(mktemp -d "${TMPDIR:-/tmp}/forklift-demo.XXXXXX")
readonly place

main() {
  introduce
  make_a_fork
  run_forklift
  show_the_result
  say_where_things_are
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
              no model), GitHub (a folder: a branch is pushed, and there is
              no pull request to open).
TEXT
}

# Nobody's git configuration, and nothing of this machine's user.
isolate() {
  local name
  for name in "${!GIT_@}"; do unset "$name"; done
  mkdir -p "$place/home/.config/forklift" "$place/bin"
  export HOME=$place/home GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
  unset XDG_CONFIG_HOME XDG_STATE_HOME FORKLIFT_OPENCODE_ENV FORKLIFT_TIMEOUT_SECONDS
  git config --global init.defaultBranch main
  git config --global user.name 'You'
  git config --global user.email you@fork.example
  git config --global advice.detachedHead false
}

commit() { # AUTHOR MESSAGE: everything in the current folder
  git add --all
  git -c "user.name=$1" commit --quiet --message "$2"
}

make_a_fork() {
  title 'A fork, and an upstream that went on'
  isolate
  git init --quiet --bare "$place/upstream.git"
  git init --quiet "$place/upstream"
  cd "$place/upstream"
  printf '%s\n' '#!/usr/bin/env bash' '# Greets whoever is named.' '' "name=\${1:-world}" '' "echo \"Hello, \$name!\"" >greet.sh
  printf '%s\n' '#!/usr/bin/env bash' 'set -e' \
    "is() { if [[ \$1 == \"\$2\" ]]; then echo \"ok: \$1\"; else echo \"\$1 is not \$2\" && exit 1; fi; }" '' \
    "is \"\$(./greet.sh Ann)\" 'Hello, Ann!'" >test.sh
  chmod +x greet.sh test.sh
  printf '# greet\n\nGreets people.\n' >README.md
  commit Una 'Greet people'
  git push --quiet "$place/upstream.git" main
  git clone --quiet --bare "$place/upstream.git" "$place/origin.git"

  git clone --quiet "$place/origin.git" "$place/my-fork"
  cd "$place/my-fork"
  git remote add upstream "$place/upstream.git"
  sed 's/Hello/Ahoy/' greet.sh >new && cat new >greet.sh
  sed 's/Hello/Ahoy/' test.sh >new && cat new >test.sh
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
  printf 'OPENCODE_%s\n' API_KEY=no-key-needed MODEL=no-model VARIANT=none AGENT=build >"$HOME/.config/forklift/opencode.env"
  chmod 600 "$HOME/.config/forklift/opencode.env"
  export PATH=$place/bin:$PATH FORKLIFT_TEST_DOCKER=$place/docker FORKLIFT_TEST_AGENT=$project/harness/run.sh
  unset FORKLIFT_TEST_FAULT FORKLIFT_TEST_LABEL
  printf '\n  %s$ cd my-fork && forklift%s\n' "$dim" "$plain"
  "$project/forklift.ts"
}

show_the_result() {
  local branch
  branch=$(git ls-remote origin 'refs/heads/forklift/*' | sed 's,.*refs/heads/,,')
  git fetch --quiet origin
  title 'What came out: one commit, which joins both histories'
  shown git log --graph --oneline "origin/$branch"
  title 'How the conflicts were resolved: all that a person must read'
  shown git show --remerge-diff --format= "origin/$branch"
  title 'And it works'
  git clone --quiet --branch "$branch" "$place/origin.git" "$place/tried"
  cd "$place/tried"
  shown ./test.sh
  shown ./greet.sh --loud sailor
}

say_where_things_are() {
  local run
  run=$(echo "$HOME"/.local/state/forklift/runs/*)
  title 'Where everything lies'
  note <<TEXT

$run
  metadata.json        what the run was about
  outcome.json         how it ended
  workspace/           what the agent worked in
  harness-state/       what it was told (instructions.txt), what it said (logs/transcript.txt)
$place/origin.git      the fork: its main is untouched, the branch waits to be merged

To look around:   cd $place
To clear it away: rm -rf $place

With docker, a key and a fork of your own: make image, then forklift in that fork. README.md says how.
TEXT
}

main "$@"
