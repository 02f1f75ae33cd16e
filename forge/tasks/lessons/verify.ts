/**
 * What a lesson may not say. Lessons are written by models that have read a repository, the output of checks and the
 * answers of others, any of which may be hostile; and they are read by the models of later runs. So a lesson that names
 * a command or an address, or speaks of what may be written, approved or left unchecked, is not kept. It is no proof
 * against a clever text: what holds is that boundaries are judged by the diff, and that commands need a person's
 * approval. It keeps the plain attempts out, and says so in the journal.
 */

/** Programs whose name, followed by an argument, shows that a text contains a command. */
const PROGRAMS = [
  ...['bash', 'sh', 'zsh', 'eval', 'exec', 'source', 'sudo', 'su', 'env', 'xargs', 'curl', 'wget', 'nc', 'ssh', 'scp'],
  ...['rm', 'mv', 'cp', 'dd', 'chmod', 'chown', 'ln', 'kill', 'tee', 'cat', 'echo', 'base64', 'openssl', 'gpg'],
  ...['git', 'gh', 'docker', 'podman', 'kubectl', 'make', 'cmake', 'npm', 'npx', 'pnpm', 'yarn', 'bun', 'bunx', 'deno'],
  ...['node', 'python', 'python3', 'pip', 'pip3', 'uv', 'pytest', 'ruby', 'gem', 'perl', 'php', 'go', 'cargo', 'mvn'],
  ...['gradle', 'java', 'brew', 'apt', 'apt-get', 'yum', 'apk', 'crontab', 'systemctl', 'forge', 'forklift', 'find'],
]
/**
 * Programs whose names are also English words. They count as commands only before an argument that no sentence has,
 * such as an option or a path.
 */
const WORDS = new Set([
  'make',
  'go',
  'source',
  'find',
  'kill',
  'cat',
  'echo',
  'exec',
  'env',
  'node',
  'forge',
  'java',
  'python',
  'ruby',
  'perl',
  'php',
])
const OF_PROGRAMS = PROGRAMS.filter(name => !WORDS.has(name)).join('|')
const OF_WORDS = [...WORDS].join('|')

const FORBIDDEN: readonly [RegExp, string][] = [
  [/\p{Cc}(?<!\n)|\p{Cf}|[\u2028\u2029]/u, 'it has hidden characters'],
  [/[a-z][a-z0-9+.-]*:\/\/|\bwww\./i, 'it names an address'],
  [/```|~~~|^ {4}\S/m, 'it has a block of code'],
  [/\$\(|\$\{|&&|\|\||[^|]\|[^|]|[<>]{2}|>\s*[\w./]|^\s*[$#%]\s|#!/m, 'it names a command'],
  [new RegExp(`(?:^|[\\s\`'"(])(?:${OF_PROGRAMS})\\s+[-\\w./'"]`, 'i'), 'it names a command'],
  [
    new RegExp(`(?:^|[\\s\`'"(])(?:${OF_WORDS})\\s+(?:-{1,2}\\w|[./~]|\\S+\\.(?:sh|py|js|ts|rb|pl|php)\\b)`, 'i'),
    'it names a command',
  ],
  [new RegExp(`[\`'"](?:${PROGRAMS.join('|')})\\b[^\`'"]*[\`'"]`, 'i'), 'it names a command'],
  [
    /\b(?:run|execute|call|invoke|type|enter)(?:ning|ing|s)?\s+(?:the\s+)?(?:command|script|[`'"./])/i,
    'it names a command',
  ],
  [/\s-{1,2}[a-z][\w-]*(?:=|\s|$)|\.\/\w/i, 'it names a command'],
  [
    /\bboundar(?:y|ies)\b|\bmay[- _]write\b|\ballow(?:ed|s)? (?:it )?to write\b|\*\*|\bglobs?\b/i,
    'it speaks of boundaries',
  ],
  [
    /\boutside (?:of )?(?:the|its|your) (?:task|files?|folders?|limits?)\b|\bany (?:other )?files?\b/i,
    'it speaks of boundaries',
  ],
  [
    /\bnever[- _]touch\b|\bdepends_on\b|\brecursion\b|\bbudgets?\b|\bpermissions?\b|\bnetwork\b/i,
    'it speaks of boundaries',
  ],
  [
    /(?:^|[\s`'"/])(?:\.github|\.gitlab|\.forge|\.git|FORGE\.md|FORK\.md|AGENTS\.md|CLAUDE\.md|\.npmrc|bunfig\.toml)\b/i,
    'it names a file that steers programs',
  ],
  [
    /\b(?:approv|verdict|sign(?:ed|ature)\b|land(?:s|ed|ing)?\b|bypass|disabl|weaken|skip|ignor|overrid|disregard|forget)\w*/i,
    'it speaks of approval, or of leaving something out',
  ],
  [
    /\b(?:system prompt|previous (?:instruction|word)s?|instructions? (?:above|below)|you are (?:now|a)|as an ai)\b/i,
    'it gives orders to a model',
  ],
  [/\b(?:passwords?|credentials?|tokens?|secrets?|api[- _]?keys?)\b/i, 'it speaks of secrets'],
]

/** Why a lesson is not kept, in a few words; undefined where it may be. `texts`: everything that it says. */
export function whyRefused(...texts: readonly (string | undefined)[]): string | undefined {
  for (const text of texts) {
    const found = text === undefined ? undefined : FORBIDDEN.find(([pattern]) => pattern.test(text))
    if (found) return found[1]
  }
  return undefined
}
