/** What happened that a person should know, above the editor, which it pushes down and never covers. */
import { draftsOf, restoreBranch } from './actions.ts'
import { Icon } from './icons.tsx'
import { baseName, named } from './names.ts'
import { type Notice, type Page, type Tab, usePage } from './state.ts'
import { plural } from './times.ts'
import { Button, IconButton } from './words.tsx'

/** How many names of files a sentence can bear. */
const MOST_NAMED = 3

export function Notices({ tab }: { tab: Tab | undefined }) {
  const page = usePage()
  const branch = tab?.at.kind === 'branch' ? tab.at.branch : undefined
  const here = page.notices.value.filter(notice => {
    const isHere = notice.branch === undefined || notice.branch === branch
    return isHere && notice.lasts?.(page) !== false
  })
  const own = [disconnected(page), tab && gone(page, tab), tab && clashing(page, tab)]
  return (
    <>
      {own.map(notice => (notice ? <Line key={notice.title} notice={notice} /> : null))}
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
            dismiss?.()
            action.run()
          }}
        />
      ))}
      {dismiss ? <IconButton icon="x" words="Put this notice away" onClick={dismiss} /> : null}
    </div>
  )
}

function disconnected(page: Page): Notice | undefined {
  const hasBegun = page.desk.value !== undefined
  if (page.connection.isUp.value || !hasBegun) return undefined
  if (page.connection.isLockedOut.value) {
    return {
      tone: 'warn',
      title: 'The desk was started again with a new key',
      words:
        'Open the address that it printed in another tab of this browser: this window then goes on by itself. ' +
        'What you type here is kept until then.',
    }
  }
  return {
    tone: 'warn',
    title: 'The desk does not answer',
    words: 'What you type is kept in this window and sent when it is back. If it was ended, start it again: forge.',
  }
}

function gone(page: Page, tab: Tab): Notice | undefined {
  const { at } = tab
  if (at.kind === 'commit' || !page.isGone(at)) return undefined
  return {
    tone: 'bad',
    title: `${named(at.branch)} was deleted outside the desk`,
    words: 'Its drafts are kept, also if you close this tab.',
    actions: [
      { words: 'Close the tab', run: () => page.close(tab) },
      { words: 'Bring it back', isMain: true, run: () => restoreBranch(page, at.branch) },
    ],
  }
}

function clashing(page: Page, tab: Tab): Notice | undefined {
  const { at } = tab
  if (at.kind === 'commit') return undefined
  const paths = page.clashes.value.get(at.branch) ?? []
  if (paths.length === 0) return undefined
  const isThere = tab.pane.kind === 'clashes'
  const others = draftsOf(page, at.branch).length - paths.length
  const first = paths.slice(0, MOST_NAMED).map(path => named(baseName(path)))
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : ''
  const rest = others > 0 ? ` ${plural(others, 'other draft fits', 'other drafts fit')}.` : ''
  return {
    tone: 'warn',
    title: `${named(at.branch)} moved outside the desk`,
    words: `${first.join(', ')}${more} changed in the same place: choose. Nothing is overwritten until you save.${rest}`,
    actions: isThere ? [] : [{ words: 'Choose', isMain: true, run: () => page.showHere(tab, { kind: 'clashes' }) }],
  }
}
