/** Caches parsed conversations by file content, so that showing a branch does not parse them again. */
import type { Objects } from '../../../core/git/objects.ts'
import type { Oid } from '../../../core/git/repository.ts'
import { SESSION } from '../../ai/session.ts'
import { type LoadedSession, loadSession } from '../../ai/session-file.ts'
import type { Vfs } from '../../vfs.ts'

/** At most this many conversations are cached, and at most this many bytes of their files. One is always cached. */
const [MAX_SESSIONS, MAX_SESSION_FILES_BYTES] = [8, 16 << 20]

type Known = { loaded: Promise<LoadedSession>; bytes: number }

export class SessionCache {
  readonly #known = new Map<Oid, Known>()

  constructor(readonly objects: Objects) {}

  /** The conversation in some files, as read by {@link loadSession}. The result must not be changed. */
  async in(vfs: Vfs): Promise<LoadedSession> {
    const entry = await vfs.entryAt(SESSION)
    if (!entry?.mode.startsWith('100')) return await loadSession(vfs)
    const bytes = (await this.objects.info(entry.oid))?.size ?? 0
    const known = this.#known.get(entry.oid) ?? { loaded: loadSession(vfs), bytes }
    // The conversation is moved to the end, so that the one used last is dropped last.
    this.#known.delete(entry.oid)
    this.#known.set(entry.oid, known)
    this.#letGo()
    const loaded = await known.loaded
    // An unreadable conversation is not cached: its blob may still be on its way.
    if (loaded.unreadable !== undefined) this.#known.delete(entry.oid)
    return loaded
  }

  #letGo(): void {
    let bytes = 0
    for (const [number, [oid, it]] of [...this.#known].reverse().entries()) {
      bytes += it.bytes
      if (number > 0 && (number >= MAX_SESSIONS || bytes > MAX_SESSION_FILES_BYTES)) this.#known.delete(oid)
    }
  }
}
