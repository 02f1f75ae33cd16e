// The harness on real repositories, with a scripted stand-in for OpenCode.
import { afterAll, describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathWithout } from '../support/path.ts'
import { clean, conflict, git, isMerged, type Scene as Repository, setScene } from './scene.ts'

const harness = join(import.meta.dir, '../../harness/run.sh')
const root = mkdtempSync(join(tmpdir(), 'forklift-harness-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

type Scene = Repository & {
  env?: Record<string, string>
  agent?: string // shell commands, run as `opencode run …` in the workspace
  addresses?: number // KiB of address space for each process
}

const resolve = "printf 'hello, both\\n' >greeting.txt; git commit -qam 'Merge upstream; tests: none found'"
const sayDone = `say 'All done.'; finish stop`

const standIn = (script: string) => `#!/usr/bin/env bash
say() { printf '{"type":"text","part":{"type":"text","text":"%s"}}\\n' "$1"; }
finish() { printf '{"type":"step_finish","part":{"reason":"%s","type":"step-finish"}}\\n' "$1"; }
if [[ "$1 $2" == 'agent list' ]]; then
  touch "$OPENCODE_TEST_MARK-list"
  printf 'build (primary)\\n  [\\n  ]\\nexplore (subagent)\\n'
  exit
fi
touch "$OPENCODE_TEST_MARK"
${script}
`

function prepare(scene: Scene) {
  const place = setScene(root, scene)
  const bin = join(place.folder, 'bin')
  const temporary = join(place.folder, 'tmp')
  for (const path of [bin, temporary]) mkdirSync(path)
  writeFileSync(join(bin, 'opencode'), standIn(scene.agent ?? sayDone))
  chmodSync(join(bin, 'opencode'), 0o755)
  const mark = join(place.folder, 'agent-ran')
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: join(place.folder, 'no-home'),
    TMPDIR: temporary,
    OPENCODE_API_KEY: 'test-key',
    OPENCODE_MODEL: 'test-model',
    OPENCODE_VARIANT: 'high',
    OPENCODE_AGENT: 'build',
    OPENCODE_TEST_MARK: mark,
    ...scene.env,
  }
  const read = (path: string) => readFileSync(join(place.folder, path), 'utf8')
  return { ...place, temporary, mark, env, read }
}

async function run(scene: Scene, whileRunning?: (run: { pid: number; mark: string; folder: string }) => Promise<void>) {
  const place = prepare(scene)
  const command = [harness, place.workspace, place.state]
  // Limits the harness and each process that it starts.
  const bounded = scene.addresses ? ['bash', '-c', `ulimit -v ${scene.addresses} && exec "$@"`, 'bash'] : []
  const began = performance.now()
  const process = Bun.spawn([...bounded, ...command], {
    cwd: place.folder,
    env: place.env,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  await whileRunning?.({ pid: process.pid, mark: place.mark, folder: place.folder })
  const [output, errors, code] = await Promise.all([
    new Response(process.stdout).text(),
    new Response(process.stderr).text(),
    process.exited,
  ])
  if (/line \d+ failed/.test(output + errors)) throw new Error(`the harness stumbled:\n${output}${errors}`)
  return {
    ...place,
    code,
    output,
    errors,
    took: (performance.now() - began) / 1000,
    merged: isMerged(place.workspace, place.branch, place.upstream),
    agentRan: existsSync(place.mark),
    log: () => place.read('state/logs/harness.log'),
    stuck: () => (existsSync(join(place.workspace, 'STUCK.md')) ? place.read('workspace/STUCK.md') : undefined),
  }
}

async function appears(path: string): Promise<void> {
  for (let tries = 0; tries < 1000 && !existsSync(path); tries++) await Bun.sleep(10)
  if (!existsSync(path)) throw new Error(`${path} never appeared`)
}

const isControl = (character: string) =>
  (character < ' ' && !'\t\n'.includes(character)) || (character >= '\u007f' && character <= '\u009f')
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

describe('the merge', () => {
  test('without a conflict it is committed before the agent starts', async () => {
    const result = await run({
      ...clean,
      agent: `git log -1 --format='%an <%ae> %P' >"$OPENCODE_TEST_MARK"; ${sayDone}`,
    })
    expect(result.code).toBe(0)
    expect(result.merged).toBe(true)
    const seen = readFileSync(result.mark, 'utf8').trim()
    expect(seen).toBe(`Forklift agent <agent@forklift.invalid> ${result.start} ${result.upstream}`)
    expect(result.read('state/instructions.txt')).toContain('Git has merged it without a conflict')
  })

  test('with a conflict it waits for the agent, with the common ancestor in the markers', async () => {
    const result = await run({ ...conflict, agent: `cp greeting.txt "$OPENCODE_TEST_MARK"; ${resolve}; ${sayDone}` })
    expect(result.code).toBe(0)
    expect(result.merged).toBe(true)
    expect(readFileSync(result.mark, 'utf8')).toMatch(/<{7}.*\n\|{7}.*\nhello\n={7}.*>{7}/s)
    expect(result.read('state/instructions.txt')).toContain('\n- greeting.txt\n')
    expect(git(result.workspace, 'log', '-1', '--format=%an <%ae>')).toBe('Forklift agent <agent@forklift.invalid>')
  })

  test('resolved and staged but not committed is committed for the agent, and the log says so', async () => {
    const result = await run({ ...conflict, agent: `echo both >greeting.txt; git add greeting.txt; ${sayDone}` })
    expect(result.code).toBe(0)
    expect(result.merged).toBe(true)
    expect(result.log()).toContain('left it uncommitted: committing it')
    expect(git(result.workspace, 'show', 'HEAD:greeting.txt')).toBe('both')
  })

  test('left with conflicts is never committed: the host will see that upstream is missing', async () => {
    const result = await run({ ...conflict, agent: sayDone })
    expect(result.code).toBe(0)
    expect(result.merged).toBe(false)
    expect(result.log()).toContain("does not hold upstream's commits")
  })

  test('may be aborted by the agent in favour of a rebase', async () => {
    const result = await run({
      ...clean,
      agent: `git reset -q --hard HEAD^; git rebase -q upstream/main; ${sayDone}`,
    })
    expect(result.code).toBe(0)
    expect(result.merged).toBe(true)
    expect(git(result.workspace, 'rev-list', '--count', '--merges', 'main')).toBe('0')
  })
})

describe('the instructions', () => {
  test('name the commits, the files in conflict, the time, and what FORK.md says', async () => {
    const result = await run({
      ...conflict,
      upstreamMessage: 'Greet upstream',
      seconds: 480,
      forkContext: 'This fork greets everyone.\n',
      agent: `printf '%s' "\${@: -1}" >"$OPENCODE_TEST_MARK"; ${sayDone}`,
    })
    const text = result.read('state/instructions.txt')
    expect(text).toContain('merge\nupstream/main into main')
    expect(text).toContain("Upstream's new commits (1)")
    expect(text).toContain('Greet upstream')
    expect(text).toContain('\n- greeting.txt\n')
    expect(text).toContain('You have 7 minutes.')
    expect(text).toContain('This fork greets everyone.')
    expect(result.output).toContain(text)
    expect(readFileSync(result.mark, 'utf8')).toBe(text.trimEnd())
  })

  test('are data: nothing in FORK.md, branch names, commit messages or file names is executed', async () => {
    const trap = (name: string) => `\`touch\${IFS}${name}\`$(touch\${IFS}${name})`
    const result = await run({
      base: { [`a${trap('file')}.txt`]: 'hello\n' },
      fork: { [`a${trap('file')}.txt`]: 'fork\n' },
      upstream: { [`a${trap('file')}.txt`]: 'upstream\n' },
      upstreamMessage: `${trap('message')} %s %n "; touch quote; "`,
      branch: '`touch$IFS_branch`$(touch$IFS_branch)',
      upstreamBranch: '`touch$IFS_upstream`;touch$IFS_upstream',
      forkContext: `${trap('fork')}\nEOF\nTEXT\ntouch text\n`,
      agent: `say 'text with \`touch said\` and $(touch said) %s %n'; ${sayDone}`,
    })
    expect(result.code).toBe(0)
    expect(result.read('state/instructions.txt')).toContain(trap('fork'))
    expect(result.read('state/instructions.txt')).toContain(trap('message'))
    const left = [...readdirSync(result.workspace), ...readdirSync(result.folder), ...readdirSync(result.state)]
    expect(left.sort()).toEqual(
      [
        '.git',
        `a${trap('file')}.txt`,
        ...['agent-ran', 'bin', 'state', 'tmp', 'workspace'],
        ...['fork-context.md', 'instructions.txt', 'logs', 'run.txt'],
      ].sort(),
    )
  })

  test('stay within one argument, however much there is to say', async () => {
    const many = (text: string) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`${'long'.repeat(50)}-${at}.txt`, text]))
    const result = await run({
      base: many('base\n'),
      fork: many('fork\n'),
      upstream: many('upstream\n'),
      upstreamMessage: 'x'.repeat(100_000),
      forkContext: 'y'.repeat(200_000),
    })
    expect(result.agentRan).toBe(true)
    expect(result.code).toBe(0)
    expect(result.read('state/instructions.txt')).toContain('- and 50 more (git status)')
  })

  test('and the log carry no control characters to a terminal', async () => {
    const result = await run({
      ...clean,
      upstreamMessage: 'red \u001b[31m alert \u0007 \u009b2J',
      forkContext: '\u001b]0;title\u0007\n',
      agent: `say 'hidden \\u001b[2J text'; ${sayDone}`,
    })
    const shown = result.output + result.log() + result.read('state/instructions.txt')
    const transcript = result.read('state/logs/transcript.txt')
    expect(transcript).toContain('hidden')
    expect([...(shown + transcript)].filter(isControl)).toEqual([])
  })
})

