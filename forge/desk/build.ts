#!/usr/bin/env bun
/**
 * Builds the page: into a folder, scripts and styles with names made of their content, and a manifest of all of it.
 * Run by itself, it builds into the folder that it is given, and says how large it all is.
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** A file of the page, as a server serves it. */
export interface BuiltFile {
  name: string
  type: string
  size: number
}

export interface Manifest {
  /** The page itself: its STYLE_NONCE is to be replaced by the nonce of the answer's Content-Security-Policy. */
  page: string
  /** All else. Their names change with their content: they can be kept for ever. */
  files: BuiltFile[]
}

const HERE = join(import.meta.dir, 'web')

export async function buildPage(folder: string): Promise<Manifest> {
  await emptyFolder(folder)
  const built = await Bun.build({
    entrypoints: [join(HERE, 'page.tsx'), join(HERE, 'page.css')],
    outdir: folder,
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  })
  const files = built.outputs.map(({ path, size }): BuiltFile => {
    const name = path.slice(path.lastIndexOf('/') + 1)
    return { name, size, type: typeOf(name) }
  })
  await writePage(folder, files)
  const manifest = { page: 'page.html', files }
  await Bun.write(join(folder, 'manifest.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  return manifest
}

async function emptyFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) {
    if (/^(page|part)-.*\.(js|css)$|^manifest\.json$|^page\.html$/.test(name)) await rm(join(folder, name))
  }
}

async function writePage(folder: string, files: BuiltFile[]): Promise<void> {
  const template = await Bun.file(join(HERE, 'page.html')).text()
  const named = (ending: string) => {
    const file = files.find(({ name }) => name.startsWith('page-') && name.endsWith(ending))
    if (!file) throw new Error(`The build made no ${ending} for the page.`)
    return `/${file.name}`
  }
  const page = template.replace('PAGE_STYLE', named('.css')).replace('PAGE_SCRIPT', named('.js'))
  await Bun.write(join(folder, 'page.html'), page)
}

function typeOf(name: string): string {
  return name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8'
}

if (import.meta.main) {
  const folder = Bun.argv[2]
  if (!folder) throw new Error('Say into which folder: bun forge/desk/build.ts FOLDER')
  const start = performance.now()
  const { files } = await buildPage(folder)
  const took = Math.round(performance.now() - start)
  const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(0)} KB`
  for (const { name, size } of files.filter(({ name }) => name.startsWith('page-'))) {
    const packed = Bun.gzipSync(await Bun.file(join(folder, name)).bytes()).length
    console.log(`${name}: ${kilobytes(size)}, ${kilobytes(packed)} compressed`)
  }
  console.log(`${files.length} files in ${took} ms`)
}
