#!/usr/bin/env bun
/**
 * Builds the page into a folder: scripts and styles named by their content, and a list of them. As a program, it builds
 * into the given folder, compresses what each window loads, and prints its size.
 */
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

/** A file of the page, as the server sends it. */
interface BuiltFile {
  name: string
  type: string
  size: number
}

interface Manifest {
  /** The HTML page: see Pages for what is replaced in it at each visit. */
  page: string
  /**
   * All files of the built page except the HTML page itself. Their names change with their content, so that browsers
   * may cache them without limit.
   */
  files: BuiltFile[]
}

/**
 * Parts larger than this, in bytes, are compressed ahead of time, too. A part is a language of the editor, loaded with
 * its first file.
 */
const LARGE_PART_BYTES = 100_000

/** Brotli's quality: one higher saves 2 % more in four times the time. */
const BROTLI_QUALITY = 10

const HERE = join(import.meta.dir, 'web')
const PAGE = 'page.html'

/**
 * Builds the page. A desk may read the folder at any time, and another build may run: each file is put there whole, the
 * HTML after those that it names, and the files of earlier pages are removed last.
 */
export async function buildPage(folder: string): Promise<Manifest> {
  await mkdir(dirname(resolve(folder)), { recursive: true })
  const scratch = await mkdtemp(`${resolve(folder)}-`)
  try {
    const { outputs } = await build(scratch, ['app/page.tsx', 'app/page.css'])
    const files = outputs.map(({ path, size }): BuiltFile => {
      const name = basename(path)
      return { name, size, type: typeOf(name) }
    })
    await writePage(scratch, files)
    await mkdir(folder, { recursive: true })
    for (const { name } of [...files, { name: PAGE }]) await rename(join(scratch, name), join(folder, name))
    await removeOthers(folder, new Set(files.map(({ name }) => name)))
    return { page: PAGE, files }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

function build(folder: string, names: readonly string[]) {
  return Bun.build({
    entrypoints: names.map(name => join(HERE, name)),
    outdir: folder,
    target: 'browser',
    format: 'esm',
    splitting: true,
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    naming: { entry: '[name]-[hash].[ext]', chunk: 'part-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  })
}

/** Removes the files of earlier pages. */
async function removeOthers(folder: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of await readdir(folder)) {
    const isBuilt = /^(page|part)-.*\.(js|css)(\.br)?$/.test(name)
    if (isBuilt && !names.has(name.replace(/\.br$/, ''))) await rm(join(folder, name), { force: true })
  }
}

async function writePage(folder: string, files: BuiltFile[]): Promise<void> {
  const template = await Bun.file(join(HERE, 'app/page.html')).text()
  const named = (begin: string, ending: string) => {
    const file = files.find(({ name }) => name.startsWith(begin) && name.endsWith(ending))
    if (!file) throw new Error(`The build made no ${begin}*${ending} for the page.`)
    return `/${file.name}`
  }
  const page = template.replace('PAGE_STYLE', named('page-', '.css')).replace('PAGE_SCRIPT', named('page-', '.js'))
  await Bun.write(join(folder, PAGE), page)
}

/** Writes a compressed copy beside a file, better than is possible at request time. Returns its size in bytes. */
async function compress(path: string): Promise<number> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY }
  const written = `${path}.${process.pid}`
  const size = await Bun.write(written, brotliCompressSync(await Bun.file(path).bytes(), { params }))
  await rename(written, `${path}.br`)
  return size
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
  for (const { name, size } of files.filter(({ name, size }) => !name.startsWith('part-') || size > LARGE_PART_BYTES)) {
    const packed = await compress(join(folder, name))
    console.log(`${name}: ${kilobytes(size)}, ${kilobytes(packed)} compressed`)
  }
  console.log(`${files.length} files in ${took} ms`)
}
