#!/usr/bin/env bash
# make demo-tasks: a run of the tasks on a throw-away repository, without a key: planned, done, checked, asked, landed.
#
#   demo-tasks.sh              code: a plan, one mistake, one question
#   demo-tasks.sh text|data    a researched text, or data: the examples of docs/examples
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here project=${here%/*}
readonly domain=${1:-}
[[ $domain =~ ^(text|data)?$ ]] || { echo "There is no demo of $domain: DOMAIN=text or DOMAIN=data." >&2 && exit 64; }
place=$(mktemp -d "${TMPDIR:-/tmp}/forge-demo.XXXXXX")
readonly place

main() {
  if [[ -n $domain ]]; then
    of_domain
    return
  fi
  introduce
  isolate
  make_a_repository
  start_a_model
  run_it
  answer_it
  show_the_journal
  show_what_it_learned
  land_it
  say_where_things_are
}

# Shows a run that makes a text or data, by an example of docs/examples.
of_domain() {
  introduce
  isolate
  take_the_example
  start_a_model
  title 'The wish'
  note <TASK.md
  title 'A plan, a mistake that a check finds, and a second attempt'
  typed forge run --yes TASK.md
  forge run --yes TASK.md
  show_the_journal
  show_what_it_learned
  title 'Nothing is merged before you say so'
  typed forge land last --yes
  forge land last --yes
  title 'The product'
  git diff --name-only HEAD~1 | while read -r file; do typed cat "$file" && note <"$file"; done
  say_where_things_are
}

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi
title() { printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"; }
note() { sed '/./s/^/  /'; }
typed() { printf '\n  %s$ %s%s\n\n' "$dim" "$*" "$plain"; }
# Runs a command of the forge, under the name that a user types. Its exit code is part of the story.
forge() { "$project/forge.ts" "$@"; }

introduce() {
  title 'Forge, on a repository made for this demo'
  note <<TEXT
Real here:    forge, the Temporal server and its worker, git, the plan's linter,
              the checks and their verdicts.
Stand-ins:    the model (a script with one plan, one mistake and one question).
TEXT
  if docker image inspect forklift/kitchen-sink:latest >/dev/null 2>&1; then
    echo '              The checks run in the locked container.' | sed 's/^/  /'
  else
    note <<TEXT
              docker (a script that runs the checks without a container, as
              there is no engine with the image here: nothing is locked in).
TEXT
    stand_in=yes
  fi
}
stand_in=''

# Sets an environment without git configuration, and with nothing of this machine's user.
isolate() {
  local name
  for name in "${!GIT_@}" "${!TEMPORAL_@}" "${!FORGE_TIER@}" "${!OTEL_@}"; do unset "$name"; done
  unset FORGE_MODEL FORGE_MODELS ANTHROPIC_API_KEY OPENROUTER_API_KEY XDG_CONFIG_HOME XDG_CACHE_HOME
  mkdir -p "$place/home" "$place/bin"
  export HOME=$place/home XDG_STATE_HOME=$place/home/.local/state GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
  git config --global init.defaultBranch main
  git config --global user.name 'You'
  git config --global user.email you@forge.example
  if [[ -n $stand_in ]]; then
    ln -s "$here/stand-ins/docker" "$place/bin/docker"
    export PATH=$place/bin:$PATH FORKLIFT_TEST_DOCKER=$place/docker
    unset FORKLIFT_TEST_FAULT FORKLIFT_TEST_LABEL
  fi
  trap clean_up EXIT
}

clean_up() {
  [[ -z ${model:-} ]] || kill "$model" 2>/dev/null || true
  (cd "$place" && forge down --all >/dev/null 2>&1) || true
}

make_a_repository() {
  title 'A small repository'
  mkdir -p "$place/notes/src" "$place/notes/test"
  cd "$place/notes"
  git init --quiet
  printf '%s\n' '/** A note, as it was written. */' 'export type Note = { text: string }' '' \
    '/** Reads notes, one a line. */' \
    "export const parseNotes = (text: string): Note[] => text.split('\\n').filter(Boolean).map(line => ({ text: line }))" \
    >src/notes.ts
  printf '%s\n' "import { expect, test } from 'bun:test'" "import { parseNotes } from '../src/notes.ts'" '' \
    "test('a note is a line', () => {" "  expect(parseNotes('a\\nb\\n')).toEqual([{ text: 'a' }, { text: 'b' }])" '})' \
    >test/notes.test.ts
  printf '# notes\n\nKeeps notes, one a line.\n' >README.md
  printf '%s\n' '# For the forge' '' 'Small functions, each in a file of its own, with its test.' '' '## Checks' '' \
    "- \`bun test\`" >FORGE.md
  git add --all
  git commit --quiet --message 'Keep notes'
  git ls-files | note
}

take_the_example() {
  title 'A repository with what is given'
  cp -R "$project/docs/examples/$domain" "$place/notes"
  cd "$place/notes"
  git init --quiet
  git add --all
  git commit --quiet --message 'Give the task, its sources and its check'
  git ls-files | note
}

start_a_model() {
  mkfifo "$place/model"
  if [[ -n $domain ]]; then
    bun "$here/doubles/domain-model.ts" "$domain" >"$place/model" &
  else
    bun "$here/doubles/task-model.ts" >"$place/model" &
  fi
  model=$!
  mkdir -p "$HOME/.config/forge"
  # The scripted model prints the settings that lead to it, and goes on running.
  head -n 3 "$place/model" >"$HOME/.config/forge/forge.env"
  local name
  name=$(sed -n 's/^FORGE_MODEL=//p' "$HOME/.config/forge/forge.env")
  printf 'FORGE_PRICES=%s=3/15\n' "$name" >>"$HOME/.config/forge/forge.env"
  chmod 600 "$HOME/.config/forge/forge.env"
}

run_it() {
  local code=0
  title 'A wish becomes a plan, the plan becomes tasks'
  typed forge run --yes '"Add tags to notes, with tests and a page of docs"'
  forge run --yes 'Add tags to notes, with tests and a page of docs' || code=$?
  ((code == 4)) || { echo "forge run ended with $code, where it should wait for an answer (4)." >&2 && exit 1; }
}

answer_it() {
  title 'It asked: so it is answered, and goes on'
  typed forge answer last docs '"for those who write notes"'
  forge answer last docs 'for those who write notes'
  typed forge attach last
  forge attach last
}

show_the_journal() {
  title 'What it did, and why'
  typed forge show last --journal
  forge show last --journal
}

# Waits until the lessons of the run are stored, by a workflow that goes on after the run, and shows them.
show_what_it_learned() {
  local seconds
  for ((seconds = 0; seconds < 30; seconds++)); do
    ! git rev-parse --quiet --verify refs/forge/playbooks >/dev/null || break
    sleep 1
  done
  title 'What the next run will know'
  typed forge playbooks
  forge playbooks
}

land_it() {
  title 'Nothing is merged before you say so'
  typed forge land last --yes
  forge land last --yes
  typed git log --oneline --stat -1
  git log --oneline --stat -1 | note
  typed bun test
  bun test 2>&1 | tail -n 5 | note
}

say_where_things_are() {
  title 'Where everything lies'
  note <<TEXT
$place/notes                      the repository: branches forge/RUN/…, refs/forge/runs/RUN
$XDG_STATE_HOME/forge   what belongs to runs: journal, report, budget; the server's database

To look around:   cd $place/notes
To clear it away: rm -rf $place

With a key of your own: put it into ~/.config/forge/forge.env, then forge run "…" in your repository. README.md says how.
TEXT
}

main "$@"
