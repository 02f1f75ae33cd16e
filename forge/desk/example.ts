#!/usr/bin/env -S bun --no-env-file --config=/dev/null --no-install
/**
 * Creates a small example repository for trying out the desk, unless it exists, and prints its folder: some months of
 * three people's work on a made-up program, with branches, a merge and files of all kinds. It may be changed, broken
 * and deleted.
 */
import { mkdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { xdgFolder } from '../../core/folders.ts'
import { OWN_CONFIG } from '../../core/git/environment.ts'
import { run } from '../../core/git/run.ts'

const FOLDER = join(xdgFolder(process.env.XDG_STATE_HOME, '.local/state'), 'forge', 'example', 'tides')

const ADA = 'Ada Brook <ada@tides.example>'
const BEN = 'Ben Carrow <ben@tides.example>'
const CHIARA = 'Chiara Dunné <chiara@tides.example>'

type Content = string | Buffer | { mode: '100755' | '120000'; content: string } | null
type Step = {
  branch: string
  author: string
  /** Days since the previous commit or merge of the example. */
  days: number
  message: string
  files: Record<string, Content>
  /** The branch from which this branch starts, if this is its first commit. */
  from?: string
  merge?: string
}

const PIXELS =
  'iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAIAAAD8GO2jAAAAKUlEQVR42mNkYPj/n4GGgImBxmDUglELRi0YtWDUglELRi0YtWDUgqFhAQAfkQM9F7zVpQAAAABJRU5ErkJggg=='

const TIDE = `/** Heights of the sea at a place, from the constants of its harbour. */
import type { Constituent } from './harbour.ts'

const HOUR = 3_600_000

/** The height in metres above the chart's zero. */
export function heightAt(time: Date, constituents: readonly Constituent[]): number {
  const hours = time.getTime() / HOUR
  return constituents.reduce((sum, { amplitude, speed, phase }) => {
    return sum + amplitude * Math.cos(((speed * hours - phase) * Math.PI) / 180)
  }, 0)
}
`
const HARBOUR = `export type Constituent = { name: string; amplitude: number; speed: number; phase: number }

export type Harbour = { name: string; latitude: number; longitude: number; constituents: Constituent[] }

/** Reads a harbour's table as the tide office publishes it: a line for each tidal constituent. */
export function parseHarbour(name: string, table: string): Harbour {
  const lines = table.split(/\\r?\\n/).filter(line => line.trim() !== '')
  const constituents = lines.map(line => {
    const [symbol = '', amplitude, speed, phase] = line.split(/\\s+/)
    return { name: symbol, amplitude: Number(amplitude), speed: Number(speed), phase: Number(phase) }
  })
  return { name, latitude: 0, longitude: 0, constituents }
}
`
const TABLE =
  'M2  1.82  28.984104  104.2\r\nS2  0.61  30.000000  151.8\r\nN2  0.37  28.439730   83.1\r\nK1  0.11  15.041069  302.5\r\n'
const NEXT = `import type { Harbour } from './harbour.ts'
import { heightAt } from './tide.ts'

const MINUTE = 60_000

/** The next high water after a time, to the minute. */
export function nextHighWater(harbour: Harbour, after: Date): Date {
  let before = heightAt(after, harbour.constituents)
  for (let at = after.getTime() + MINUTE; ; at += MINUTE) {
    const height = heightAt(new Date(at), harbour.constituents)
    const next = heightAt(new Date(at + MINUTE), harbour.constituents)
    if (height >= before && height > next) return new Date(at)
    before = height
  }
}
`
const TESTS = `import { expect, test } from 'bun:test'
import { heightAt } from '../src/tide.ts'

test('without constituents the sea is flat', () => {
  expect(heightAt(new Date(0), [])).toBe(0)
})
`
const STYLE = `:root {\n  color-scheme: light dark;\n  --sea: #1f6f8b;\n}\n\nbody {\n  font: 16px/1.5 system-ui, sans-serif;\n  margin: 2rem auto;\n  max-width: 60ch;\n}\n`
const README = (more: string) =>
  `# Tides\n\nWhen is high water? \`tides HARBOUR\` says it, without a network.\n\n\`\`\`sh\nbun run src/main.ts dover\n\`\`\`\n${more}`
const MAIN = `import { readFile } from 'node:fs/promises'
import { parseHarbour } from './harbour.ts'
import { nextHighWater } from './next.ts'

const [name = 'dover'] = process.argv.slice(2)
const harbour = parseHarbour(name, await readFile(\`harbours/\${name}.txt\`, 'utf8'))
console.log(nextHighWater(harbour, new Date()).toLocaleTimeString())
`

const HISTORY: Step[] = [
  {
    branch: 'main',
    author: ADA,
    days: 0,
    message: 'Begin with the height of the sea',
    files: {
      'README.md': README(''),
      'src/tide.ts': TIDE,
      'src/harbour.ts': HARBOUR.replace('/\\r?\\n/', "'\\n'"),
      LICENSE: 'MIT\n',
    },
  },
  {
    branch: 'main',
    author: ADA,
    days: 2,
    message: 'Bring the first harbours',
    files: {
      'harbours/dover.txt': TABLE,
      'harbours/saint malo.txt': TABLE.replaceAll('1.82', '3.71'),
      'harbours/Tromsø.txt': TABLE.replaceAll('1.82', '0.88'),
    },
  },
  {
    branch: 'main',
    author: BEN,
    days: 5,
    message: 'Test that a sea without a moon is flat',
    files: { 'test/tide.test.ts': TESTS },
  },
  {
    branch: 'main',
    author: BEN,
    days: 1,
    message:
      'Read tables with either line end\n\nThe office publishes them with CRLF, and the last column had one in it.',
    files: { 'src/harbour.ts': HARBOUR },
  },
  {
    branch: 'next-high-water',
    from: 'main',
    author: CHIARA,
    days: 3,
    message: 'Find the next high water',
    files: { 'src/next.ts': NEXT },
  },
  {
    branch: 'next-high-water',
    author: CHIARA,
    days: 1,
    message: 'Say it on the command line',
    files: {
      'src/main.ts': MAIN,
      'bin/tides': { mode: '100755', content: '#!/bin/sh\nexec bun run "$(dirname "$0")/../src/main.ts" "$@"\n' },
    },
  },
  {
    branch: 'main',
    author: ADA,
    days: 2,
    message: 'Draw an icon',
    files: {
      'web/icon.png': Buffer.from(PIXELS, 'base64'),
      'web/wave.svg':
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 10"><path d="M0 5q5-8 10 0t10 0 10 0 10 0" fill="none" stroke="#1f6f8b"/></svg>\n',
    },
  },
  {
    branch: 'main',
    merge: 'next-high-water',
    author: ADA,
    days: 1,
    message: "Merge branch 'next-high-water'",
    files: {
      'src/next.ts': NEXT,
      'src/main.ts': MAIN,
      'bin/tides': { mode: '100755', content: '#!/bin/sh\nexec bun run "$(dirname "$0")/../src/main.ts" "$@"\n' },
      'README.md': README('\nHarbours are in `harbours/`: add yours.\n'),
    },
  },
  {
    branch: 'main',
    author: BEN,
    days: 8,
    message: 'Keep what is old as it was',
    files: {
      'docs/notes-1987.txt': Buffer.from('Hauteur d\xe9termin\xe9e \xe0 la main.\n', 'latin1'),
      'docs/latest.txt': { mode: '120000', content: 'notes-1987.txt' },
      'docs/empty.txt': '',
      'docs/no final newline.txt': 'The end',
      'web/chart.pdf':
        'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 5242880\n',
    },
  },
  {
    branch: 'web',
    from: 'main',
    author: CHIARA,
    days: 4,
    message: 'Begin a page for the phone',
    files: {
      'web/index.html':
        '<!doctype html>\n<link rel="stylesheet" href="style.css">\n<h1>Tides</h1>\n<p id="next"></p>\n',
      'web/style.css': STYLE,
    },
  },
  {
    branch: 'web',
    author: CHIARA,
    days: 1,
    message: 'Be readable at night',
    files: {
      'web/style.css': `${STYLE}\n@media (prefers-color-scheme: dark) {\n  :root {\n    --sea: #7fc8e0;\n  }\n}\n`,
    },
  },
  {
    branch: 'faster',
    from: 'main',
    author: BEN,
    days: 2,
    message: 'Step by five minutes, then look closer',
    files: {
      'src/next.ts': NEXT.replace('const MINUTE = 60_000', 'const MINUTE = 60_000\nconst STEP = 5 * MINUTE').replace(
        'at += MINUTE',
        'at += STEP',
      ),
    },
  },
  {
    branch: 'main',
    author: ADA,
    days: 6,
    message: 'Stop when the sea never turns\n\nA harbour without constituents made nextHighWater look for ever.',
    files: {
      'src/next.ts': NEXT.replace(
        'for (let at = after.getTime() + MINUTE; ; at += MINUTE) {',
        'const end = after.getTime() + 2 * 24 * 60 * MINUTE\n  for (let at = after.getTime() + MINUTE; at < end; at += MINUTE) {',
      ).replace(
        '    before = height\n  }\n',
        "    before = height\n  }\n  throw new Error('The sea does not turn there')\n",
      ),
    },
  },
]

function streamOf(steps: readonly Step[]): Buffer {
  const parts: (string | Buffer)[] = []
  const data = (content: string | Buffer) => {
    const bytes = Buffer.from(content as string)
    parts.push(`data ${bytes.length}\n`, bytes, '\n')
  }
  let seconds = Math.floor(Date.now() / 1000) - 60 * 86_400
  for (const { branch, author, days, message, files, from, merge } of steps) {
    seconds += days * 86_400 + 4321
    parts.push(`commit refs/heads/${branch}\nauthor ${author} ${seconds} +0100\ncommitter ${author} ${seconds} +0100\n`)
    data(`${message}\n`)
    if (from) parts.push(`from refs/heads/${from}\n`)
    if (merge) parts.push(`merge refs/heads/${merge}\n`)
    for (const [path, content] of Object.entries(files)) {
      const name = JSON.stringify(path)
      if (content === null) {
        parts.push(`D ${name}\n`)
        continue
      }
      const isPlain = typeof content === 'string' || Buffer.isBuffer(content)
      parts.push(`M ${isPlain ? '100644' : content.mode} inline ${name}\n`)
      data(isPlain ? content : content.content)
    }
  }
  parts.push('reset refs/tags/v0.1\nfrom refs/heads/next-high-water\n\n')
  return Buffer.concat(parts.map(part => Buffer.from(part as string)))
}

async function make(folder: string): Promise<void> {
  // The example is created in a temporary folder and then renamed, so that an interrupted one does not count.
  const draft = `${folder}-${process.pid}`
  await mkdir(dirname(folder), { recursive: true })
  try {
    await fill(draft)
    await rename(draft, folder)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function fill(folder: string): Promise<void> {
  const where = { cwd: dirname(folder), env: OWN_CONFIG }
  await run(where, ['init', '--quiet', '--template=', '--initial-branch=main', folder])
  const inside = { ...where, cwd: folder }
  await run(inside, ['fast-import', '--quiet'], { input: streamOf(HISTORY) })
  await run(inside, ['reset', '--quiet', '--hard'])
  // Allows commits on a machine where git has no user.name yet.
  const person = await run({ cwd: folder }, ['var', 'GIT_AUTHOR_IDENT'], { ok: 'any' })
  if (person.code === 0) return
  await run(inside, ['config', 'user.name', 'Somebody'])
  await run(inside, ['config', 'user.email', 'somebody@tides.example'])
}

if (!(await stat(FOLDER).catch(() => undefined))) {
  await make(FOLDER)
  console.error(`Made a repository for looking around in ${FOLDER}: it stays until you remove it.`)
}
console.log(FOLDER)
