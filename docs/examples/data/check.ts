/**
 * Checks the data: `bun check.ts rows` that each row of data/dues.json fits schema.json, and that they are the rows of
 * raw/, each once; `bun check.ts summary` that data/summary.csv has the sums of the rows.
 */
import { readdirSync, readFileSync } from 'node:fs'

type Row = Record<string, string | number>
const read = (path: string): string => readFileSync(path, 'utf8')
const rows: Row[] = JSON.parse(read('data/dues.json'))
const problems = process.argv[2] === 'summary' ? wrongSums() : [...wrongFields(), ...wrongCounts()]
for (const problem of problems) console.log(problem)
process.exit(problems.length === 0 ? 0 : 1)

function wrongFields(): string[] {
  const schema: Record<string, string> = JSON.parse(read('schema.json'))
  return rows.flatMap((row, at) => [
    ...Object.entries(schema).flatMap(([name, pattern]) =>
      new RegExp(pattern, 'u').test(String(row[name] ?? ''))
        ? []
        : [`row ${at + 1}: ${name} is ${JSON.stringify(row[name])}`],
    ),
    ...Object.keys(row).flatMap(name => (name in schema ? [] : [`row ${at + 1}: ${name} is not in the schema`])),
  ])
}

function wrongCounts(): string[] {
  const lines = readdirSync('raw').flatMap(name => read(`raw/${name}`).trim().split('\n').slice(1))
  const given = new Set(lines)
  const told = new Set(rows.map(row => JSON.stringify(row)))
  return [
    ...(rows.length === given.size ? [] : [`there are ${rows.length} rows, and ${given.size} different ones in raw/`]),
    ...(told.size === rows.length ? [] : [`${rows.length - told.size} rows are there twice`]),
  ]
}

function wrongSums(): string[] {
  const byHarbour = Map.groupBy(rows, ({ harbour }) => harbour)
  const wanted = [...byHarbour].map(([harbour, all]) => [
    harbour,
    all.length,
    all.reduce((sum, it) => sum + Number(it.cents), 0),
  ])
  const text = ['harbour,count,cents', ...wanted.map(it => it.join(',')).sort()].join('\n')
  return read('data/summary.csv').trim() === text ? [] : [`data/summary.csv is not:\n${text}`]
}
