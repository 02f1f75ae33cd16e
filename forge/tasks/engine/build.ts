#!/usr/bin/env bun
/** Builds the bundle of the workflows: build.ts FILE [FLOWS]. */
import { resolve } from 'node:path'
import { writeBundle } from './bundle.ts'

const [path, flows] = Bun.argv.slice(2)
if (!path) throw new Error('Say into which file: bun forge/tasks/engine/build.ts FILE')
const start = performance.now()
const size = await writeBundle(resolve(path), flows === undefined ? undefined : resolve(flows))
console.log(`The workflows: ${(size / 1000).toFixed(0)} KB in ${Math.round(performance.now() - start)} ms`)
process.exit(0)
