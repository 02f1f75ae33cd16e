#!/usr/bin/env bash
# Prints the digest of the harness that an image is built from. The image has it as the label forklift.harness, by which
# `forklift --check` finds an image that is older than its checkout (harnessDigest in forklift/preflight.ts).
#
#   harness-digest.sh HARNESS
#
# It is made from the path and the content of each file in path order, each ended by NUL. Hidden files, such as a file
# manager's, and the agents that the link agents/chosen does not name are left out.
set -euo pipefail

cd -- "$1"
chosen=$(readlink agents/chosen)
find . -type f ! -path '*/.*' \( ! -path './agents/*/*' -o -path "./agents/${chosen##*/}/*" \) | LC_ALL=C sort \
  | while IFS= read -r file; do
    printf '%s\0' "${file#./}"
    cat -- "$file"
    printf '\0'
  done | { sha256sum 2>/dev/null || shasum -a 256; } | cut -d ' ' -f 1
