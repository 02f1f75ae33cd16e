/**
 * The user's settings, in settings.json of the user's configuration folder: the same for all repositories, and never
 * read from one. The file may be edited by hand while the desk runs: it is read again when it changes, keys that the
 * desk does not know are kept, and a file that can't be read is never written.
 */
import { open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as v from 'valibot'
import { Failure } from '../../../core/failure.ts'
import { openFolder } from '../../../core/state.ts'
import { visible } from '../../../core/text.ts'
import { isSettingKey, SETTINGS, type SettingKey, type SettingValues, type UserSettings } from '../contract/settings.ts'

const MAX_FILE_BYTES = 1 << 20
/** Milliseconds between two checks whether the file has changed, while the desk runs. */
const LOOK_INTERVAL_MS = 1_000
const MAX_LISTED_KEYS = 50

type Json = Record<string, unknown>

export class SettingsFile implements Disposable {
  readonly #path: string
  readonly #onChange: (settings: UserSettings) => void
  #seen = ''
  /** The values when the file could be read last. They stay in use while the file can't be read. */
  #values: SettingValues = {}
  #writing: Promise<unknown> = Promise.resolve()
  #clock: ReturnType<typeof setInterval> | undefined

  /** `folder`: the user's configuration folder. `onChange` is called when the file has changed; it must not throw. */
  constructor(folder: string, onChange: (settings: UserSettings) => void) {
    this.#path = join(folder, 'settings.json')
    this.#onChange = onChange
  }

  /** Reads the file, and starts watching it. */
  async begin(): Promise<void> {
    this.#seen = await this.#look()
    await this.read()
    this.#clock = setInterval(() => this.#check(), LOOK_INTERVAL_MS)
    this.#clock.unref()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#clock)
  }

  /** The values as they were read last. */
  get values(): SettingValues {
    return this.#values
  }

  async read(): Promise<UserSettings> {
    const path = visible(this.#path)
    try {
      const settings = readSettings(path, await this.#content())
      this.#values = settings.values
      return settings
    } catch (error) {
      const broken = error instanceof Failure ? error.message : `${path} can't be read: ${visible(String(error))}.`
      return { path, values: this.#values, unknown: [], problems: [], broken }
    }
  }

  /**
   * Sets a value, or removes it (null). The other keys of the file keep their values and their order.
   *
   * @throws A {@link Failure} for a value that is not allowed, and where the file can't be read.
   */
  async set(key: SettingKey, value: string | number | boolean | null): Promise<void> {
    if (value !== null) {
      const parsed = v.safeParse(SETTINGS[key] as v.GenericSchema, value)
      if (!parsed.success) throw new Failure(`${key} ${parsed.issues[0].message}.`)
    }
    const written = this.#writing.then(async () => {
      const content = await this.#content()
      if (value === null) delete content[key]
      else content[key] = value
      await this.#write(content)
      await this.#check()
    })
    this.#writing = written.catch(() => undefined)
    await written
  }

  /** The file as an object. Throws a {@link Failure} that says what is wrong with it. */
  async #content(): Promise<Json> {
    const path = visible(this.#path)
    let text: string
    try {
      if ((await stat(this.#path)).size > MAX_FILE_BYTES)
        throw new Failure(`${path} has more than 1 MB, which are no settings: move it aside.`)
      text = await readFile(this.#path, 'utf8')
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return {}
      if (error instanceof Failure) throw error
      throw new Failure(`${path} can't be read (${code}): check its owner and permissions.`)
    }
    if (text.trim() === '') return {}
    const content = parseObject(text)
    if (typeof content === 'string')
      throw new Failure(`${path} is not read and not changed until it is mended: ${visible(content)}.`)
    return content
  }

  async #write(content: Json): Promise<void> {
    await openFolder(dirname(this.#path))
    // Where the file is a link, such as one into a folder of dotfiles, its target is written.
    const target = await realpath(this.#path).catch(() => this.#path)
    const mode = await stat(target).then(
      it => it.mode & 0o777,
      () => 0o600,
    )
    const draft = `${target}.${crypto.randomUUID()}`
    try {
      const file = await open(draft, 'wx', mode)
      try {
        await file.writeFile(`${JSON.stringify(content, undefined, 2)}\n`)
        await file.datasync()
      } finally {
        await file.close()
      }
      await rename(draft, target)
    } catch (error) {
      await rm(draft, { force: true })
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      throw new Failure(`${visible(this.#path)} can't be written (${code}): check its owner and its disk.`)
    }
  }

  async #check(): Promise<void> {
    const now = await this.#look()
    if (now === this.#seen) return
    this.#seen = now
    this.#onChange(await this.read())
  }

  /** A text that changes whenever the file does. */
  async #look(): Promise<string> {
    try {
      const { mtimeMs, size, ino } = await stat(this.#path)
      return `${mtimeMs} ${size} ${ino}`
    } catch (error) {
      return String((error as NodeJS.ErrnoException).code)
    }
  }
}

/** The object in a JSON text; or what is wrong with it. */
function parseObject(text: string): Json | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return `it is not JSON (${(error as Error).message.replace(/^JSON Parse error: /, '').slice(0, 100)})`
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'it is not an object: { "key": value }'
  return value as Json
}

function readSettings(path: string, content: Json): UserSettings {
  const values: Json = {}
  const problems: string[] = []
  for (const [key, value] of Object.entries(content)) {
    if (!isSettingKey(key)) continue
    const parsed = v.safeParse(SETTINGS[key] as v.GenericSchema, value)
    if (parsed.success) values[key] = parsed.output
    else problems.push(`${key} ${parsed.issues[0].message}: it has its default.`)
  }
  const unknown = Object.keys(content).filter(key => !isSettingKey(key))
  const listed = unknown.slice(0, MAX_LISTED_KEYS).map(key => visible(key).slice(0, 100))
  return { path, values: values as SettingValues, unknown: listed, problems }
}
