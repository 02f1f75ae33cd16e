#!/usr/bin/env bash
# A Docker Engine and a base image for the end-to-end tests.
#
#   engine.sh up      prints the DOCKER_HOST to use (an empty line: the engine that already runs)
#   engine.sh base    makes the local base image where it is missing, and prints its name
#   engine.sh down    stops the engine that `up` started, and no other
#   engine.sh remove  the same, and deletes the data of that engine
#
# A running engine is used. Otherwise one is started with a socket, a process id file and data of its own under
# $FORKLIFT_E2E_STORE, which only root can do; where dockerd is missing, it is installed from Debian's packages. The
# base image is made from Debian's or Ubuntu's packages, since an image registry may be out of reach. Like ubuntu:24.04,
# it has a user `ubuntu` with id 1000, which the Dockerfile must handle. FORKLIFT_E2E_BASE names another base image.
#
# Exit codes: 0 done, 1 failed, 3 no engine can run here.
set -euo pipefail

readonly store=${FORKLIFT_E2E_STORE:-/var/lib/forklift-e2e}
readonly socket=$store/docker.sock
readonly pid_file=$store/dockerd.pid
readonly base=${FORKLIFT_E2E_BASE:-forklift-e2e/base:1}

say() { echo "engine: $*" >&2; }

answers() { DOCKER_HOST=${1:-} timeout 10 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

own_engine_runs() {
  local pid
  pid=$(cat "$pid_file" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ && $(cat "/proc/$pid/comm" 2>/dev/null) == dockerd ]]
}

install_packages() {
  [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
  say "installing $*"
  apt-get update -qq >&2 || true
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

up() {
  if answers "${DOCKER_HOST:-}"; then
    echo "${DOCKER_HOST:-}"
    return
  fi
  if [[ $(id -u) != 0 ]]; then
    say 'no Docker Engine answers, and only root can start one'
    exit 3
  fi
  if ! command -v dockerd >/dev/null || ! command -v iptables >/dev/null; then
    install_packages docker.io iptables || {
      say 'no Docker Engine answers, and none can be installed'
      exit 3
    }
  fi
  own_engine_runs || start
  echo "unix://$socket"
}

start() {
  say "starting one with its store in $store"
  mkdir -p "$store"
  rm -f "$pid_file" "$socket"
  nohup dockerd --host "unix://$socket" --pidfile "$pid_file" \
    --data-root "$store/data" --exec-root "$store/exec" >"$store/dockerd.log" 2>&1 </dev/null &
  local dockerd=$!
  for _ in {1..120}; do
    if answers "unix://$socket"; then return; fi
    if ! kill -0 "$dockerd" 2>/dev/null; then break; fi
    sleep 0.5
  done
  kill "$dockerd" 2>/dev/null || true
  tail -n 5 "$store/dockerd.log" >&2
  say 'the Docker Engine did not start'
  exit 3
}

down() {
  own_engine_runs || return 0
  local pid
  pid=$(cat "$pid_file")
  kill "$pid"
  for _ in {1..120}; do
    [[ -e /proc/$pid ]] || return 0
    sleep 0.5
  done
  say "the engine with id $pid did not stop"
  exit 1
}

# Includes the machine's own certificates, which a local mirror of the registries may need.
make_base() {
  if docker image inspect "$base" >/dev/null 2>&1; then
    echo "$base"
    return
  fi
  command -v mmdebstrap >/dev/null || install_packages mmdebstrap
  local suite certificates=${NODE_EXTRA_CA_CERTS:-} folder
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  folder=$(mktemp -d)
  say "making $base from $suite packages"
  # shellcheck disable=SC2016 # $1 is mmdebstrap's
  local hooks=(--customize-hook='chroot "$1" useradd --create-home --uid 1000 ubuntu')
  if [[ -r $certificates ]]; then
    hooks+=(
      --customize-hook="upload $certificates /usr/local/share/ca-certificates/local.crt"
      --customize-hook="chroot \"\$1\" update-ca-certificates"
    )
  fi
  mmdebstrap --quiet --variant=minbase --include=ca-certificates "${hooks[@]}" "$suite" "$folder/base.tar" >&2
  docker import --change 'ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt' "$folder/base.tar" "$base" >/dev/null
  rm -rf "$folder"
  echo "$base"
}

case ${1:-} in
  up) up ;;
  base) make_base ;;
  down) down ;;
  remove)
    down
    rm -rf "$store"
    ;;
  *)
    sed -n '2,/^set /{ /^#/s/^# \{0,1\}//p; }' "$0" >&2
    exit 64
    ;;
esac