describe('stuck', () => {
  test('the agent’s STUCK.md gives exit code 4 and stays byte for byte', async () => {
    const result = await run({ ...conflict, agent: `printf 'Keep SSO?\\r\\n\\n' >STUCK.md; ${sayDone}` })
    expect(result.code).toBe(4)
    expect(result.stuck()).toBe('Keep SSO?\r\n\n')
  })

  test('a committed STUCK.md counts too', async () => {
    const script = `git checkout -q --ours .; echo 'Which one?' >STUCK.md; git add -f . ; git commit -qm x; rm STUCK.md`
    const result = await run({ ...conflict, agent: `${script}; ${sayDone}` })
    expect(result.code).toBe(4)
  })

  test("a STUCK.md of upstream's own is not one", async () => {
    const result = await run({ ...clean, upstream: { 'STUCK.md': 'how to get unstuck\n' } })
    expect(result.code).toBe(0)
    expect(result.stuck()).toBe('how to get unstuck\n')
  })

  test('a FIFO or a dangling link of that name does not hang the harness', async () => {
    expect((await run({ ...conflict, agent: `mkfifo STUCK.md; ${sayDone}` })).code).toBe(4)
    expect((await run({ ...conflict, agent: `ln -s /nowhere STUCK.md; ${sayDone}` })).code).toBe(4)
  })
})

