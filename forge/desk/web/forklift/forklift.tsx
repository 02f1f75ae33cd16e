/** Forklift in the repository view, and in a branch that continues one of its runs. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import type { Forklift, ForkliftRun } from '../../contract/forklift.ts'
import { Link } from '../chat/link.tsx'
import { branchOf, isMerging } from '../page/branch-facts.ts'
import { type Tab, usePage } from '../page/state.ts'
import { FailedLine } from '../ui/failed.tsx'
import { Icon, type IconName } from '../ui/icons.tsx'
import { readable, withoutTricks } from '../ui/names.ts'
import { age, digits, plural, timeTitle } from '../ui/times.ts'
import { Button, Name } from '../ui/words.tsx'
import { openRun, publish, runForklift, stopForklift } from './forklift-actions.ts'

/** At most this many runs are listed. */
const MAX_RUNS = 5

const SIGNS: Record<ForkliftRun['end'], { icon: IconName; tone: string; word: string }> = {
  merged: { icon: 'check', tone: '', word: 'Merged' },
  nothing: { icon: 'check', tone: '', word: 'Nothing to do' },
  stuck: { icon: 'warning', tone: 'is-warn', word: 'Stuck' },
  'timed out': { icon: 'hourglass', tone: 'is-warn', word: 'Out of time' },
  refused: { icon: 'shield', tone: 'is-warn', word: 'Refused' },
  failed: { icon: 'alert', tone: 'is-bad', word: 'Failed' },
  running: { icon: 'arc', tone: 'by-ai spin', word: 'Running' },
}

/** The fork's state: how far upstream is ahead, the last runs, and the button Run. */
export function ForkliftPanel() {
  const page = usePage()
  const { latest, problem } = page.forklift
  useEffect(() => page.forklift.load(), [page])
  const known = latest.value
  if (!known) {
    return problem.value === undefined ? null : (
      <section class="foot-block" aria-label="Forklift">
        <h3>Forklift</h3>
        <FailedLine problem={problem.value} again={() => page.forklift.refresh()} />
      </section>
    )
  }
  if (known.missing !== undefined) {
    return (
      <section class="foot-block" aria-label="Forklift">
        <h3>Forklift</h3>
        <p class="meta words">{withoutTricks(known.missing)}</p>
      </section>
    )
  }
  const { upstream, runs, isRunning } = known
  return (
    <section class="foot-block" aria-label="Forklift">
      <h3 class="cut">{upstream ? `Fork of ${withoutTricks(upstream.name)}` : 'Fork'}</h3>
      {upstream ? (
        <div class="ref">
          <Name of={`upstream/${upstream.branch}`} />
          <span class="count">{upstream.ahead === 0 ? 'up to date' : `${digits(upstream.ahead)} ahead`}</span>
        </div>
      ) : (
        <p class="meta words">Upstream was not fetched yet: Fetch, or run Forklift.</p>
      )}
      {runs.slice(0, MAX_RUNS).map(run => (
        <RunRow key={run.run} run={run} />
      ))}
      {runs.length === 0 && known.said === undefined ? <p class="meta words">Forklift has not run here yet.</p> : null}
      <Said info={known} />
      <div class="acts">
        {isRunning ? (
          <Button look="small grow" icon="stop" words="Stop Forklift" onClick={() => stopForklift(page)} />
        ) : (
          <Button look="small grow" icon="play" words="Run Forklift" onClick={() => runForklift(page)} />
        )}
      </div>
    </section>
  )
}

/** A run: a button if it can be continued, a link if it has a pull request. */
function RunRow({ run }: { run: ForkliftRun }) {
  const page = usePage()
  const { end, started, canOpen, branch, isByHand, pullRequest } = run
  const { icon, tone, word } = SIGNS[end]
  const words = withoutTricks(run.words)
  // Whether the run is not this desk's: it was started on a terminal, or a shutdown interrupted it.
  const isElsewhere = end === 'running' && page.forklift.latest.value?.isRunning === false
  const title = isElsewhere ? 'Running elsewhere, or interrupted' : words
  const isOpenable = !isByHand && (canOpen || branch !== undefined)
  const content = (
    <>
      <Icon name={icon} tone={tone} />
      <span class="cut grow">{words}</span>
      {words.startsWith(word) ? null : <span class="vh">, {word}</span>}
      <span class="count" {...timeTitle(started)}>
        {age(started)}
      </span>
    </>
  )
  if (isOpenable) {
    const hint = branch === undefined ? 'open it as a branch and finish it' : `open as ${readable(branch)}`
    return (
      <button type="button" class="ref" title={`${words}: ${hint}`} onClick={() => openRun(page, run.run, branch)}>
        {content}
        <span class="vh">, {hint}</span>
      </button>
    )
  }
  return (
    <div class="ref" title={title}>
      {content}
      {isElsewhere ? <span class="vh">, {title}</span> : null}
      {pullRequest === undefined ? null : (
        <span class="to-pull">
          <Link href={pullRequest}>{[numberOf(pullRequest)]}</Link>
        </span>
      )}
    </div>
  )
}

