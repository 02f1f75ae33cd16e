/**
 * GitHub's own description of its API, used to validate requests and answers: github-api.json has the parts that are
 * needed here (see describe-github.ts). Supports only the JSON Schema that this document uses (OpenAPI 3.0).
 */
import { join } from 'node:path'

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
export type JsonObject = { [name: string]: Json }

const DESCRIPTION = join(import.meta.dir, 'github-api.json')

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const list = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])
export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

/** The value that a reference within a document points to: `#/components/schemas/commit`. */
export function valueAt(root: JsonObject, reference: string): Json | undefined {
  let target: Json | undefined = root
  for (const part of reference.slice(2).split('/')) target = object(target)[part.replaceAll('~1', '/')]
  return target
}

let description: Promise<JsonObject> | undefined
/** The description is read once a process. */
const load = async (): Promise<JsonObject> => object(JSON.parse(await Bun.file(DESCRIPTION).text()) as Json)

/** The remedy for a request or example that is missing from the file. */
export const REMEDY = 'if GitHub has it, name it in test/doubles/describe-github.ts and run that'

export type Operation = { template: string; operation: JsonObject; variables: Record<string, string> }

export class Description {
  private constructor(private readonly root: JsonObject) {}

  static async open(): Promise<Description> {
    description ??= load()
    return new Description(await description)
  }

  /** Gives the value that a `$ref` leads to; any other value as it is. */
  resolve(value: Json | undefined): JsonObject {
    let current = object(value)
    while (typeof current.$ref === 'string') current = object(valueAt(this.root, current.$ref))
    return current
  }

  /** The operation for a request; undefined where none is described. A branch name may contain slashes. */
  find(method: string, path: string): Operation | undefined {
    const candidates = Object.keys(object(this.root.paths)).sort((a, b) => variablesIn(a) - variablesIn(b))
    for (const template of candidates) {
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(match => match[1] ?? '')
      const pattern = template
        .replace(/[.]/g, '\\.')
        .replace(/\{(\w+)\}/g, (_, name: string) => (name === 'branch' || name === 'ref' ? '(.+)' : '([^/]+)'))
      const found = new RegExp(`^${pattern}$`).exec(path)
      const operation = object(object(this.root.paths)[template])[method.toLowerCase()]
      if (found && isObject(operation)) {
        const variables = names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')] as const)
        // An operation of which only the name was kept (see describe-github.ts) counts as not described.
        return operation.responses ? { template, operation, variables: Object.fromEntries(variables) } : undefined
      }
    }
    return undefined
  }

  /** Errors in a request, as sentences. */
  faultsOfRequest({ operation, variables }: Operation, query: URLSearchParams, body: Json | undefined): string[] {
    const faults: string[] = []
    const parameters = list(operation.parameters).map(one => this.resolve(one))
    const known = new Map(parameters.filter(one => one.in === 'query').map(one => [String(one.name), one]))
    for (const [name, text] of query) {
      const parameter = known.get(name)
      if (!parameter) faults.push(`unknown query parameter ${name}`)
      else faults.push(...this.faults(coerce(text, this.resolve(parameter.schema)), parameter.schema, `query ${name}`))
    }
    for (const parameter of parameters.filter(one => one.in === 'path')) {
      const text = variables[String(parameter.name)] ?? ''
      faults.push(
        ...this.faults(coerce(text, this.resolve(parameter.schema)), parameter.schema, `path ${parameter.name}`),
      )
    }
    const schema = object(object(this.resolve(operation.requestBody).content)['application/json']).schema
    if (body === undefined) {
      if (this.resolve(operation.requestBody).required === true) faults.push('a body is missing')
    } else if (!isObject(schema)) {
      faults.push('a body where none belongs')
    } else {
      faults.push(...this.faults(body, schema, 'body'))
      const properties = object(this.resolve(schema).properties)
      for (const name of Object.keys(object(body)))
        if (!(name in properties)) faults.push(`unknown property body.${name}`)
    }
    return faults
  }