/** Signals the harness's deadline when the agent is ready, so that the test does not depend on the machine's speed. */
const timeRunsOut = async ({ pid, mark }: { pid: number; mark: string }) => {
  await appears(`${mark}.out`)
  process.kill(pid, 'SIGALRM')
}
const OUT = 'touch "$OPENCODE_TEST_MARK.out"; sleep 60'

describe('the brief', () => {
  const brief = (result: { read: (path: string) => string }) => result.read('state/instructions.txt')

  test("tells the fork's own commits that touched each file in conflict, whatever the file is called", async () => {
    const result = await run({ ...conflict, fork: { 'greeting.txt': 'hello, fork\n', ':(top)*': 'x\n' } })
    expect(brief(result)).toMatch(
      /The fork's own commits that touched them[^\n]*\n[^\n]*git diff [0-9a-f]{12} [0-9a-f]{12} -- FILE\n- greeting\.txt\n {2}- [0-9a-f]{7,} the fork differs\n\n/,
    )
    const [, diff = ''] = /(git diff \w+ \w+) -- FILE/.exec(brief(result)) ?? []
    const { stdout } = Bun.spawnSync([...diff.split(' '), '--', 'greeting.txt'], { cwd: result.workspace })
    expect(stdout.toString()).toContain('\n+hello, fork\n')
    expect(brief(await run(clean))).not.toContain("The fork's own commits")
  })

  test('bounds the checks, and says what to do with copies, choices, installs and an open question', async () => {
    const text = brief(await run(conflict)).replace(/\s+/g, ' ')
    for (const words of [
      /no more than half of your time .* run what covers the files that the merge or you changed/,
      /run the same test on the fork's side of the merge .* say whether the merge caused it; else say "cause not checked"/,
      'what you did not run',
      "Where either reading is defensible, keep the fork's behaviour and name the choice",
      'Where the fork holds a copy of code that upstream changed',
      "must not change git's configuration or tracked files",
      'commit the best version that you can make without the answer, and put the question into STUCK.md',
    ])
      expect(text).toMatch(words)
    expect(text).not.toMatch(/rebase/i)
  })

  test('lists the installed and the missing programs, with versions', async () => {
    const text = brief(await run(clean))
    const [, here = '', missing = ''] = /- Programs that are here: (.*)\.\n {2}Not here: (.*)\.\n/.exec(text) ?? []
    const version = /\d[\d.]+\d/.exec(Bun.spawnSync(['perl', '--version']).stdout.toString())?.[0]
    expect(here).toContain(`perl ${version}`)
    for (const name of ['swift', 'bundle', 'make', 'jq'])
      expect([name, (Bun.which(name) ? here : missing).split(/[ ,]+/)]).toEqual([name, expect.arrayContaining([name])])
  })

  test('names the registries that can be reached, in the container', async () => {
    const tools = mkdtempSync(join(root, 'curl-'))
    const curl = (answers: string) =>
      writeFileSync(join(tools, 'curl'), `#!/bin/sh\nfor last; do :; done\n[ "$last" = "${answers}" ]\n`, {
        mode: 0o755,
      })
    const env = { PATH: `${tools}:${process.env.PATH}`, FORKLIFT_PROXY: 'http://127.0.0.1:4000' }
    const look = async () => {
      const place = mkdtempSync(join(root, 'opencode-'))
      writeFileSync(join(place, 'opencode'), standIn(sayDone), { mode: 0o755 })
      return brief(await run({ ...clean, env: { ...env, PATH: `${place}:${env.PATH}` } }))
    }
    curl('https://pypi.org/')
    expect(await look()).toMatch(
      /these can be reached: pypi\.org\. No answer came from registry\.npmjs\.org, [^\n]*github\.com\.\n/,
    )
    curl('nothing')
    expect(await look()).toContain('No registry of packages answered (tried: registry.npmjs.org, ')
  })

  test('begins no later for programs that do not end', async () => {
    const tools = mkdtempSync(join(root, 'slow-'))
    for (const name of ['ruby', 'go', 'swift'])
      writeFileSync(join(tools, name), '#!/bin/sh\nsleep 60\n', { mode: 0o755 })
    writeFileSync(join(tools, 'opencode'), standIn(sayDone), { mode: 0o755 })
    const result = await run({ ...clean, env: { PATH: `${tools}:${process.env.PATH}` } })
    expect(brief(result)).toMatch(/Programs that are here: .*\bgo, .*\bruby,/)
    expect(result.took).toBeLessThan(30)
  })
})

