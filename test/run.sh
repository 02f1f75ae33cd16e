#!/usr/bin/env bash
# Runs all tests that need neither docker nor network, as fast as this machine can.
#
#   run.sh [ARGUMENT...]      the arguments go to `bun test`; without any, all tests but those on a Temporal server
#   run.sh --on-temporal      those on a Temporal server: whole runs, workflows, the worker, and kill -9 of each
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
readonly here timings=node_modules/.cache/test-timings.json

# Lists the test files that do whole runs on a real Temporal server, which take minutes; the longest first, so that no
# processor waits for one of them in the end.
on_temporal() {
  ls -d test/forge/tasks/*.test.ts test/forge/tasks/{flows,commands,engine}
}

# Uses a folder in memory for temporary files, if it has room and allows execution: the tests make and remove half a
# million small files, which takes a fifth of the time on a disk.
in_memory() {
  local folder=/dev/shm probe
  [[ $(df -Pk "$folder" 2>/dev/null | awk 'NR == 2 { print $4 }') -gt $((4 * 1024 * 1024)) ]] || return 0
  probe=$(mktemp "$folder/forklift-probe-XXXXXX" 2>/dev/null) || return 0
  printf '#!/bin/sh\n' >"$probe" && chmod +x "$probe"
  if "$probe" 2>/dev/null; then echo "$folder"; fi
  rm -f "$probe"
}

main() {
  cd "$here/.."
  if [[ -z ${TMPDIR:-} ]]; then
    TMPDIR=$(in_memory)
    export TMPDIR=${TMPDIR:-/tmp}
  fi
  # Records how long each file took, so that the longest starts first the next time.
  mkdir -p "${timings%/*}"
  [[ -s $timings ]] || echo '{ "version": 1, "files": {} }' >"$timings"
  # Tests often wait for git, a browser or a clock, so run twice as many files as there are processors.
  local cores parallel
  cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
  parallel=--parallel=$((2 * cores))
  if (($# == 0)); then
    # The page of the desk is built once, not by each file that opens it.
    FORGE_TEST_PAGE=$(mktemp -d)
    export FORGE_TEST_PAGE
    trap 'rm -rf -- "$FORGE_TEST_PAGE"' EXIT
    bun forge/desk/build.ts "$FORGE_TEST_PAGE" >/dev/null
    # What is long in lines is so in time, too, where nothing is known of it yet: it begins first.
    # shellcheck disable=SC2046 # none of our names has a blank in it
    set -- $(ls -S $(find test -name '*.test.ts' | grep -vFf <(on_temporal)))
  elif [[ $1 == --on-temporal ]]; then
    # shellcheck disable=SC2046
    set -- $(on_temporal)
    # Each test file starts a Temporal server and a worker, which need more of a processor than they wait.
    parallel=--parallel=$((cores + (cores + 1) / 2))
  fi
  bun test "$parallel" --max-concurrency 8 --timeout 120000 --timings="$timings" --update-timings "$@"
}

main "$@"
