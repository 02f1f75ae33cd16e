/** The front matter of a Markdown file: YAML between two lines of `---` at its very top. */

const FRONT_MATTER = /^---[ \t]*\n((?:.*\n)*?)---[ \t]*(?:\n|$)/
/** A key of YAML. Without one, the text between is no front matter, but Markdown between two horizontal rules. */
const KEY = /^[\w"'][^\n:]*:(?:[ \t]|$)/m

interface Parts {
  frontMatter: string | undefined
  /** The rest of the text, and the number of its first line. */
  body: string
  firstLine: number
}

/** Splits a Markdown text into its front matter and the rest. */
export function partsOf(text: string): Parts {
  const [all = '', yaml = ''] = FRONT_MATTER.exec(text) ?? []
  if (!KEY.test(yaml)) return { frontMatter: undefined, body: text, firstLine: 1 }
  return { frontMatter: yaml.replace(/\n$/, ''), body: text.slice(all.length), firstLine: all.split('\n').length }
}