describe.concurrent('time', () => {
  test('that runs out before the merge is done ends with 2 and a STUCK.md of the harness', async () => {
    const result = await run({ ...conflict, seconds: 12, agent: `say 'I am looking at greeting.txt'; sleep 60` })
    expect(result.code).toBe(2)
    expect(result.merged).toBe(false)
    const stuck = result.stuck()
    expect(stuck).toContain('Upstream is not merged into main yet.')
    expect(stuck).toContain('- greeting.txt')
    expect(stuck).toContain('> I am looking at greeting.txt')
  })

  test('that runs out with upstream merged and committed ends with 0 and says that the tests did not finish', async () => {
    const result = await run({ ...clean, seconds: 600, agent: OUT }, timeRunsOut)
    expect(result.code).toBe(0)
    expect(result.stuck()).toBeUndefined()
    expect(result.log()).toContain('The tests did not finish.')
  })

  test('that runs out over uncommitted work names it in STUCK.md', async () => {
    const result = await run({ ...clean, seconds: 600, agent: `echo half >fork.txt; ${OUT}` }, timeRunsOut)
    expect(result.code).toBe(2)
    expect(result.stuck()).toContain(' M fork.txt')
  })

  test('that runs out leaves the STUCK.md that the agent wrote', async () => {
    const result = await run({ ...conflict, seconds: 600, agent: `echo mine >STUCK.md; ${OUT}` }, timeRunsOut)
    expect(result.code).toBe(2)
    expect(result.stuck()).toBe('mine\n')
  })

  test('ends an agent that ignores signals, and its children in sessions of their own', async () => {
    const agent = `trap '' TERM
      echo $$ >"$OPENCODE_TEST_MARK.self"
      setsid bash -c 'trap "" TERM; echo $$ >'"'$OPENCODE_TEST_MARK.child'"'; touch '"'$OPENCODE_TEST_MARK.out'"'
        while :; do sleep 1; done' &
      while :; do sleep 1; done`
    const result = await run({ ...conflict, seconds: 600, agent }, timeRunsOut)
    expect(result.code).toBe(2)
    for (const name of ['self', 'child']) {
      expect(isAlive(Number(readFileSync(`${result.mark}.${name}`, 'utf8')))).toBe(false)
    }
  })

  test('cut short by a TERM ends the same way, promptly', async () => {
    let began = 0
    const result = await run({ ...conflict, seconds: 600, agent: 'sleep 60' }, async ({ pid, mark }) => {
      await appears(mark)
      began = performance.now()
      process.kill(pid, 'SIGTERM')
    })
    expect(result.code).toBe(2)
    expect(result.stuck()).toContain('- greeting.txt')
    expect(performance.now() - began).toBeLessThan(5000)
  })
})

