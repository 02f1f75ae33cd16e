// Watches the disks of the mounts, which have no bound of their own, and ends when one is nearly full.
//
//   node disk-watch.mjs FOLDER...
//
// Gives the line `watching` on standard output once there is room. Exit code 3, with a sentence on standard error, where
// there is too little, then or later.
import { statfsSync } from 'node:fs'

// Together: without fallocate (see seccomp.pl), nothing takes a gibibyte, or ten thousand files, in fifty milliseconds.
const MIN_FREE_BYTES = 1024 ** 3
const MIN_FREE_FILES = 10_000
const EVERY_MS = 20

function look() {
  for (const folder of process.argv.slice(2)) {
    const { bavail, bsize, files, ffree } = statfsSync(folder)
    if (bavail * bsize < MIN_FREE_BYTES) end('less than 1 GiB is left on the disk of the workspace')
    // A file system without a table of files says that it has none.
    if (files > 0 && ffree < MIN_FREE_FILES) end('fewer than 10,000 more files fit on the disk of the workspace')
  }
}

function end(sentence) {
  process.stderr.write(`disk: ${sentence}\n`)
  process.exit(3)
}

look()
process.stdout.write('watching\n')
setInterval(look, EVERY_MS)
