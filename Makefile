# Forklift's commands. `make` alone lists them; each installs what it needs first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The folder of this Makefile, from wherever it is used; it may have spaces in it.
HERE := $(shell cd -- "$$(dirname -- '$(strip $(MAKEFILE_LIST))')" && pwd)
FORK ?= .
IMAGE := forklift/kitchen-sink:latest
BUN_VERSION := 1.4.5
BIN := $(HOME)/.local/bin
export PATH := $(HERE)/.tools/node_modules/.bin:$(PATH)

.PHONY: help run demo image test test-e2e bench check install cron clean bun runtime tools programs

help: ## list these targets
	@echo 'Forklift keeps a fork current. Targets:'
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' '$(HERE)/Makefile'

run: runtime ## bring upstream into the fork in this folder, or in FORK=path; ARGS="--check" and the like
	@cd -- '$(patsubst ~/%,$(HOME)/%,$(FORK))' && exec '$(HERE)/forklift.ts' $(ARGS)

demo: runtime ## show the whole thing on a made-up fork: needs no docker, no key, no GitHub
	@'$(HERE)/test/demo.sh'

image: ## build the container image that the agent works in
	@echo 'Building $(IMAGE): about 10 minutes and 5 GB the first time.'
	digest=$$(cd -- '$(HERE)/harness' && for file in $$(LC_ALL=C ls); do printf '%s\0' "$$file"; cat "$$file"; printf '\0'; done \
	  | { sha256sum 2>/dev/null || shasum -a 256; } | cut -d ' ' -f 1) && \
	docker build --tag $(IMAGE) --build-arg "HARNESS_DIGEST=$$digest" --file '$(HERE)/docker/kitchen-sink/Dockerfile' '$(HERE)/harness'

test: tools ## run the tests that need neither docker nor network (ARGS: files or --test-name-pattern)
	@cd -- '$(HERE)' && test/run.sh $(ARGS)
	@echo 'Left out: the tests on a real Docker Engine (make test-e2e).'

test-e2e: tools ## run the tests on a real Docker Engine with the real OpenCode (skipped where no engine can run)
	@cd -- '$(HERE)' && test/e2e/run.sh $(ARGS)

bench: tools ## measure what Forklift costs beside the bare git commands (about 5 minutes)
	@cd -- '$(HERE)' && bun bench/run.ts

check: tools programs ## check types, lint, format and shell scripts
	@cd -- '$(HERE)' && echo 'types' && node_modules/.bin/tsc --noEmit
	@cd -- '$(HERE)' && echo 'lint and format' && node_modules/.bin/biome ci --error-on-warnings .
	@cd -- '$(HERE)' && echo 'shell scripts' && git ls-files -z -- '*.sh' '.ci/run' 'test/stand-ins/*' \
	  | xargs -0 shellcheck --external-sources
	@cd -- '$(HERE)' && git ls-files -z -- '*.sh' '.ci/run' 'test/stand-ins/*' | xargs -0 shfmt -d -i 2 -ci -bn
	@cd -- '$(HERE)' && echo 'size' && lines=$$(wc -l <forklift.ts) && { ((lines < 500)) || { echo "forklift.ts has $$lines lines"; exit 1; }; }

install: runtime ## make `forklift` a command: a link in ~/.local/bin
	@mkdir -p '$(BIN)' && ln -sfn '$(HERE)/forklift.ts' '$(BIN)/forklift' && echo 'Linked $(BIN)/forklift to $(HERE)/forklift.ts.'
	@command -v bun | grep -qv '^$(HERE)/' || { ln -sfn "$$(command -v bun)" '$(BIN)/bun' && echo 'Linked $(BIN)/bun too.'; }
	@case ":$$PATH:" in *':$(BIN):'*) ;; *) echo '$(BIN) is not on your PATH: add it in your shell profile.' ;; esac

cron: runtime ## print a crontab line for the fork in this folder, or in FORK=path
	@path=$$(tr : '\n' <<<"$$PATH" | while read -r dir; do for tool in bun git docker gh; do [[ ! -x $$dir/$$tool ]] || echo "$$dir"; done; done \
	  | cat - <(printf '/usr/bin\n/bin\n') | awk '!seen[$$0]++' | paste -sd : -) && \
	cd -- '$(patsubst ~/%,$(HOME)/%,$(FORK))' && top=$$(git rev-parse --show-toplevel) && \
	printf "0 9 * * * cd %q && PATH=%q %q\n" "$$top" "$$path" '$(HERE)/forklift.ts' | sed 's/%/\\%/g'

clean: ## remove what these targets installed in this folder (runs in ~/.local/state/forklift stay)
	@rm -rf -- '$(HERE)/node_modules' '$(HERE)/.tools' && echo 'Removed node_modules and .tools.'

# What the targets above need.

bun:
	@command -v bun >/dev/null || { echo 'Installing Bun $(BUN_VERSION) into .tools'; \
	  command -v npm >/dev/null || { echo 'Bun is missing, and so is npm to install it: see https://bun.sh'; exit 1; }; \
	  npm install --silent --no-save --prefix '$(HERE)/.tools' bun@$(BUN_VERSION); }

# A mark says what was installed, and by being older than the lock file, that it is out of date.
runtime: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-run -nt bun.lock ]] || { bun install --silent --frozen-lockfile --production \
	  && rm -f node_modules/.to-test && touch node_modules/.to-run; }

tools: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-test -nt bun.lock ]] || { bun install --silent --frozen-lockfile \
	  && touch node_modules/.to-run node_modules/.to-test; }

# For the checks, and for the one test that needs the real git-lfs.
programs:
	@for tool in shellcheck shfmt git-lfs; do command -v $$tool >/dev/null && continue; \
	  { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; } || { echo "$$tool is missing: install it with your package manager"; exit 1; }; \
	  echo "Installing $$tool"; apt-get update -qq; apt-get install -y -qq --no-install-recommends $$tool >/dev/null; done
