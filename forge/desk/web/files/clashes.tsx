/** Drafts that do not fit the branch's new commit: for each place the person chooses, and nothing is overwritten. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { Clash } from '../../contract/branches.ts'
import { attempt } from '../app/actions.ts'
import { usePlace } from '../app/places.ts'
import { type Page, type Tab, usePage } from '../app/state.ts'
import { Icon } from '../ui/icons.tsx'
import { baseName, readable, visible } from '../ui/names.ts'
import { plural } from '../ui/times.ts'
import { Button, Empty, Path } from '../ui/words.tsx'
import { mergeThree, type Region } from './three-way.ts'

type Choice = 'draft' | 'tip' | 'both'
type Conflict = Extract<Region, { kind: 'conflict' }>

/** Lines around a conflict that are shown. */
const CONTEXT = 4

export function Clashes({ tab }: { tab: Tab }) {
  const page = usePage()
  const clashes = useSignal<Clash[] | undefined>(undefined)
  const branch = tab.at.kind === 'branch' ? tab.at.branch : undefined
  // Told anew where one of them is about other texts.
  const paths = branch === undefined ? undefined : page.clashes.value.get(branch)
  useEffect(() => {
    if (branch === undefined) return
    attempt(page, async () => {
      clashes.value = await page.connection.ask('clashes', { branch })
    })
  }, [page, branch, paths])
  const box = usePlace<HTMLElement>('home')
  if (branch === undefined) return null
  return (
    // It scrolls, and its keys choose: the keyboard must be able to reach it.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <section class="diffs" tabIndex={0} ref={box} aria-label="Conflicts" onKeyDown={chooseByKey}>
      {clashes.value?.length === 0 ? (
        <Empty title="Nothing to choose">
          <p class="lede">No conflicts between your drafts and the branch.</p>
        </Empty>
      ) : null}
      {(clashes.value ?? []).map(clash => (
        <ClashOf key={`${clash.path}\0${clash.choice}`} page={page} branch={branch} clash={clash} />
      ))}
    </section>
  )
}

/** 1, 2 and 3 choose in the conflict that has the focus, or in the first one that is open. */
function chooseByKey(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey || !(event.currentTarget instanceof Element)) return
  const here = event.target instanceof Element ? event.target.closest('.clash-box') : null
  const box = here ?? event.currentTarget.querySelector('.clash-box:not(.chosen)')
  const button = box?.querySelector<HTMLElement>(`button[data-key="${CSS.escape(event.key)}"]`)
  if (!button) return
  event.preventDefault()
  button.click()
}

/** After a choice the next one has the focus, or what keeps all of them. */
function focusNextConflict(from: Element | null): void {
  const file = from?.closest('article')
  const next = file?.querySelector<HTMLElement>('.clash-box:not(.chosen) button[data-key]')
  const other = next ?? file?.querySelector<HTMLElement>('button.keep')
  other?.focus()
  other?.scrollIntoView({ block: 'nearest' })
}

interface ClashProps {
  page: Page
  branch: string
  clash: Clash
}

/** Texts are chosen place by place, all else as a whole. */
function ClashOf(props: ClashProps) {
  const { base, draft, tip } = props.clash
  if (typeof draft !== 'string' || typeof tip !== 'string') return <ClashOfWholes {...props} />
  return <ClashOfTexts {...props} texts={{ base: typeof base === 'string' ? base : '', draft, tip }} />
}

function ClashOfWholes(props: ClashProps) {
  const { clash } = props
  const name = readable(baseName(clash.path))
  const take = (side: 'draft' | 'tip') => takeSide(props, side)
  return (
    <article class="diff" aria-label={name}>
      <header class="diff-head">
        <Icon name="clash" tone="is-warn" />
        <Path of={clash.path} />
        <span class="grow" />
        <Button look="small" words="Mine" onClick={() => take('draft')} />
        <Button look="small" words="The branch’s" onClick={() => take('tip')} />
      </header>
      <div class="diff-code clash-code">
        <section class="clash-box" aria-label="Conflict">
          <div class="sides">
            <Side look="ours" title="Your draft" lines={linesOf(clash.draft)} />
            <Side look="base" title="Before" lines={linesOf(clash.base)} />
            <Side look="theirs" title="On the branch" lines={linesOf(clash.tip)} />
          </div>
        </section>
      </div>
    </article>
  )
}

const linesOf = (side: Clash['draft']): string[] => (typeof side === 'string' ? side.split('\n') : [side.what])

type Texts = { base: string; draft: string; tip: string }

