#!/usr/bin/env bash
# The entry point of the container, run as root. It locks the container around the agent, proves that it is locked, and
# starts run.sh as an unprivileged user. It takes no arguments.
#
# Takes
#   the agent's settings with the model's key, in the variables that agents/chosen/lock.sh names
#   /workspace and /harness-state, mounted; the agent runs as the owner of /workspace, or as 1000:1000 where that is
#   root (Docker Desktop shows every mount as root's). Where Forklift runs as root, the owner is 2100000001.
#   /harness-state/run.txt: `seconds`, and `reject=ADDRESS/PREFIX` for each network that the host is in
#   the capabilities NET_ADMIN, SETUID, SETGID, SETPCAP and no others
#
# Prints to standard error what it did, and one JSON line for each model request (proxy.mjs). The agent can't write
# there: no process that its user could touch has this container's standard input, output or error. The output is
# limited: process 1 prints a few sentences, proxy.mjs at most 100 kB.
#
# Exit codes, whatever the agent does: those of run.sh (0, 2, 4, 5); 5 also when the lock fails.
set -Eeuo pipefail
trap 'die "line $LINENO failed"' ERR # the status of a failed command could equal one of the exit codes above
export LC_ALL=C.UTF-8

readonly here=/opt/forklift/harness
# shellcheck source=harness/agents/chosen/lock.sh
source "$here/agents/chosen/lock.sh"
readonly node=/opt/forklift/node # the distribution's Node, which its own user can't read: see check_keeper
readonly keeper=2100000000       # the user of the proxy and other guards; no account has this id, see below
readonly grace=7                 # seconds for writing STUCK.md, within the ten of `docker stop`
readonly overtime=15             # seconds after which the container ends even if not stopped from outside
# Settings of tools in the image. No other variables reach the agent.
readonly kept=(PATH LANG PIP_BREAK_SYSTEM_PACKAGES RUSTUP_HOME RUSTUP_TOOLCHAIN NODE_EXTRA_CA_CERTS)

readonly drop_privileges=(--inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs)
# The keeper, which runs the proxy with the key, has an id above those that users, containers and directory services are
# given (systemd's table ends at 1,879,048,191, the default ranges of FreeIPA and SSSD at 2,000,200,000), so that no
# file and no process of another user has it.
readonly become_keeper=(setpriv --reuid "$keeper" --regid "$keeper" --clear-groups "${drop_privileges[@]}")

become_agent=()
uid='' gid='' seconds='' rejected=()
base_url='' model_host='' model_port=''
agent='' proxy='' disk='' clock='' proxy_url=''
to_messenger='' never='' # file descriptors
stopping=''

main() {
  trap stop TERM INT
  trap : PIPE
  cd /
  # No core dumps: if the host pipes them to a program, a limit of 0 does not prevent that, a limit of 1 does.
  prlimit --pid 1 --core=1:1 2>/dev/null || ulimit -c 0
  read_owner
  check_privileges
  read_run
  read_base_url
  raise_firewall
  check_firewall
  start_disk_watch
  start_proxy
  check_keeper
  start_clock
  start_agent
  wait_for_the_end
}

say() { echo "entry: $*" >&2; }

die() {
  say "$*"
  exit 5
}

# --- first: the key leaves the environment ------------------------------------

# /proc/1/environ shows the environment that a process was started with, even after `unset`. So the key goes into a
# pipe, and this script restarts itself without it.
hide_the_key() {
  local name kept_settings=()
  [[ ${!agent_key:-} =~ ^[[:graph:]]{1,4000}$ ]] || die "$agent_key is missing, or no key"
  for name in "${kept[@]}" "${agent_settings[@]}"; do
    [[ -z ${!name:-} ]] || kept_settings+=("$name=${!name}")
  done
  exec 3<<<"${!agent_key}"
  exec env -i "${kept_settings[@]}" "$here/entry.sh" locked
}

# --- the facts of the run, read before the agent starts -------------------------

as_agent() { "${become_agent[@]}" "$@"; }