test('OpenCode is started once: its default agent is not looked up first, which would take seconds', async () => {
  const result = await run({ ...clean, env: { OPENCODE_AGENT: 'build' } })
  expect(result.agentRan).toBe(true)
  expect(existsSync(`${result.mark}-list`)).toBe(false)
})

describe('an agent that failed ends with 5', () => {
  const failures: Record<string, string> = {
    'an exit code': `${sayDone}; exit 1`,
    'the exit code of a time-out': `${sayDone}; exit 2`,
    'an error event': `echo '{"type":"error","error":{"name":"APIError"}}'; ${sayDone}`,
    'an answer cut at its length': `finish length`,
    'no answer at all': ':',
    'a crash': 'kill -SEGV $$',
  }
  for (const [name, agent] of Object.entries(failures)) {
    test(`on ${name}, although the merge is there`, async () => {
      const result = await run({ ...clean, agent })
      expect(result.agentRan).toBe(true)
      expect(result.code).toBe(5)
      expect(result.stuck()).toBeUndefined()
    })
  }

  test('on an agent name that OpenCode does not know, before it is started', async () => {
    for (const name of ['nosuch', 'explore']) {
      const result = await run({ ...clean, env: { OPENCODE_AGENT: name } })
      expect(result.code).toBe(5)
      expect(result.agentRan).toBe(false)
      expect(result.output).toContain(`OpenCode knows no primary agent '${name}': set OPENCODE_AGENT to one of build`)
    }
  })

  test('and the log has the words of the error', async () => {
    const error = '{"type":"error","error":{"name":"APIError","data":{"message":"Invalid \\"key\\"","statusCode":401}}}'
    const result = await run({ ...clean, agent: `echo '${error}'; exit 1` })
    expect(result.code).toBe(5)
    expect(result.log()).toContain('OpenCode reported an error: Invalid "key"')
  })

  test('but text that quotes an error event is only text', async () => {
    const agent = `say 'seen {\\"type\\":\\"error\\"} in a log'; ${sayDone}`
    expect((await run({ ...clean, agent })).code).toBe(0)
  })
})

