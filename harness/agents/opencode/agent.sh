# shellcheck shell=bash
# OpenCode, as run.sh starts it. ../README.md lists what this file must define.
#
# The settings are OPENCODE_MODEL, OPENCODE_VARIANT, OPENCODE_AGENT, OPENCODE_API_KEY and, for an OpenAI-compatible
# endpoint, OPENCODE_BASE_URL. The endpoint gets OPENCODE_MODEL as it is. Without one, OPENCODE_MODEL is a model of
# OpenCode's own provider: NAME or opencode/NAME.
#
# shellcheck disable=SC2154 # run.sh sets agent_log and agent_status

model_id='' # provider/model, as OpenCode names it

check_agent_settings() {
  local name
  for name in OPENCODE_MODEL OPENCODE_VARIANT OPENCODE_AGENT; do
    [[ ${!name:-} =~ ^[A-Za-z0-9][A-Za-z0-9._/-]*$ ]] || die "$name is missing or has characters that no setting has"
  done
  [[ -n ${OPENCODE_API_KEY:-} ]] || die 'OPENCODE_API_KEY is missing'
  for name in OPENCODE_BASE_URL FORKLIFT_PROXY; do
    [[ -z ${!name:-} || ${!name} =~ ^https?://[]A-Za-z0-9._~:/@%+[-]+$ ]] || die "$name is not a URL"
  done
  [[ -n ${OPENCODE_BASE_URL:-} || $OPENCODE_MODEL != */* || $OPENCODE_MODEL == opencode/* ]] \
    || die "OPENCODE_MODEL names the provider ${OPENCODE_MODEL%%/*}: without OPENCODE_BASE_URL there is OpenCode's own alone, opencode/${OPENCODE_MODEL##*/}"
  command -v opencode >/dev/null || die 'opencode is not on PATH'
}

# The project's OpenCode configuration is ignored, since it would let the repository under merge control its agent. No
# calls home, no permission prompts (a rule that asks ends a run without a terminal), no snapshots, no language servers.
configure_agent() {
  if [[ -n ${OPENCODE_BASE_URL:-} ]]; then
    model_id=forklift/$OPENCODE_MODEL
  else
    model_id=opencode/${OPENCODE_MODEL#opencode/}
  fi
  OPENCODE_CONFIG_CONTENT=$(
    jq --null-input --compact-output --arg model "$OPENCODE_MODEL" \
      --arg endpoint "${OPENCODE_BASE_URL:-}" --arg proxy "${FORKLIFT_PROXY:-}" '
      {apiKey: "{env:OPENCODE_API_KEY}"} as $key
      | [$proxy, $endpoint | select(. != "") | {baseURL: .}][0] as $address
      | {
          provider: (
            if $endpoint == "" then
              {opencode: {options: ($key + $address)}}
            else
              {forklift: {
                npm: "@ai-sdk/openai-compatible",
                name: "Forklift",
                options: ($key + $address),
                models: {($model): {tool_call: true, limit: {context: 128000, output: 16384}}}
              }}
            end
          ),
          permission: "allow",
          autoupdate: false,
          share: "disabled",
          snapshot: false,
          lsp: false,
          formatter: false
        }'
  )
  export OPENCODE_CONFIG_CONTENT
  export OPENCODE_DISABLE_PROJECT_CONFIG=1 OPENCODE_PURE=1 OPENCODE_DB=:memory:
  export OPENCODE_DISABLE_AUTOUPDATE=1 OPENCODE_DISABLE_MODELS_FETCH=1 OPENCODE_DISABLE_LSP_DOWNLOAD=1
  export OPENCODE_DISABLE_DEFAULT_PLUGINS=1 OPENCODE_DISABLE_CLAUDE_CODE=1 OPENCODE_DISABLE_SHARE=1
  export OPENCODE_DISABLE_FFF=1
  # OpenCode installs a package from npm into its configuration folder, unless that is read-only.
  mkdir -p "$XDG_CONFIG_HOME/opencode"
  touch "$XDG_CONFIG_HOME/opencode/.gitignore"
  chmod a-w "$XDG_CONFIG_HOME/opencode"
  check_agent_name
}

# Ends the run for an agent name that OpenCode does not know: OpenCode only warns, and uses its default agent. That is
# `build`, so for this name OpenCode is not started just to be asked, which takes a processor for two seconds.
check_agent_name() {
  local known
  [[ $OPENCODE_AGENT != build ]] || return 0
  known=$(opencode agent list </dev/null 2>>"$agent_log") || die "opencode agent list failed; see ${agent_log##*/}"
  grep -qxF "$OPENCODE_AGENT (primary)" <<<"$known" \
    || die "OpenCode knows no primary agent '$OPENCODE_AGENT': set OPENCODE_AGENT to one of $(sed -n 's/ (primary)$//p' <<<"$known" | paste -sd ' ' -)"
}

agent_command() {
  # shellcheck disable=SC2034 # run.sh runs it
  command=(opencode run --model "$model_id" --variant "$OPENCODE_VARIANT" --agent "$OPENCODE_AGENT" --format json --title "$1")
}

# Exit code 0 does not mean success: incomplete answers, refused permissions and empty replies also end with it.
agent_failure() {
  local error reason
  error=$(from_events 'last(event | select(.type == "error")) | objects | .error
    | [words(["data", "message"]), words(["message"]), words(["name"]), tojson][0][0:500]')
  reason=$(from_events 'last(event | select(.type == "step_finish")) | objects | words(["part", "reason"])')
  if [[ -n $error ]]; then
    echo "OpenCode reported an error: $error"
  elif ((agent_status != 0)); then
    echo "OpenCode ended with exit code $agent_status"
  elif [[ $reason != stop ]]; then
    echo "OpenCode's last answer was not finished"
  fi
}

# What the agent said, and of its tool calls the name and the input.
agent_transcript() {
  from_events '
    event
    | if .type == "text" then
        words(["part", "text"]) | "\n" + .
      elif .type == "tool_use" then
        "\n[\([words(["part", "tool"]), "?"][0][0:100])] \((try .part.state.input catch null) | tojson[0:2000])"
      elif .type == "error" then
        "\nError: \(tojson[0:2000])"
      else
        empty
      end'
}

agent_last_words() {
  from_events 'last(event | select(.type == "text") | words(["part", "text"])) | strings | .[-8000:]' | printable | tail -n 40
}
