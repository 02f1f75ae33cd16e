#!/usr/bin/env bash
# Runs the end-to-end tests: a real Docker Engine, the image's stage `sandbox`, the real OpenCode, a scripted model.
#
#   run.sh [ARGUMENT...]      the arguments go to `bun test`
#
# An existing image forklift/kitchen-sink:latest is restored at the end. Where no engine can run, the tests are skipped
# with a message; in CI that is a failure.
#
# Exit codes: those of `bun test`; 1 when the engine or the image could not be made.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
readonly here root=$here/../..
readonly image=forklift/kitchen-sink:latest kept=forklift/kitchen-sink:before-e2e

clean_up() {
  if docker image inspect "$kept" >/dev/null 2>&1; then
    docker tag "$kept" "$image"
    docker rmi "$kept" >/dev/null
  else
    docker rmi --no-prune "$image" >/dev/null 2>&1 || true
  fi
  "$here/engine.sh" down
}

start_engine() {
  local status=0 host
  host=$("$here/engine.sh" up) || status=$?
  if ((status == 3)) && [[ ${CI:-} != true ]]; then
    echo 'e2e: skipped, no Docker Engine can run here'
    exit 0
  fi
  ((status == 0)) || exit 1
  if [[ -n $host ]]; then export DOCKER_HOST=$host; fi
}

# If an earlier run was killed, the image that it kept is the one to restore.
keep_image() {
  if docker image inspect "$image" >/dev/null 2>&1 && ! docker image inspect "$kept" >/dev/null 2>&1; then
    docker tag "$image" "$kept"
  fi
}

# Like `make image`, but with another stage and base, and with the classic builder, which is always available.
build_image() {
  local base digest
  base=$("$here/engine.sh" base)
  digest=$("$root/docker/harness-digest.sh" "$root/harness")
  echo "e2e: building the image's stage sandbox on $base"
  DOCKER_BUILDKIT=0 docker build --quiet --target sandbox --tag "$image" --build-arg "BASE=$base" \
    --build-arg "HARNESS_DIGEST=$digest" --file "$root/docker/kitchen-sink/Dockerfile" "$root/harness" >/dev/null
}

start_engine
trap clean_up EXIT
docker network prune --force --filter label=forklift-e2e >/dev/null # networks of a run that was killed
keep_image
build_image
cd "$root"
# Without a file among the arguments, all of them.
[[ ${1:-} == ./* ]] || set -- ./test/e2e/*.e2e.ts "$@"
bun test --timeout 240000 "$@"