describe('events that no OpenCode wrote', () => {
  // The events file that the harness reads is the agent's standard output.
  const file = 'events=$(readlink /proc/$$/fd/1)'

  test('lose no others: broken lines, NULs, other types, nesting without end', async () => {
    const broken = [
      `printf '{"type":"text","part":{"text":"half a line\\n'`,
      `printf '\\000\\000{"type":"text","part":{"text":"after NULs"}}\\n'`,
      `printf '{"type":"text","part":{"text":"caf\\351"}}\\n'`,
      `printf '5\\n[]\\nnull\\n\\n"text"\\n{} {}\\n'`,
      `printf '{"type":"%s","part":%s}\\n' text '"x"' text '{"text":7}' text null tool_use 3 step_finish '[]' tool_use '{"tool":{}}'`,
      `printf '{"type":["error"]}\\n{"part":{"text":"first the part"},"type":"text"}\\n'`,
      `printf '%0100000d\\n' 0 | tr 0 '['`,
      sayDone,
      `printf '{"type":"text","part":{"text":"no line end'`,
    ]
    const result = await run({ ...clean, agent: broken.join('\n') })
    expect(result.code).toBe(0)
    expect(result.read('state/logs/transcript.txt')).toBe(
      ['after NULs', 'caf\ufffd', '[?] null', '[?] null', 'first the part', 'All done.']
        .map(it => `\n${it}\n`)
        .join(''),
    )
  })

  test('are text, whatever printf would make of it', async () => {
    const text = 'Line "two" %s %b \\c \\n \\101 \\u0042 C:\\new $(touch x) `touch y` \u{1f600} é'
    const event = JSON.stringify({ type: 'text', part: { text } })
    const asAscii = JSON.stringify({ type: 'text', part: { text: 'A' } }).replace('"A"', '"\\u0041\\ud83d\\ude00"')
    const result = await run({ ...clean, agent: `cat <<'END'\n${event}\n${asAscii}\nEND\n${sayDone}` })
    expect(result.read('state/logs/transcript.txt')).toBe(`\n${text}\n\nA\u{1f600}\n\nAll done.\n`)
  })

  test('are read within bounds of memory and time: lines without an end, lines without number, a file without size', async () => {
    const floods = {
      'one line': `head -c 200000000 /dev/zero | tr '\\0' x; echo`,
      'many lines': `yes '{}' | head -c 200000000; echo`,
      'one text': `printf '{"type":"text","part":{"text":"'; head -c 100000000 /dev/zero | tr '\\0' x; printf '"}}\\n'`,
      'a hole': `${file}; truncate -s 8G "$events"; exec >>"$events"; echo`,
    }
    for (const [name, flood] of Object.entries(floods)) {
      // The processes that read the agent's flood of output may use one gigabyte of address space.
      const result = await run({ ...clean, agent: `${flood}; ${sayDone}`, addresses: 1 << 20 })
      expect([name, result.code]).toEqual([name, 0])
      const [, seconds] = /ended after (\d+) s/.exec(result.log()) ?? []
      // Without a bound, reading these would take minutes; a busy machine takes up to ten seconds with it.
      expect(result.took - Number(seconds)).toBeLessThan(30)
      expect(result.read('state/logs/transcript.txt')).toBe('\nAll done.\n')
      rmSync(result.folder, { recursive: true })
    }
  }, 120_000)

  test('may be gone, or be no file: the agent failed, and nothing waits', async () => {
    for (const deed of ['rm "$events"', 'rm "$events"; mkfifo "$events"', 'ln -sf /dev/zero "$events"']) {
      const result = await run({ ...clean, agent: `${file}; ${sayDone}; ${deed}` })
      expect(result.code).toBe(5)
      expect(result.log()).toContain("OpenCode's last answer was not finished")
    }
  })

  test('are read without the definitions that the agent left for jq', async () => {
    const agent = `echo 'def fromjson: error; def objects: empty; def event: empty;' >"$HOME/.jq"; ${sayDone}`
    const result = await run({ ...clean, agent })
    expect(result.code).toBe(0)
    expect(result.read('state/logs/transcript.txt')).toBe('\nAll done.\n')
  })

  test('may be an error of any shape, which is shown in part', async () => {
    const shapes: [unknown, string][] = [
      [{ data: { message: 'x'.repeat(100_000) } }, `: ${'x'.repeat(500)} (model`],
      [{ name: 'UnknownError', data: { message: '' } }, ': UnknownError (model'],
      [{ data: 'text', message: 'Out of words \u001b[2J' }, ': Out of words [2J (model'],
      ['a string', ': "a string" (model'],
      [null, ': null (model'],
      [[{ deep: [1] }], ': [{"deep":[1]}] (model'],
    ]
    for (const [error, shown] of shapes) {
      const result = await run({
        ...clean,
        agent: `cat <<'END'\n${JSON.stringify({ error, type: 'error' })}\nEND\n${sayDone}`,
      })
      expect(result.code).toBe(5)
      expect(result.log()).toContain(`OpenCode reported an error${shown}`)
    }
  })

  test('show no control characters, however they are spelled', async () => {
    const sneaky = `\\u001b[31m \\u009b2J \\u00c2\\u009b \\u0000 \\b\\f\\r \u009b2J`
    const result = await run({
      ...conflict,
      seconds: 4,
      forkContext: Buffer.concat([Buffer.from([0xc2, 0xc2, 0x9b, 0x9b]), Buffer.from('2J and more\n')]),
      agent: `cat <<'END'\n{"type":"text","part":{"text":"red ${sneaky} alert"}}\n{"type":"error","error":"${sneaky}"}\nEND\nsleep 60`,
    })
    const shown = [result.output, result.log(), result.stuck() ?? '', result.read('state/instructions.txt')]
    shown.push(result.read('state/logs/transcript.txt'))
    expect(result.stuck()).toContain('> red [31m')
    expect([...shown.join('')].filter(isControl)).toEqual([])
  })
})

