// Watches the free space on the disks of mounted folders, which docker does not limit, and exits when one is nearly
// full.
//
//   node disk-watch.mjs FOLDER...
//
// Prints `watching` if there is enough space at the start. Exits with code 3, and a sentence on standard error, when
// there is too little.
import { statfsSync } from 'node:fs'

// Without fallocate (see seccomp.pl), no program can write 1 GiB, or 10,000 files, within 50 ms.
const MIN_FREE_BYTES = 1024 ** 3
const MIN_FREE_FILES = 10_000
const EVERY_MS = 20

function look() {
  for (const folder of process.argv.slice(2)) {
    const { bavail, bsize, files, ffree } = statfsSync(folder)
    if (bavail * bsize < MIN_FREE_BYTES) end('less than 1 GiB is left on the disk of the workspace')
    // File systems without a fixed number of inodes report 0.
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
