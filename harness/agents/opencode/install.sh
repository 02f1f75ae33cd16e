#!/usr/bin/env bash
# Installs OpenCode for the image. It is a single program; npm is only used to download it.
#
#   install.sh PREFIX      see ../README.md
set -euo pipefail

readonly version=1.18.33

packages=$(mktemp -d)
trap 'rm -rf "$packages"' EXIT
npm install --global --prefix "$packages" "opencode-ai@$version"
install -D -m 755 "$packages/lib/node_modules/opencode-ai/bin/opencode.exe" "$1/bin/opencode"
"$1/bin/opencode" --version