describe('fails closed on', () => {
  const id = '0'.repeat(40)
  const good = `branch=main\nupstream_branch=main\nstart=${id}\nupstream=${id}\nseconds=60\n`
  const runFiles: Record<string, [string, string]> = {
    'a branch name that is none': [good.replace('=main', '=a..b'), 'branch is not a branch name'],
    'a commit id that is none': [good.replace(id, '$(id)'), 'start is not a commit id'],
    'seconds that are no number': [good.replace('=60', '=6x'), 'seconds is not a number'],
    'a key that is not known': [`${good}PATH=/tmp\n`, 'unknown line'],
    'a key that is missing': [good.replace(/seconds.*\n/, ''), 'seconds is missing'],
    'a workspace that is elsewhere': [good, 'the workspace is not at'],
  }
  for (const [name, [runFile, sentence]] of Object.entries(runFiles)) {
    test(name, async () => {
      const result = await run({ ...clean, runFile })
      expect(result.code).toBe(5)
      expect(result.output).toContain(sentence)
      expect(result.agentRan).toBe(false)
    })
  }

  test('no jq', async () => {
    const bin = await pathWithout(join(mkdtempSync(join(root, 'path-')), 'bin'), ['jq', 'opencode'])
    writeFileSync(join(bin, 'opencode'), standIn(sayDone), { mode: 0o755 })
    const result = await run({ ...clean, env: { PATH: bin } })
    expect(result.code).toBe(5)
    expect(result.output).toContain('harness: jq is not on PATH')
    expect(result.agentRan).toBe(false)
  })

  test('settings with characters that no setting has', async () => {
    const settings: [string, string][] = [
      ['OPENCODE_MODEL', 'm"x'],
      ['OPENCODE_VARIANT', '$(id)'],
      ['OPENCODE_AGENT', ''],
      ['OPENCODE_API_KEY', ''],
      ['OPENCODE_BASE_URL', 'http://x/"'],
    ]
    for (const [name, value] of settings) {
      const result = await run({ ...clean, env: { [name]: value } })
      expect(result.code).toBe(5)
      expect(result.output).toContain(name)
      expect(result.agentRan).toBe(false)
    }
  })
})

