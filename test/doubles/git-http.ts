/** Git over real HTTP by `git http-backend`, with an optional token. */
import { join } from 'node:path'

export type GitHttpOptions = {
  /** The required password; undefined: everyone may read and write. */
  token?: string
  /** Milliseconds before each answer. */
  delay?: number
}

export type GitServer = AsyncDisposable & {
  url: string
  asked: { path: string; user: string | undefined; status: number }[]
}

/** Serves the bare repositories below `root`. */
export function serveGit(root: string, options: GitHttpOptions = {}): GitServer {
  const asked: GitServer['asked'] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const url = new URL(request.url)
      if (options.delay) await Bun.sleep(options.delay)
      const basic = /^basic (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
      const [user, password] = basic ? Buffer.from(basic, 'base64').toString().split(/:(.*)/) : []
      if (options.token !== undefined && password !== options.token) {
        asked.push({ path: url.pathname, user, status: 401 })
        return new Response('authentication required\n', {
          status: 401,
          headers: { 'www-authenticate': 'Basic realm="git"' },
        })
      }
      const response = await backend(root, request, url, user)
      asked.push({ path: url.pathname, user, status: response.status })
      return response
    },
  })
  return { url: `http://127.0.0.1:${server.port}`, asked, [Symbol.asyncDispose]: () => server.stop(true) }
}

async function backend(root: string, request: Request, url: URL, user: string | undefined): Promise<Response> {
  const body = await request.arrayBuffer()
  const encoding = request.headers.get('content-encoding')
  const protocol = request.headers.get('git-protocol')
  const child = Bun.spawn(['git', '-c', 'http.receivepack=true', '-c', 'safe.directory=*', 'http-backend'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: join(root, 'nobody'),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers.get('content-type') ?? '',
      CONTENT_LENGTH: String(body.byteLength),
      REMOTE_ADDR: '127.0.0.1',
      REMOTE_USER: user ?? 'anonymous',
      ...(encoding ? { HTTP_CONTENT_ENCODING: encoding } : {}),
      ...(protocol ? { GIT_PROTOCOL: protocol } : {}),
    },
    stdin: new Blob([body]),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const output = Buffer.from(await new Response(child.stdout).arrayBuffer())
  const end = output.indexOf('\r\n\r\n')
  const headers = new Headers()
  let status = 200
  for (const line of output.subarray(0, Math.max(0, end)).toString().split('\r\n')) {
    const [name = '', value = ''] = line.split(/: (.*)/)
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
    else if (name) headers.set(name, value)
  }
  return new Response(output.subarray(end + 4), { status: end < 0 ? 500 : status, headers })
}