function ClashOfTexts({ texts, ...props }: ClashProps & { texts: Texts }) {
  const { base, draft, tip } = texts
  const { page, branch } = props
  const { path, choice } = props.clash
  const regions = useMemo(() => mergeThree(base, draft, tip), [base, draft, tip])
  const choices = useSignal<ReadonlyMap<number, Choice>>(new Map())
  const chosenIn = useRef<Element | null>(null)
  const conflicts = regions.filter(({ kind }) => kind === 'conflict').length
  const open = conflicts - choices.value.size
  const name = readable(baseName(path))
  useLayoutEffect(() => {
    focusNextConflict(chosenIn.current)
    chosenIn.current = null
  }, [choices.value])
  const take = (side: 'draft' | 'tip') => takeSide(props, side)
  const settle = (text: string) => {
    const keep = async () => {
      await page.connection.ask('settle', { branch, path, text, choice })
      goOnWithout(page, branch, path)
    }
    attempt(page, keep, { branch, topic: 'settle' })
  }
  return (
    <article class="diff" aria-label={name}>
      <header class="diff-head">
        <Icon name="clash" tone="is-warn" />
        <Path of={path} />
        <span class="meta">{open === 0 ? 'all resolved' : plural(open, 'conflict left', 'conflicts left')}</span>
        <span class="grow" />
        <Button look="small" words="All mine" onClick={() => take('draft')} />
        <Button look="small" words="All of the branch" onClick={() => take('tip')} />
        <Button
          look="small main keep"
          words="Keep this"
          isOff={open > 0}
          {...(open > 0 ? { title: 'Resolve all conflicts first' } : {})}
          onClick={() => settle(textOf(regions, choices.peek()))}
        />
      </header>
      <div class="diff-code clash-code">
        {regions.map((region, index) => {
          const key = `${index}`
          if (region.kind === 'fits') {
            return (
              <Context key={key} lines={region.lines} isFirst={index === 0} isLast={index === regions.length - 1} />
            )
          }
          return (
            <ConflictBox
              key={key}
              region={region}
              choice={choices.value.get(index)}
              choose={(choice, box) => {
                chosenIn.current = box
                choices.value = new Map(choices.peek()).set(index, choice)
              }}
            />
          )
        })}
      </div>
    </article>
  )
}

/** The whole file becomes one side of it. */
function takeSide({ page, branch, clash: { path, choice } }: ClashProps, side: 'draft' | 'tip'): void {
  const take = async () => {
    await page.connection.ask('settle by side', { branch, path, side, choice })
    goOnWithout(page, branch, path)
  }
  attempt(page, take, { branch, topic: 'settle' })
}

/** After the last of them a person goes on in that file. */
function goOnWithout(page: Page, branch: string, path: string): void {
  const left = (page.clashes.peek().get(branch) ?? []).filter(other => other !== path)
  page.clashing(branch, left)
}

function textOf(regions: Region[], choices: ReadonlyMap<number, Choice>): string {
  const lines = regions.flatMap((region, index) => {
    return region.kind === 'fits' ? region.lines : chosenLines(region, choices.get(index) ?? 'both')
  })
  return lines.join('\n')
}

function chosenLines({ draft, tip }: Conflict, choice: Choice): string[] {
  if (choice === 'draft') return draft
  return choice === 'tip' ? tip : [...draft, ...tip]
}

/** Lines for the eye. */
function shown(lines: string[]): string {
  return lines.map(visible).join('\n')
}

/** What fits between two conflicts: its ends are shown. */
function Context({ lines, isFirst, isLast }: { lines: string[]; isFirst: boolean; isLast: boolean }) {
  const head = isFirst ? 0 : CONTEXT
  const tail = isLast ? 0 : CONTEXT
  const folded = lines.length - head - tail
  if (folded < 2) return <pre class="plain">{shown(lines)}</pre>
  return (
    <>
      {head > 0 ? <pre class="plain">{shown(lines.slice(0, head))}</pre> : null}
      <p class="fold">{plural(folded, 'line')} that fit</p>
      {tail > 0 ? <pre class="plain">{shown(lines.slice(-tail))}</pre> : null}
    </>
  )
}

const CHOICES: { choice: Choice; words: string; key: string }[] = [
  { choice: 'draft', words: 'Draft', key: '1' },
  { choice: 'tip', words: 'Branch', key: '2' },
  { choice: 'both', words: 'Both', key: '3' },
]

/** The sides without the indentation that all of their lines have, for the eye. */
function withoutIndentation({ base, draft, tip }: Conflict): Conflict {
  const indents = [...base, ...draft, ...tip].flatMap(line => {
    return line.trim() === '' ? [] : [line.length - line.trimStart().length]
  })
  const shared = indents.length > 0 ? Math.min(...indents) : 0
  const cut = (lines: string[]) => lines.map(line => line.slice(shared))
  return { kind: 'conflict', base: cut(base), draft: cut(draft), tip: cut(tip) }
}

interface ConflictBoxProps {
  region: Conflict
  choice: Choice | undefined
  choose: (choice: Choice, box: Element) => void
}

function ConflictBox({ region, choice, choose }: ConflictBoxProps) {
  const sides = withoutIndentation(region)
  return (
    <section class={`clash-box ${choice ? 'chosen' : ''}`} aria-label="Conflict">
      <header>
        <Icon name={choice ? 'check' : 'clash'} tone={choice ? 'is-ok' : 'is-warn'} />
        <span class="strong grow cut">Your draft and the branch differ</span>
        {CHOICES.map(({ choice: offered, words, key }) => (
          <button
            key={key}
            type="button"
            class="button small"
            data-key={key}
            aria-pressed={choice === offered}
            onClick={event => choose(offered, event.currentTarget)}
          >
            {words}
            <kbd>{key}</kbd>
          </button>
        ))}
      </header>
      <div class="sides">
        <Side look="ours" title="Your draft" lines={sides.draft} />
        <Side look="base" title="Before" lines={sides.base} />
        <Side look="theirs" title="On the branch" lines={sides.tip} />
      </div>
      <details class="base-row">
        <summary>Before</summary>
        <pre>{shown(sides.base) || '(nothing)'}</pre>
      </details>
    </section>
  )
}

function Side({ look, title, lines }: { look: string; title: string; lines: string[] }) {
  return (
    <section class={look}>
      <h3>{title}</h3>
      <pre>{lines.length > 0 ? shown(lines) : '(nothing)'}</pre>
    </section>
  )
}
