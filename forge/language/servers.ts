/** The language servers: the command of each in the image, its settings, and the files that it is for. */
import type { Path } from '../../core/git/repository.ts'

/** The folder of the image with the servers that npm distributes, and their own Node. */
const NPM = '/opt/language-servers/node_modules'
const NODE = `${NPM}/node/bin/node`

export type ServerName = 'typescript' | 'python' | 'go' | 'rust' | 'cpp' | 'shell'

/** A language server. */
export type ServerSpec = {
  name: ServerName
  /** The name of the program, for messages. */
  program: string
  /** The program in the image, and its arguments. It speaks by its standard input and output. */
  command: readonly string[]
  env: Readonly<Record<string, string>>
  initializationOptions: unknown
  /** The answers to `workspace/configuration`, by section. Without one of a section, the answer is null. */
  settings: Readonly<Record<string, unknown>>
  /** The language ids of the protocol, by the end of a file's name. */
  files: Readonly<Record<string, string>>
}

export const SERVERS: readonly ServerSpec[] = [
  {
    name: 'typescript',
    program: 'typescript-language-server',
    command: [NODE, `${NPM}/typescript-language-server/lib/cli.mjs`, '--stdio'],
    env: {},
    initializationOptions: {
      // The image's compiler: that of a repository would be code of the repository.
      tsserver: { path: `${NPM}/typescript/lib/tsserver.js`, useSyntaxServer: 'never' },
      disableAutomaticTypingAcquisition: true,
      maxTsServerMemory: 3072,
      // A rename changes all files that use a name, instead of adding `as` where they import it.
      preferences: { providePrefixAndSuffixTextForRename: false },
    },
    settings: {},
    files: {
      '.ts': 'typescript',
      '.mts': 'typescript',
      '.cts': 'typescript',
      '.tsx': 'typescriptreact',
      '.js': 'javascript',
      '.mjs': 'javascript',
      '.cjs': 'javascript',
      '.jsx': 'javascriptreact',
    },
  },
  {
    name: 'python',
    program: 'pyright',
    command: [NODE, `${NPM}/pyright/langserver.index.js`, '--stdio'],
    env: {},
    initializationOptions: {},
    settings: {
      python: { analysis: { diagnosticMode: 'openFilesOnly', autoSearchPaths: true, useLibraryCodeForTypes: true } },
      'python.analysis': { diagnosticMode: 'openFilesOnly', autoSearchPaths: true, useLibraryCodeForTypes: true },
      pyright: { disableTaggedHints: false },
    },
    files: { '.py': 'python', '.pyi': 'python' },
  },
  {
    name: 'go',
    program: 'gopls',
    command: ['/opt/go/bin/gopls', 'serve'],
    env: {
      GOROOT: '/opt/go',
      PATH: '/opt/go/bin:/usr/local/bin:/usr/bin:/bin',
      GOCACHE: '/tmp/go-build',
      GOPATH: '/workspace/.go',
      GOPROXY: 'off',
      GOTOOLCHAIN: 'local',
      GOFLAGS: '-mod=readonly',
    },
    initializationOptions: {},
    settings: {},
    files: { '.go': 'go' },
  },
  {
    name: 'rust',
    program: 'rust-analyzer',
    command: ['/opt/cargo/bin/rust-analyzer'],
    env: { CARGO_TARGET_DIR: '/tmp/target', CARGO_NET_OFFLINE: 'true', CARGO_HOME: '/tmp/cargo' },
    // Errors of types come from `cargo check` alone, which runs on what the folder has.
    initializationOptions: { checkOnSave: true },
    settings: {},
    files: { '.rs': 'rust' },
  },
  {
    name: 'cpp',
    program: 'clangd',
    command: ['/usr/bin/clangd', '--background-index', '--limit-results=200', '--log=error'],
    env: {},
    initializationOptions: {},
    settings: {},
    files: {
      '.c': 'c',
      '.h': 'cpp',
      '.cc': 'cpp',
      '.cpp': 'cpp',
      '.cxx': 'cpp',
      '.hh': 'cpp',
      '.hpp': 'cpp',
      '.hxx': 'cpp',
    },
  },
  {
    name: 'shell',
    program: 'bash-language-server',
    command: [NODE, `${NPM}/bash-language-server/out/cli.js`, 'start'],
    env: {},
    initializationOptions: {},
    settings: { bashIde: { backgroundAnalysisMaxFiles: 200, shellcheckPath: 'shellcheck' } },
    files: { '.sh': 'shellscript', '.bash': 'shellscript' },
  },
]

/** The server for a file, and the file's language id; undefined where there is none. */
export function serverFor(path: Path): { spec: ServerSpec; languageId: string } | undefined {
  const end = /\.[a-z]+$/i.exec(path)?.[0].toLowerCase()
  if (end === undefined) return undefined
  for (const spec of SERVERS) {
    const languageId = Object.hasOwn(spec.files, end) ? spec.files[end] : undefined
    if (languageId !== undefined) return { spec, languageId }
  }
  return undefined
}
