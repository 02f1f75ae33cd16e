/** The names and addresses of people as a repository's .mailmap gives them (gitmailmap(5)). */
import type { Repository } from './repository.ts'
import { run } from './run.ts'

/** The author or committer of a commit. */
export type Person = { name: string; email: string }

/** What git said is used for this long: .mailmap may have changed since. */
const KEPT_MS = 10_000

/** What git takes as a contact. Others are left as they are. */
const CONTACT = /^[^<>\n\0]*$/

export class Mailmap {
  /** The people that git was asked about lately, by {@link keyOf}. */
  readonly #known = new Map<string, Person>()
  #asked = Number.NEGATIVE_INFINITY

  constructor(readonly repository: Repository) {}

  /** Gives each person as `git log` shows them: with the name and address that .mailmap has for theirs, if any. */
  async of(people: readonly Person[]): Promise<Person[]> {
    const now = performance.now()
    if (now - this.#asked > KEPT_MS) {
      this.#known.clear()
      this.#asked = now
    }
    const unknown = new Map(people.filter(it => !this.#known.has(keyOf(it))).map(it => [keyOf(it), it]))
    const askable = [...unknown].filter(([, { name, email }]) => CONTACT.test(name) && CONTACT.test(email))
    if (askable.length > 0) {
      const input = askable.map(([key]) => `${key}\n`).join('')
      const { stdout } = await run(this.repository, ['check-mailmap', '--stdin'], { input })
      const answers = stdout.toString().split('\n')
      for (const [at, [key, person]] of askable.entries()) this.#known.set(key, personIn(answers[at] ?? '') ?? person)
    }
    return people.map(person => this.#known.get(keyOf(person)) ?? person)
  }
}

const keyOf = ({ name, email }: Person): string => `${name} <${email}>`

/** The person in a line such as `Ann Example <ann@example.com>`. */
function personIn(line: string): Person | undefined {
  const [, name, email] = /^(.*?) ?<([^<>]*)>$/.exec(line) ?? []
  return name === undefined || email === undefined ? undefined : { name, email }
}
