#!/usr/bin/env bun
/**
 * Writes github-api.json: the parts of GitHub's own description of its API that the double of GitHub needs. The whole
 * description is an npm package of 385 MB, which is downloaded into a temporary folder. Needs npm, tar and the network:
 *
 *   test/doubles/describe-github.ts
 *
 * Run it after a change of the lists below. For a newer description, change `SOURCE` too: if the package is not the
 * expected one, the script prints which one it got.
 */
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { $ } from 'zx'
import { isObject, type Json, type JsonObject, list, object, valueAt } from './openapi.ts'

export const FILE = join(import.meta.dir, 'github-api.json')

const SOURCE = {
  name: '@octokit/openapi',
  version: '23.0.2',
  file: 'generated/api.github.com.json',
  integrity: 'sha512-pV8M7L9GY23AybNvTmo2nyjmpmnt6+2sRE/tqr0ZLQcPS4lnw7u5eZGNmwRNkBC3D7gZXbFx5AHzLUVRBXGDhg==',
}

/** The requests that the double answers, described in full. */
const OPERATIONS = [
  'GET /user',
  'GET /repos/{owner}/{repo}',
  'GET /repos/{owner}/{repo}/branches/{branch}',
  'GET /repos/{owner}/{repo}/commits/{ref}',
  'GET /repos/{owner}/{repo}/git/commits/{commit_sha}',
  'GET /repos/{owner}/{repo}/issues/{issue_number}/comments',
  'GET /repos/{owner}/{repo}/pulls',
  'POST /repos/{owner}/{repo}/pulls',
  'GET /repos/{owner}/{repo}/pulls/{pull_number}',
  'PATCH /repos/{owner}/{repo}/pulls/{pull_number}',
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/commits',
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
  'GET /repos/{owner}/{repo}/rules/branches/{branch}',
]

/** The examples that the double fills with the facts of its own repositories. */
const EXAMPLES = [
  'branch-get',
  'commit',
  'full-repository-default-response',
  'git-commit-2',
  'issue-comment-items',
  'private-user-response-with-public-profile-information',
  'pull-request',
  'pull-request-review-items',
  'pull-request-simple-items',
]

/**
 * Other requests about a repository are kept by name only: without them, `/commits/{sha}/pulls` would be taken for
 * `/commits/{ref}` with an odd name.
 */
const KEPT_BY_NAME = /^\/(repos\/\{owner\}\/\{repo\}|user$)/

/**
 * Properties that do not affect the validation of requests and answers. Schema properties with these names are kept.
 */
const PROSE = new Set(['description', 'summary', 'title', 'tags', 'externalDocs', 'operationId', 'deprecated'])
const UNUSED = new Set(['default', 'example', 'examples', 'headers'])

/** The parts of the description that the double needs. Applied to its own result, it changes nothing. */
export function reduced(whole: JsonObject): JsonObject {
  const paths: JsonObject = {}
  for (const [template, item] of Object.entries(object(whole.paths))) {
    if (!KEPT_BY_NAME.test(template)) continue
    const operations = Object.entries(object(item)).filter(([method]) => /^(get|put|post|patch|delete)$/.test(method))
    paths[template] = Object.fromEntries(
      operations.map(([method, operation]) => [
        method,
        OPERATIONS.includes(`${method.toUpperCase()} ${template}`) ? bare(operation) : {},
      ]),
    )
  }
  const components: { [kind: string]: JsonObject } = {}
  const keep = (kind: string, name: string, value: Json | undefined) => {
    if (value === undefined) throw new Error(`${SOURCE.name} has no ${kind}/${name}`)
    components[kind] = { ...components[kind], [name]: value }
  }
  for (const name of EXAMPLES) keep('examples', name, object(object(whole.components).examples)[name])
  const reached = new Set(references(paths))
  for (const reference of reached) {
    const [, , kind = '', name = ''] = reference.split('/')
    const target = bare(valueAt(whole, reference))
    keep(kind, name, target)
    // Iterating over a set also visits elements that are added meanwhile, each once.
    for (const further of references(target)) reached.add(further)
  }
  for (const operation of OPERATIONS) {
    const [method = '', template = ''] = operation.split(' ')
    if (!object(paths[template])[method.toLowerCase()]) throw new Error(`${SOURCE.name} has no ${operation}`)
  }
  const kinds = Object.entries(components).sort()
  return { paths, components: Object.fromEntries(kinds.map(([kind, named]) => [kind, sorted(named)])) }
}

const sorted = (named: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1)))

/** Removes prose from a schema, operation or parameter. `names`: the keys are names of GitHub's own properties. */
function bare(value: Json | undefined, names = false): Json {
  if (Array.isArray(value)) return value.map(item => bare(item))
  if (!isObject(value)) return value ?? null
  const kept = Object.entries(value).filter(
    ([key]) => names || !(PROSE.has(key) || UNUSED.has(key) || key.startsWith('x-')),
  )
  return Object.fromEntries(kept.map(([key, item]) => [key, bare(item, !names && key === 'properties')]))
}

function references(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(references)
  return Object.entries(object(value)).flatMap(([key, item]) =>
    key === '$ref' && typeof item === 'string' ? [item] : references(item),
  )
}

/** The file's text: source, licence and checksum, then one line for each path and component. */
export function written(description: JsonObject, licence: string): string {
  const lines = (named: Json | undefined, depth: string) =>
    Object.entries(object(named))
      .map(([name, value]) => `${depth}${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(',\n')
  const kinds = Object.entries(object(description.components)).map(
    ([kind, named]) => `    ${JSON.stringify(kind)}: {\n${lines(named, '      ')}\n    }`,
  )
  const rest = `"paths": {\n${lines(description.paths, '    ')}\n  },\n  "components": {\n${kinds.join(',\n')}\n  }`
  const source = {
    ...SOURCE,
    licence,
    writtenBy: 'test/doubles/describe-github.ts',
    sha256: createHash('sha256').update(rest).digest('hex'),
  }
  return `{\n  "source": ${JSON.stringify(source)},\n  ${rest}\n}\n`
}

async function fetched(folder: string) {
  const sh = $({ cwd: folder, quiet: true })
  const { name, version, file, integrity } = SOURCE
  const [packed] = list(JSON.parse((await sh`npm pack --json --silent ${`${name}@${version}`}`).stdout) as Json)
  const archive = join(folder, String(object(packed).filename))
  const sum = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`
  if (sum !== integrity) throw new Error(`${name}@${version} is ${sum}, not the one that SOURCE names`)
  await sh`tar -xzf ${archive} package/LICENSE package/${file}`
  const read = (path: string) => readFile(join(folder, 'package', path), 'utf8')
  return { whole: object(JSON.parse(await read(file)) as Json), licence: (await read('LICENSE')).trim() }
}

if (import.meta.main) {
  const folder = await mkdtemp(join(tmpdir(), 'forklift-describe-github-'))
  try {
    console.log(`Fetching ${SOURCE.name}@${SOURCE.version}`)
    const { whole, licence } = await fetched(folder)
    const text = written(reduced(whole), licence)
    await writeFile(FILE, text)
    console.log(`Wrote ${FILE}: ${Math.round(text.length / 1024)} KiB`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
