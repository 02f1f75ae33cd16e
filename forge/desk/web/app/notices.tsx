/** What happened that a person should know, above the editor, which it pushes down and never covers. */
import type { Moved } from '../../contract/branches.ts'
import { Icon } from '../ui/icons.tsx'
import { baseName, named, shortId, withoutTricks } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, IconButton } from '../ui/words.tsx'
import { draftsElsewhere, draftsOf, restoreBranch, showWhatCameIn } from './actions.ts'
import { type Notice, type Page, type Tab, usePage } from './state.ts'

/** How many names of files a sentence can bear. */
const MOST_NAMED = 3

export function Notices({ tab }: { tab: Tab | undefined }) {
  const page = usePage()
  const branch = tab?.at.kind === 'branch' ? tab.at.branch : undefined
  const here = page.notices.value.filter(notice => {
    const isHere = notice.branch === undefined || notice.branch === branch
    return isHere && notice.lasts?.(page) !== false
  })
  const own = [disconnected(page), tab && gone(page, tab)]
  const move = tab && moved(page, tab)
  const to = branch === undefined ? undefined : page.branch(branch)?.moved?.to
  const isSettled = to !== undefined && branch !== undefined && !page.clashes.value.get(branch)?.length
  return (
    <>
      {own.map(notice => (notice ? <Line key={notice.title} notice={notice} /> : null))}
      {move ? <Line notice={move} {...(isSettled && { dismiss: () => page.see(to) })} /> : null}
      {here.map(notice => (
        <Line key={notice.title} notice={notice} dismiss={() => page.dismiss(notice)} />
      ))}
    </>
  )
}

function Line({ notice, dismiss }: { notice: Notice; dismiss?: () => void }) {
  const { tone, title, words, actions } = notice
  const icon = tone === 'warn' ? 'warning' : tone === 'bad' ? 'alert' : 'check'
  return (
    <div class={`notice ${tone}`} role={tone === 'plain' ? 'status' : 'alert'}>
      <Icon name={icon} size="m" />
      <div class="grow">
        <p class={tone === 'plain' ? '' : 'strong'}>{title}</p>
        {words ? <p>{words}</p> : null}
      </div>
      {(actions ?? []).map(action => (
        <Button
          key={action.words}
          words={action.words}
          look={action.isMain ? 'main' : 'quiet'}
          onClick={() => {
            if (!action.stays) dismiss?.()
            action.run()
          }}
        />
      ))}
      {dismiss ? <IconButton icon="x" words="Put this notice away" onClick={dismiss} /> : null}
    </div>
  )
}

function disconnected(page: Page): Notice | undefined {
  const { isLost, isLockedOut } = page.connection
  const hasBegun = page.desk.value !== undefined
  if (!isLost.value || !(hasBegun || isLockedOut.value)) return undefined
  const folder = page.desk.value?.folder ?? 'the folder of your repository'
  if (isLockedOut.value) {
    return {
      tone: 'warn',
      title: 'This window has no key to the desk any more',
      words:
        `Run forge again in ${folder} and open the address that it prints in another tab of this browser: ` +
        'this window then goes on by itself. What you type here is kept until then.',
    }
  }
  return {
    tone: 'warn',
    title: 'The desk does not answer',
    words: `What you type is kept in this window and sent when it is back. If it was ended, run forge again in ${folder}.`,
  }
}

function gone(page: Page, tab: Tab): Notice | undefined {
  const { at } = tab
  if (at.kind === 'commit' || !page.isGone(at)) return undefined
  return {
    tone: 'bad',
    title: `${named(at.branch)} was deleted`,
    words: 'Its drafts are kept, also if you close this tab, and what you type here goes on being one.',
    actions: [
      { words: 'Close the tab', run: () => page.close(tab) },
      { words: 'Bring it back', isMain: true, run: () => restoreBranch(page, at.branch) },
    ],
  }
}

/** Somebody else has moved the branch under drafts: what that was, whether they fit, and what can be done. */
function moved(page: Page, tab: Tab): Notice | undefined {
  const { at } = tab
  if (at.kind === 'commit') return undefined
  const move = page.branch(at.branch)?.moved
  const paths = page.clashes.value.get(at.branch) ?? []
  if (paths.length === 0 && (!move || page.seen.value.has(move.to))) return undefined
  const name = named(at.branch)
  const isThere = tab.pane.kind === 'clashes'
  const choose = { words: 'Choose', isMain: true, run: () => page.showHere(tab, { kind: 'clashes' }) }
  const offers = move
    ? [
        { words: 'What came in', stays: true, run: () => showWhatCameIn(tab, move) },
        { words: 'Draft to a new branch', stays: true, run: () => draftsElsewhere(page, at.branch, move.from) },
      ]
    : []
  return {
    tone: 'warn',
    title: `${name} moved outside the desk${move ? `: ${whatMoved(move)}` : ''}`,
    words: paths.length > 0 ? whatClashes(page, at.branch, paths) : 'Your drafts fit: they are on top of it.',
    actions: [...offers, ...(paths.length === 0 || isThere ? [] : [choose])],
  }
}

function whatMoved({ commits, by, from, to }: Moved): string {
  const where = `${shortId(from)} → ${shortId(to)}`
  if (commits === 0) return where
  return `${plural(commits, 'new commit')} by ${by.map(withoutTricks).join(', ')}, ${where}`
}

function whatClashes(page: Page, branch: string, paths: string[]): string {
  const others = draftsOf(page, branch).length - paths.length
  const first = paths.slice(0, MOST_NAMED).map(path => named(baseName(path)))
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : ''
  const rest = others > 0 ? ` ${plural(others, 'other draft fits', 'other drafts fit')}.` : ''
  return `${first.join(', ')}${more} changed in the same place: choose. Nothing is overwritten until you save.${rest}`
}