  /** Errors in an answer: a status that this operation never has, or a body that does not match its schema. */
  faultsOfAnswer({ operation }: Operation, status: number, body: Json | undefined): string[] {
    const response = object(operation.responses)[String(status)]
    // Any operation can be refused for a missing token, a rate limit or a server error; few descriptions mention it.
    if (response === undefined)
      return [401, 403, 404, 429, 500, 502, 503].includes(status) ? [] : [`no answer ${status}`]
    const schema = object(object(this.resolve(response).content)['application/json']).schema
    return isObject(schema) ? this.faults(body ?? null, schema, `answer ${status}`) : []
  }

  /** GitHub's own example of an answer, to be filled with the facts of the double. */
  example(name: string): JsonObject {
    const example = this.resolve(object(object(this.root.components).examples)[name]).value
    if (example === undefined) throw new Error(`There is no example ${name}: ${REMEDY}`)
    return structuredClone(Array.isArray(example) ? object(example[0]) : object(example))
  }

  private faults(value: Json, unresolved: Json | undefined, at: string): string[] {
    const schema = this.resolve(unresolved)
    if (value === null && schema.nullable === true) return []
    const any = (key: 'oneOf' | 'anyOf') => {
      const branches = list(schema[key]).map(branch => this.faults(value, branch, at))
      return branches.length === 0 || branches.some(faults => faults.length === 0) ? [] : [`${at} is none of ${key}`]
    }
    const faults = [...any('oneOf'), ...any('anyOf'), ...list(schema.allOf).flatMap(one => this.faults(value, one, at))]
    if (Array.isArray(schema.enum) && !schema.enum.includes(value)) faults.push(`${at} is ${JSON.stringify(value)}`)
    const type = schema.type
    if (typeof type === 'string' && !hasType(value, type)) return [...faults, `${at} is no ${type}`]
    if (typeof value === 'string') faults.push(...faultsOfText(value, schema, at))
    if (typeof value === 'number') {
      if (typeof schema.minimum === 'number' && value < schema.minimum) faults.push(`${at} is below ${schema.minimum}`)
      if (typeof schema.maximum === 'number' && value > schema.maximum) faults.push(`${at} is above ${schema.maximum}`)
    }
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) faults.push(...this.faults(item, schema.items, `${at}[${index}]`))
    }
    if (isObject(value)) {
      const properties = object(schema.properties)
      for (const name of list(schema.required)) {
        if (!(String(name) in value)) faults.push(`${at}.${name} is missing`)
      }
      for (const [name, item] of Object.entries(value)) {
        const property =
          properties[name] ?? (isObject(schema.additionalProperties) ? schema.additionalProperties : undefined)
        if (property !== undefined) faults.push(...this.faults(item, property, `${at}.${name}`))
        else if (schema.additionalProperties === false) faults.push(`${at}.${name} is unknown`)
      }
    }
    return faults
  }
}

const variablesIn = (template: string): number => template.split('{').length

const coerce = (text: string, schema: JsonObject): Json =>
  schema.type === 'integer' && /^-?\d+$/.test(text) ? Number(text) : schema.type === 'boolean' ? text === 'true' : text

function hasType(value: Json, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  return typeof value === type
}

function faultsOfText(value: string, schema: JsonObject, at: string): string[] {
  const faults: string[] = []
  if (typeof schema.pattern === 'string' && !new RegExp(schema.pattern).test(value))
    faults.push(`${at} breaks its pattern`)
  if (typeof schema.minLength === 'number' && value.length < schema.minLength) faults.push(`${at} is too short`)
  if (typeof schema.maxLength === 'number' && value.length > schema.maxLength) faults.push(`${at} is too long`)
  if (schema.format === 'date-time' && Number.isNaN(Date.parse(value))) faults.push(`${at} is no date`)
  if (schema.format === 'uri' && !URL.canParse(value)) faults.push(`${at} is no address: ${value}`)
  return faults
}