/** The number of a pull request, with #. */
const numberOf = (address: string): string => `#${/(\d+)\/?$/.exec(address)?.[1] ?? ' pull request'}`

/** The output of the run that was started here, by line. */
function Said({ info: { said, isRunning } }: { info: Forklift }) {
  const box = useRef<HTMLDivElement>(null)
  const count = said?.lines.length ?? 0
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight
  }, [count])
  if (!said) return null
  return (
    <>
      <div
        class="said-lines"
        role="log"
        aria-label="What Forklift says"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        tabIndex={0}
        ref={box}
      >
        {said.lines.map((line, index) => (
          <p key={index}>{withoutTricks(line)}</p>
        ))}
        {count === 0 ? <p class="meta">{isRunning ? 'Starting…' : 'No output'}</p> : null}
      </div>
      {isRunning || said.end === undefined ? null : <p class="meta words">{wordsOfEnd(said.end)}</p>}
    </>
  )
}

/** Forklift's exit codes in words. */
const ENDS: Record<number, string> = {
  0: 'Ended well.',
  1: 'Ended with an error, before or after the agent.',
  2: 'Time ran out.',
  3: 'The result was refused.',
  4: 'It is stuck.',
  5: 'The agent failed.',
  130: 'Stopped.',
  143: 'Stopped.',
}

const wordsOfEnd = (code: number): string => ENDS[code] ?? `Ended with exit code ${code}.`

/** The strip above a branch that continues a run: once it is finished, it can be published. */
export function PublishStrip({ tab }: { tab: Tab }) {
  const page = usePage()
  const branch = branchOf(tab)
  useEffect(() => page.forklift.load(), [page])
  const known = page.forklift.latest.value
  const own = (known?.runs ?? []).filter(run => run.branch === branch)
  if (branch === undefined || !known || own.length === 0 || isMerging(page, tab)) return null
  const published = own.find(({ isByHand, pullRequest }) => isByHand && pullRequest !== undefined)
  const { said, isRunning } = known
  const isHere = said?.branch === branch
  const isUnderWay = isHere && isRunning
  const last = isHere ? said?.lines.at(-1) : undefined
  const hasFailed = isHere && !isRunning && said?.end !== undefined && said.end !== 0
  return (
    <section class={`notice ${hasFailed ? 'bad' : ''}`} aria-label="Publish with Forklift">
      <Icon name={hasFailed ? 'alert' : published ? 'check' : 'merge'} />
      <div class="grow" role="status">
        {published?.pullRequest !== undefined ? (
          <p class="strong">
            The pull request: <Link href={published.pullRequest}>{undefined}</Link>
          </p>
        ) : (
          <p class="strong">
            {isUnderWay
              ? 'Forklift judges the merge'
              : hasFailed
                ? wordsOfEnd(said?.end ?? 0)
                : 'This goes on with a run of Forklift'}
          </p>
        )}
        <p class="last-said">{last === undefined ? PUBLISH : withoutTricks(last)}</p>
        {hasFailed && (said?.lines.length ?? 0) > 1 ? (
          <details>
            <summary>{plural(said?.lines.length ?? 0, 'line')} that it said</summary>
            <pre class="said-whole">{said?.lines.map(withoutTricks).join('\n')}</pre>
          </details>
        ) : null}
      </div>
      {isUnderWay ? (
        <Button icon="stop" words="Stop" onClick={() => stopForklift(page)} />
      ) : published && !hasFailed ? null : (
        <Button
          look="main"
          words={hasFailed ? 'Publish again' : 'Publish'}
          isOff={isRunning}
          onClick={() => publish(page, tab)}
        />
      )}
    </section>
  )
}

const PUBLISH = 'Publish: Forklift judges the merge, makes the one commit of it, and opens the pull request.'
