/** Which files have a preview. */

export type PreviewKind = 'markdown' | 'svg' | 'csv' | 'notebook'

const BY_ENDING: Readonly<Record<string, PreviewKind>> = {
  md: 'markdown',
  markdown: 'markdown',
  mdown: 'markdown',
  svg: 'svg',
  csv: 'csv',
  tsv: 'csv',
  ipynb: 'notebook',
}

export function previewKindOf(path: string): PreviewKind | undefined {
  const ending = /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined
}
