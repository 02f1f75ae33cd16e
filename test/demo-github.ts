#!/usr/bin/env bun
/**
 * The GitHub of `make demo`: the double of the tests with pages that a browser can look at, for as long as it runs.
 * demo-github.ts FOLDER serves FOLDER/origin.git, the fork, and FOLDER/upstream.git, and makes the file
 * FOLDER/github-ready when it does. Its address stands in FOLDER/github-address; the address and the pull requests are
 * the same when it is started again.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { GitHub, type Pull } from './doubles/github.ts'
import { git } from './support/git.ts'

const FORK = 'you/my-fork'
const UPSTREAM = 'una/greet'

const CSS = `body { font: 15px/1.5 system-ui, sans-serif; max-width: 860px; margin: 32px auto; padding: 0 24px }
:root { color-scheme: light dark } h1 { font-size: 26px; font-weight: 500; margin: 0 0 8px } h1 span, p.meta { opacity: .7 }
.state { color: #fff; background: #1a7f37; border-radius: 16px; padding: 4px 12px; font-weight: 600 }
main, pre { border: 1px solid #8886; border-radius: 6px; padding: 4px 20px } pre { padding: 12px; overflow: auto }
code, pre { font-family: ui-monospace, monospace; font-size: 13px }
table { border-collapse: collapse } td, th { border: 1px solid #8886; padding: 4px 10px }
aside { font-size: 13px; opacity: .8; margin-bottom: 24px }`

const [folder] = Bun.argv.slice(2)
if (folder === undefined) {
  console.error('Usage: demo-github.ts FOLDER')
  process.exit(64)
}

const known = join(folder, 'github-address')
const pulls = join(folder, 'github-pulls.json')
const before = await readFile(known, 'utf8').catch(() => undefined)
const server = Bun.serve({ hostname: '127.0.0.1', port: before ? new URL(before).port : 0, fetch: answer })
const address = `http://127.0.0.1:${server.port}`
const github = await GitHub.start({ web: address })
github.login = 'you'
github.add(UPSTREAM, join(folder, 'upstream.git'), { push: false })
const fork = github.add(FORK, join(folder, 'origin.git'), { parent: UPSTREAM })
for (const pull of JSON.parse(await readFile(pulls, 'utf8').catch(() => '[]')) as Pull[])
  github.pulls.push({ ...pull, repo: fork })
await writeFile(known, address)
// The demo waits for this file.
await writeFile(join(folder, 'github-ready'), '')

async function answer(request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const number = /^\/you\/my-fork\/pull\/(\d+)$/.exec(pathname)?.[1]
  if (number !== undefined) return await pageOf(Number(number))
  const { method, headers } = request
  const body = method === 'GET' ? undefined : await request.text()
  const reply = await fetch(`${github.url}${pathname}${search}`, { method, headers, body })
  const content = await reply.arrayBuffer()
  if (method !== 'GET') await writeFile(pulls, JSON.stringify(github.pulls))
  return new Response(content, { status: reply.status, headers: reply.headers })
}

/** The page of a pull request. Links are shown as plain text, since github.com does not have these commits. */
async function pageOf(number: number): Promise<Response> {
  await github.settle()
  const pull = github.pulls.find(one => one.number === number)
  if (!pull) return new Response('There is no such pull request.\n', { status: 404 })
  const { Marked } = await import('marked')
  const marked = new Marked({
    renderer: {
      link({ tokens }) {
        return this.parser.parseInline(tokens)
      },
    },
  })
  const text = marked.parse(pull.body)
  const range = `${pull.baseSha}...${pull.headSha}`
  const files = await git(pull.repo.path, 'diff', '--stat', '--no-color', range)
  const page = `<!doctype html><meta charset="utf-8"><title>${escaped(pull.title)} · #${number}</title><style>${CSS}</style>
<aside>This is the demo's stand-in for GitHub, on this machine alone.</aside>
<h1>${escaped(pull.title)} <span>#${number}</span></h1>
<p><span class="state">${pull.draft ? 'Draft' : pull.mergedAt ? 'Merged' : pull.state === 'open' ? 'Open' : 'Closed'}</span>
you want to merge into <code>${escaped(pull.base)}</code> from <code>${escaped(pull.head)}</code></p>
<main>${text}</main><h2>Files</h2><pre>${escaped(files)}</pre>`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  }
  return new Response(page, { headers })
}

function escaped(text: string): string {
  return Bun.escapeHTML(text)
}
