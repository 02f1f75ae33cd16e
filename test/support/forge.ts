/** Runs the command `forge` in a test's world, with a page of its own. */
import { join } from 'node:path'
import { TestWindow } from './served.ts'
import { PROJECT, type World } from './world.ts'

export type OpenForge = AsyncDisposable & {
  /** The address that `forge` printed, with the key. */
  address: string
  window: () => Promise<TestWindow>
}

/** Starts forge in the checkout of a world, with the page in a folder. Disposing ends it. */
export async function openForge(world: Pick<World, 'env' | 'checkout'>, page: string): Promise<OpenForge> {
  const env = { ...world.env, FORGE_PAGE: page }
  const command = [join(PROJECT, 'forge.ts'), '--no-open']
  const child = Bun.spawn(command, { cwd: world.checkout, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const errors = new Response(child.stderr).text()
  const found = Promise.withResolvers<string>()
  const read = (async () => {
    let out = ''
    for await (const piece of child.stdout) {
      out += Buffer.from(piece).toString()
      const [address] = /http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+/.exec(out) ?? []
      if (address) found.resolve(address)
    }
    found.reject(new Error(`forge ended without an address: ${out}${await errors}`))
  })()
  const close = async () => {
    child.kill('SIGINT')
    await Promise.all([child.exited, read])
  }
  found.promise.catch(() => undefined)
  const address = await found.promise
  return { address, window: () => TestWindow.at(address), [Symbol.asyncDispose]: close }
}
