# shellcheck shell=bash
# OpenCode's settings, for entry.sh, which keeps the key from the agent. ../README.md lists what this file must define.
# shellcheck disable=SC2034 # entry.sh reads them

agent_key=OPENCODE_API_KEY
agent_address=OPENCODE_BASE_URL
agent_settings=(OPENCODE_MODEL OPENCODE_VARIANT OPENCODE_AGENT OPENCODE_BASE_URL)

# Without the user's own endpoint, the model is one of OpenCode's own provider.
model_address() { echo "${OPENCODE_BASE_URL:-https://opencode.ai/zen/v1}"; }

# Prints the model's id, and which APIs the agent may ask it by: the user's own endpoint only by chat completions.
model_asked() {
  if [[ -n ${OPENCODE_BASE_URL:-} ]]; then echo "$OPENCODE_MODEL chat"; else echo "${OPENCODE_MODEL#opencode/} all"; fi
}

point_agent_at() {
  [[ -z ${OPENCODE_BASE_URL:-} ]] || OPENCODE_BASE_URL=$1
  OPENCODE_API_KEY=held-by-the-proxy
}
