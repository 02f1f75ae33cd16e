# shellcheck shell=bash
# OpenCode, as the lock (entry.sh) must know it. Another agent is another folder beside this one, with these names:
#
#   agent_key               the setting that holds the model's key, which the agent never gets
#   agent_address           the setting that holds the model's address
#   agent_settings          the other settings that it is started with
#   model_address           prints the address of the model
#   model_asked             prints what may be asked there, as proxy.mjs takes it: a model, and `chat` or `all`
#   point_agent_at ADDRESS  changes the settings so that the agent asks there, with a key that is none
# shellcheck disable=SC2034 # entry.sh reads them

agent_key=OPENCODE_API_KEY
agent_address=OPENCODE_BASE_URL
agent_settings=(OPENCODE_MODEL OPENCODE_VARIANT OPENCODE_AGENT OPENCODE_BASE_URL)

# Without an endpoint of the user's own it is OpenCode's own provider.
model_address() { echo "${OPENCODE_BASE_URL:-https://opencode.ai/zen/v1}"; }

# An endpoint of the user's own is spoken to in chat completions alone.
model_asked() {
  if [[ -n ${OPENCODE_BASE_URL:-} ]]; then echo "$OPENCODE_MODEL chat"; else echo "${OPENCODE_MODEL#opencode/} all"; fi
}

point_agent_at() {
  [[ -z ${OPENCODE_BASE_URL:-} ]] || OPENCODE_BASE_URL=$1
  OPENCODE_API_KEY=held-by-the-proxy
}
