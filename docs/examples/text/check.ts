/**
 * Checks a report against its sources and requirements: `bun check.ts citations report.md` that each statement cites a
 * source whose words are really there; `bun check.ts requirements report.md` that each requirement has its section.
 */
import { readFileSync } from 'node:fs'

const [what, path = 'report.md'] = process.argv.slice(2)
const plain = (text: string): string => text.replace(/\s+/g, ' ')
const report = readFileSync(path, 'utf8')
const problems = what === 'requirements' ? missingSections() : wrongCitations()
for (const problem of problems) console.log(`${path}: ${problem}`)
process.exit(problems.length === 0 ? 0 : 1)

function wrongCitations(): string[] {
  const notes = new Map([...report.matchAll(/^\[\^(\d+)\]: (.*)$/gm)].map(([, id = '', text = '']) => [id, text]))
  const wrong = [...notes].flatMap(([id, text]) => {
    const [, source, quote] = /^(sources\/[\w-]+\.md): "(.+)"$/.exec(text) ?? []
    if (!source || !quote) return [`note ${id} is not SOURCE: "the words"`]
    const words = plain(readFileSync(source, 'utf8'))
    return words.includes(plain(quote)) ? [] : [`note ${id}: ${source} does not say "${quote}"`]
  })
  const text = report.replace(/^\[\^\d+\]:.*$/gm, '').replace(/^#.*$/gm, '')
  const statements = text.split(/(?<=[.!?](?:\[\^\d+\])*)\s+/).filter(it => it.trim() !== '')
  const uncited = statements.filter(it => !/\[\^\d+\]$/.test(it.trim()))
  return [...wrong, ...uncited.map(it => `no source is cited for: ${plain(it).trim()}`)]
}

function missingSections(): string[] {
  const wanted = [...readFileSync('requirements.md', 'utf8').matchAll(/^- (\w+):/gm)].map(([, name = '']) => name)
  return wanted
    .filter(name => !new RegExp(`^## ${name}\\n+[^#\\s]`, 'm').test(report))
    .map(name => `the section ${name} is missing or empty`)
}
