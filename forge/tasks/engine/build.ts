#!/usr/bin/env bun
/** Builds the bundle of the workflows where it is missing: build.ts; or into a file: build.ts FILE [FLOWS]. */
import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { bundlePath, ensureBundle, writeBundle } from './bundle.ts'

const [path, flows] = Bun.argv.slice(2)
const start = performance.now()
if (path) await writeBundle(resolve(path), flows === undefined ? undefined : resolve(flows))
else {
  const [current, encrypted] = await Promise.all([bundlePath(), bundlePath(true)])
  const folder = dirname(current)
  await ensureBundle()
  // Remove the bundles of other versions.
  const others = (await readdir(folder)).filter(
    name => /^workflows.*\.js$/.test(name) && name !== basename(current) && name !== basename(encrypted),
  )
  await Promise.all(others.map(name => rm(join(folder, name), { force: true })))
}
console.log(`The workflows are bundled (${Math.round(performance.now() - start)} ms)`)
process.exit(0)