read_owner() {
  read -r uid gid < <(stat -c '%u %g' /workspace)
  if [[ $uid == 0 ]]; then uid=1000 gid=1000; fi
  if [[ $gid == 0 ]]; then gid=$uid; fi
  [[ $uid =~ ^[1-9][0-9]*$ && $gid =~ ^[1-9][0-9]*$ ]] || die 'the owner of /workspace cannot be read'
  [[ $uid != "$keeper" && $gid != "$keeper" ]] || die "/workspace belongs to $keeper, who keeps the key"
  become_agent=(setpriv --reuid "$uid" --regid "$gid" --clear-groups "${drop_privileges[@]}")
}

# Reads as the agent: root without DAC_OVERRIDE can't read a folder that is closed to others.
read_run() {
  local line
  while IFS= read -r line; do
    case $line in
      seconds=*) seconds=${line#*=} ;;
      reject=*)
        family_of_network "${line#*=}" >/dev/null || die "run.txt: reject is no network: ${line#*=}"
        rejected+=("${line#*=}")
        ;;
    esac
  done < <(as_agent head -c 65536 /harness-state/run.txt)
  [[ $seconds =~ ^[1-9][0-9]{0,4}$ ]] || die '/harness-state/run.txt cannot be read, or says no seconds'
}

read_base_url() {
  base_url=$(model_address)
  base_url=${base_url%/}
  [[ $base_url =~ ^(https?)://(\[([0-9a-fA-F:]+)\]|[A-Za-z0-9.-]+)(:([0-9]+))?(/[A-Za-z0-9._~/%+@-]*)?$ ]] \
    || die "$agent_address is not a URL"
  model_host=${BASH_REMATCH[3]:-${BASH_REMATCH[2]}}
  model_port=${BASH_REMATCH[5]:-$([[ ${BASH_REMATCH[1]} == https ]] && echo 443 || echo 80)}
}

# --- the lock -----------------------------------------------------------------

# setpriv does not report a bounding set that it can't drop, so check it.
check_privileges() {
  local status
  status=$(as_agent cat /proc/self/status) || die 'cannot become the unprivileged user: SETUID and SETGID are needed'
  [[ $(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):[[:space:]]+0+$' <<<"$status") == 5 ]] \
    || die 'the agent would keep capabilities: SETPCAP is needed'
  grep -qE '^NoNewPrivs:[[:space:]]+1$' <<<"$status" || die 'the agent could gain privileges'
  grep -qE "^Uid:([[:space:]]+$uid){4}\$" <<<"$status" || die "the agent would not be user $uid"
  grep -qE "^Gid:([[:space:]]+$gid){4}\$" <<<"$status" || die "the agent would not be in group $gid"
  grep -qE '^Groups:[[:space:]]*$' <<<"$status" || die 'the agent would keep groups'
}

# Prints the addresses of a host name of one family (4 or 6), one a line.
resolve() { { getent "ahostsv$1" "$2" || true; } | awk '{ print $1 }' | sort -u; }

# Allows only the proxy to reach the model's addresses, at its port: the model may be on the local network, which is
# otherwise rejected.
model_rules() {
  local address
  for address in $(resolve 4 "$model_host"); do
    echo "meta skuid $keeper ip daddr $address tcp dport $model_port accept"
  done
  for address in $(resolve 6 "$model_host"); do
    [[ $address == ::ffff:* ]] || echo "meta skuid $keeper ip6 daddr $address tcp dport $model_port accept"
  done
}

# Allows only port 53 of the DNS servers, which may be on the local network.
resolver_rules() {
  local keyword address family
  while read -r keyword address _; do
    [[ $keyword == nameserver ]] || continue
    family=$(family_of "$address") || continue
    echo "$family daddr $address meta l4proto { tcp, udp } th dport 53 accept"
  done </etc/resolv.conf
}

# Rejects the networks that the host is in: the host and its neighbours may have public addresses.
reject_rules() {
  local network
  for network in "${rejected[@]}"; do
    echo "$(family_of_network "$network") daddr $network reject"
  done
}

family_of() {
  if [[ $1 =~ ^[0-9]{1,3}(\.[0-9]{1,3}){3}$ ]]; then
    echo ip
  elif [[ $1 =~ ^[0-9a-fA-F]*:[0-9a-fA-F:.]*$ ]]; then
    echo ip6
  else
    return 1
  fi
}

# Prints the family of a network (4 or 6). Fails for a prefix so short that it would block the internet.
family_of_network() {
  local family prefix=${1##*/}
  family=$(family_of "${1%/*}") && [[ $1 == */* && $prefix =~ ^[1-9][0-9]{0,2}$ ]] || return 1
  case $family in
    ip) ((prefix >= 8 && prefix <= 32)) || return 1 ;;
    ip6) ((prefix >= 16 && prefix <= 128)) || return 1 ;;
  esac
  echo "$family"
}

# Prints a neighbouring address in the same network: the last bit is flipped.
neighbour_of() {
  local address=${1%/*} last digits=1032547698badcfe
  if [[ $address == *.* ]]; then
    echo "${address%.*}.$((${address##*.} ^ 1))"
  elif [[ $address == *: ]]; then
    echo "${address}1"
  else
    last=${address: -1}
    echo "${address%?}${digits:0x$last:1}"
  fi
}

# Limits new connections, because the host's table of connections (conntrack) is finite: an entry for TCP may stay for
# days, one for UDP for two minutes. A dropped TCP packet is sent again after a second, so that a program with too many
# connections waits and does not fail. No rule keeps state of its own that could be filled up. The protocol numbers:
# ICMP is 1 and 58, TCP 6, UDP 17.
limit_rules() {
  local new='tcp flags & (syn | ack) == syn'
  echo "$new limit rate over 3000/hour burst 5000 packets drop"
  echo "$new limit rate over 100/second burst 500 packets drop"
  echo 'meta l4proto udp limit rate over 100/second burst 500 packets drop'
  echo 'meta l4proto { 1, 58 } limit rate over 5/second burst 20 packets drop'
  echo 'meta l4proto != { 1, 6, 17, 58 } reject'
}

# Rejects everything but the public internet: the special-purpose ranges of IANA (RFC 6890), and multicast. Of IPv6 only
# 2000::/3 is assigned; everything outside is special too, such as NAT64's 64:ff9b::/96, behind which any IPv4 address
# may be. Neighbour discovery, without which IPv6 does not work, is handled by the kernel.
raise_firewall() {
  nft -f - <<RULES || die 'the firewall cannot be raised: NET_ADMIN and nftables are needed'
flush ruleset
table inet forklift {
  chain output {
    type filter hook output priority 0; policy accept;
    oifname "lo" accept
    icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept
$(model_rules)
$(limit_rules)
$(resolver_rules)
$(reject_rules)
    ip daddr { 0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24,
      192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/3 } reject
    ip6 daddr != 2000::/3 reject
    ip6 daddr { 2001::/23, 2002::/16, 3fff::/20 } reject
  }
}
RULES
}

# Tests the firewall by its effect. A datagram that the firewall rejects fails with EPERM at once: nothing in the
# network can cause that, and a missing rule can't look like it.
check_firewall() {
  local network address answer gateway forbidden=()
  gateway=$(default_gateway) || die 'the container has no network'
  if as_agent nft flush ruleset 2>/dev/null; then die 'the agent could remove the firewall'; fi
  for network in "${rejected[@]}"; do
    forbidden+=("${network%/*}")
    [[ $network == *.*/32 || $network == *:*/128 ]] || forbidden+=("$(neighbour_of "$network")")
  done
  for address in "$gateway" 10.255.255.254 172.31.255.254 192.168.255.254 169.254.169.254 100.127.255.254 \
    fd12:3456:789a::1 fe80::1 64:ff9b::a00:1 "${forbidden[@]}"; do
    answer=$(udp_error "$address") || true
    is_refused_here "$address" "$answer" || die "the firewall does not hold: $address ${answer:-was reached}"
  done
  tcp_gets_no_answer "$gateway" || die "the firewall does not hold: $gateway answered"
  say "closed: user $uid:$gid, no capabilities, private addresses and ${#rejected[@]} networks of the host rejected"
}

# Most containers have no IPv6, so there is nothing to reject.
is_refused_here() {
  [[ $2 == *'Operation not permitted' ]] && return
  [[ $1 == *:* && $2 =~ (Cannot assign requested address|Network is unreachable|Address family not supported by protocol|Invalid argument)$ ]]
}

# Reads the kernel's routing table, where addresses are little-endian hexadecimal.
default_gateway() {
  local destination hex
  while read -r _ destination hex _; do
    [[ $destination == 00000000 ]] || continue
    printf '%d.%d.%d.%d\n' "0x${hex:6:2}" "0x${hex:4:2}" "0x${hex:2:2}" "0x${hex:0:2}"
    return
  done </proc/net/route
  return 1
}

# shellcheck disable=SC2016 # $1 is the inner shell's
udp_error() { as_agent timeout 5 bash -c 'echo >"/dev/udp/$1/9"' check "$1" 2>&1 | tail -n 1; }

# Tests TCP. A blocking connect learns of the rejection only at its second packet, after a second. Without the rules,
# the gateway accepts or refuses the connection at once.
# shellcheck disable=SC2016
tcp_gets_no_answer() {
  local status=0
  as_agent timeout 0.3 bash -c 'exec 4<>"/dev/tcp/$1/9"' check "$1" 2>/dev/null || status=$?
  ((status == 124)) # exit code of timeout: still waiting
}

# --- the processes in the container ---------------------------------------------

# Starts the proxy, as neither root nor the agent, without capabilities. The key comes by a pipe.
start_proxy() {
  local key port to_proxy model dialects
  read -r model dialects < <(model_asked)
  IFS= read -r key <&3 || die 'the key is gone'
  exec 3<&-
  coproc PROXY {
    ulimit -c 0
    exec "${become_keeper[@]}" env -i NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt \
      "$node" --max-old-space-size=512 "$here/proxy.mjs" "$model" "$dialects"
  }
  proxy=$PROXY_PID to_proxy=${PROXY[1]}
  echo "$base_url $key" >&"$to_proxy"
  exec {to_proxy}>&-
  key=''
  IFS= read -r -t 20 port <&"${PROXY[0]}" || die 'the proxy did not start'
  [[ $port =~ ^[0-9]+$ ]] || die 'the proxy did not start'
  proxy_url=http://127.0.0.1:$port
}

# Starts the disk watch as a process of its own, so that nothing delays it.
start_disk_watch() {
  local said heard answer=''
  exec {said}<> <(:) # a pipe whose output ends with the process
  exec {heard}<"/proc/self/fd/$said"
  "${become_keeper[@]}" env -i "$node" "$here/disk-watch.mjs" /workspace /harness-state >&"$said" {said}>&- {heard}<&- &
  disk=$!
  exec {said}>&-
  IFS= read -r -t 20 answer <&"$heard" || true
  exec {heard}<&-
  [[ $answer == watching ]] || finish 5 # the watch has printed the reason
}

# Checks the processes of the user `keeper`. Their program is one that this user can't read, so it is not dumpable: it
# leaves no core, and its /proc/PID belongs to root, so that no other process of the same user can read its memory or
# attach to it.
check_keeper() {
  local pid status
  for pid in "$proxy" "$disk"; do
    status=$(cat "/proc/$pid/status") || die 'the proxy or the watch over the disk ended'
    grep -qE "^Uid:([[:space:]]+$keeper){4}\$" <<<"$status" || die "process $pid would not be user $keeper"
    [[ $(grep -cE '^Cap(Inh|Prm|Eff|Bnd|Amb):[[:space:]]+0+$' <<<"$status") == 5 ]] \
      || die "process $pid would keep capabilities"
    [[ $(stat -c %u "/proc/$pid/environ") == 0 ]] || die "process $pid could be looked into"
    if as_agent head -c 1 "/proc/$pid/environ" >/dev/null 2>&1; then die "the agent could read process $pid"; fi
  done
}

# Starts the clock, as root and before the agent, so that the agent can't stop it or use up the processes that it needs.
start_clock() {
  sleep $((seconds + overtime)) &
  clock=$!
  exec {never}<> <(:) # a pipe that never has a line: `read -t` from it sleeps without a fork
}

# Lowers the limits of the agent's processes. Signals and message queues are counted by user for the whole host, so the
# agent gets a small part of what a person's programs may use.
lower_limits() {
  lower_limit -f $((2 * 1024 * 1024)) # KiB of a file
  lower_limit -n 4096                 # open files
  lower_limit -i 2048                 # pending signals, and timers
  lower_limit -q 262144               # bytes of message queues
}

lower_limit() {
  local hard
  hard=$(ulimit -H "$1")
  if [[ $hard == unlimited ]] || ((hard > $2)); then ulimit "$1" "$2"; fi
}

# Starts the agent, and a messenger that can signal it: root without CAP_KILL can't signal the agent's user, so the
# messenger runs as that user and waits for one line. The agent could take the messenger over by ptrace, so that has no
# access to the container's output. The processes that guard the agent have a higher priority.
start_agent() {
  local name settings=()
  [[ -z $stopping ]] || finish 2
  # The messenger runs as the agent's user, so the agent could take it over by ptrace: it gets the same restrictions.
  # shellcheck disable=SC2016 # $agent is the inner shell's
  exec {to_messenger}> >(
    exec {never}<&-
    lower_limits
    exec "${become_agent[@]}" env -i "PATH=$PATH" "$here/seccomp.pl" \
      /bin/bash -c 'read -r agent && kill -TERM "$agent"' >/dev/null 2>&1
  )
  point_agent_at "$proxy_url"
  for name in "${kept[@]}" "${agent_settings[@]}" "$agent_key"; do
    [[ -z ${!name:-} ]] || settings+=("$name=${!name}")
  done
  (
    exec {to_messenger}>&- {never}<&-
    lower_limits
    cd /workspace && exec nice -n 10 "${become_agent[@]}" env -i "${settings[@]}" \
      FORKLIFT_PROXY="$proxy_url" \
      "$here/seccomp.pl" "$here/run.sh"
  ) </dev/null >/dev/null 2>&1 &
  agent=$!
  say 'the agent starts'
}

stop() {
  stopping=yes
  if [[ -n $agent ]]; then echo "$agent" >&"$to_messenger" || true; fi
}

# No forks from here on: an agent that uses up all processes must not keep this script from ending.
wait_for_the_end() {
  local code=0 ended=''
  if [[ -z $stopping ]]; then wait -n -p ended "$agent" "$proxy" "$disk" "$clock" || code=$?; fi
  case ${ended:-} in
    "$agent") finish "$code" ;;
    "$proxy") die 'the proxy ended' ;;
    "$disk")
      ((code == 3)) || die 'the watch over the disk ended' # for code 3, the watch has printed the reason
      finish 5
      ;;
    "$clock") say "still running $overtime seconds after its time" && stop ;;
    *) say 'told to stop' ;;
  esac
  pause_until_agent_ends
  [[ ! -e /proc/$agent ]] || finish 2
  code=0
  wait "$agent" || code=$?
  if [[ $code == 0 || $code == 4 ]]; then finish "$code"; else finish 2; fi
}

pause_until_agent_ends() {
  local ends=$((SECONDS + grace))
  while ((SECONDS < ends)) && [[ -e /proc/$agent ]]; do
    read -r -t 0.1 -u "$never" || true
  done
}

finish() {
  case $1 in
    0 | 2 | 4) exit "$1" ;;
    *) exit 5 ;;
  esac
}

[[ $$ == 1 ]] || die 'this is the entry point of the container, and nothing else'
if [[ ${1:-} == locked ]]; then main; else hide_the_key; fi