describe('OpenCode', () => {
  const dump = `env >"$OPENCODE_TEST_MARK"; cat >"$OPENCODE_TEST_MARK.stdin"; printf '%s\\n' "\${@:1:\${#}-1}" >"$OPENCODE_TEST_MARK.args"; ${sayDone}`

  test('is launched for a machine without a person, deaf to the repository under merge', async () => {
    const result = await run({ ...clean, agent: dump })
    expect(readFileSync(`${result.mark}.stdin`, 'utf8')).toBe('')
    const args = ['run', '--model', 'opencode/test-model', '--variant', 'high', '--agent', 'build', '--format', 'json']
    const seen = readFileSync(`${result.mark}.args`, 'utf8').trimEnd().split('\n')
    expect(seen).toEqual([...args, '--title', 'Merge upstream/main into main'])
    expect(result.log()).toContain('Agent command: opencode run --model opencode/test-model --variant high')
    const env = readFileSync(result.mark, 'utf8')
    expect(env).toContain('OPENCODE_DISABLE_PROJECT_CONFIG=1\n')
    const config = JSON.parse(/^OPENCODE_CONFIG_CONTENT=(.*)$/m.exec(env)?.[1] ?? '')
    expect(config).toMatchObject({ permission: 'allow', share: 'disabled', autoupdate: false })
    expect(config.provider).toEqual({ opencode: { options: { apiKey: '{env:OPENCODE_API_KEY}' } } })
  })

  test('has no provider but its own without OPENCODE_BASE_URL, and says how the model is called there', async () => {
    const result = await run({ ...clean, env: { OPENCODE_MODEL: 'anthropic/claude-sonnet-5' } })
    expect(result.code).toBe(5)
    expect(result.output).toContain('opencode/claude-sonnet-5')
    expect(result.agentRan).toBe(false)
    const own = await run({ ...clean, agent: dump, env: { OPENCODE_MODEL: 'opencode/claude-sonnet-5' } })
    expect(readFileSync(`${own.mark}.args`, 'utf8')).toContain('\nopencode/claude-sonnet-5\n')
  })

  test('goes to OPENCODE_BASE_URL, or to the proxy in its place', async () => {
    const endpoint = { OPENCODE_BASE_URL: 'http://model.invalid/v1', OPENCODE_MODEL: 'org/model-1.5' }
    const baseURL = async (env: Record<string, string>) => {
      const result = await run({ ...clean, agent: dump, env })
      const config = JSON.parse(/^OPENCODE_CONFIG_CONTENT=(.*)$/m.exec(readFileSync(result.mark, 'utf8'))?.[1] ?? '')
      const [provider] = Object.keys(config.provider)
      return `${provider} ${config.provider[provider ?? ''].options.baseURL}`
    }
    const proxy = { FORKLIFT_PROXY: 'http://127.0.0.1:4000' }
    expect(await baseURL(endpoint)).toBe('forklift http://model.invalid/v1')
    expect(await baseURL({ ...endpoint, ...proxy })).toBe('forklift http://127.0.0.1:4000')
    expect(await baseURL(proxy)).toBe('opencode http://127.0.0.1:4000')
  })

  test('leaves events, a transcript to read, and no temporary files', async () => {
    const tool =
      '{"type":"tool_use","part":{"type":"tool","tool":"bash","state":{"status":"completed","input":{"command":"make test"},"output":"ok"}}}'
    const agent = `touch "$HOME/x" "$TMPDIR/y"; echo '${tool}'; say 'Line one.\\nLine \\"two\\".'; finish stop`
    const result = await run({ ...clean, agent })
    expect(result.read('state/logs/transcript.txt')).toBe(
      '\n[bash] {"command":"make test"}\n\nLine one.\nLine "two".\n',
    )
    expect(result.read('state/logs/events.jsonl')).toContain(tool)
    expect(readdirSync(result.temporary)).toEqual([])
    expect(readdirSync(result.state).sort()).toEqual(['instructions.txt', 'logs', 'run.txt'])
    expect(existsSync(join(result.folder, 'no-home'))).toBe(false)
  })
})
