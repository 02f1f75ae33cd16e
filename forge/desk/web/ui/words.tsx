/** Small elements that are used all over the page: names, keys and buttons. */
import type { ComponentChildren, RefObject, TargetedMouseEvent } from 'preact'
import { type Action, iconOf } from './action.ts'
import { Icon, type IconName } from './icons.tsx'
import { shownKeys } from './keys.ts'
import { baseName, folderOf, readable } from './names.ts'

/** A name chosen by others, isolated so that its direction does not affect the text around. */
export function Name({ of: name, class: look = '' }: { of: string; class?: string }) {
  return (
    <bdi class={`cut ${look}`} title={readable(name)}>
      {readable(name)}
    </bdi>
  )
}

interface PathProps {
  of: string
  title?: string
  /** Whether a long name is cut at its end, instead of in its middle: see {@link endingAlike}. */
  isCutAtEnd?: boolean
}

/** A path. When there is too little room, the folder is cut before the name is. */
export function Path({ of: path, title = readable(path), isCutAtEnd = false }: PathProps) {
  return (
    <bdi class="path" title={title}>
      <span class="dir">
        <bdi>{readable(folderOf(path))}</bdi>
      </span>
      <BaseName kept={isCutAtEnd ? 0 : TAIL_CHARS} of={readable(baseName(path))} />
    </bdi>
  )
}

/** Those paths of a list whose names have the end that stays in common: their beginnings tell them apart. */
export function endingAlike(paths: readonly string[]): ReadonlySet<string> {
  const byEnd = Map.groupBy(paths, path => baseName(path).slice(-TAIL_CHARS))
  const alike = [...byEnd.values()].filter(some => new Set(some.map(baseName)).size > 1)
  return new Set(alike.flat())
}

/** Longer names keep this many characters at their end, where similar names differ. */
const TAIL_CHARS = 12
/** The same for the names of files in narrow lists. */
const NARROW_TAIL_CHARS = 8

/** A name in two parts, of which the first is cut when there is too little room; a short name has no second one. */
function splitName(name: string, kept: number): [head: string, tail: string] {
  const letters = [...name]
  const count = letters.length > 2 * kept ? letters.length - kept : letters.length
  return [letters.slice(0, count).join(''), letters.slice(count).join('')]
}

/** The name of a file. When there is too little room, the middle of a long one is cut: `kept` characters stay. */
function BaseName({ of: name, kept }: { of: string; kept: number }) {
  const [head, tail] = splitName(name, kept)
  if (tail === '') return <span class="base-name">{name}</span>
  // Several elements would be read as several words, so the whole name is the label.
  return (
    <span class="base-name split">
      <span class="vh">{name}</span>
      <span class="cut" aria-hidden="true">
        {head}
      </span>
      <span class="tail" aria-hidden="true">
        {tail}
      </span>
    </span>
  )
}

/** A path for a narrow list: the file's name, and after it the end of its folder. */
export function NarrowPath({ of: path }: { of: string }) {
  return (
    <bdi class="path narrow" title={readable(path)}>
      <span class="dir">
        <bdi>{readable(folderOf(path))}</bdi>
      </span>
      <BaseName of={readable(baseName(path))} kept={NARROW_TAIL_CHARS} />
    </bdi>
  )
}

/**
 * The name of a branch or a tag. When there is too little room, its folders, which other names share, are cut first,
 * then the middle of what follows: the end stays. `title`: the whole name, by default.
 */
export function RefName({ of: name, shown = name, title }: { of: string; shown?: string; title?: string }) {
  const folder = folderOf(shown)
  const [head, tail] = splitName(readable(baseName(shown)), TAIL_CHARS)
  // Several elements would be read as several words, so the whole name is the label.
  const isSplit = folder !== '' || tail !== ''
  return (
    <bdi class="ref-name" title={title ?? readable(name)}>
      {isSplit ? <span class="vh">{readable(shown)}</span> : null}
      {folder === '' ? null : (
        <span class="dir" aria-hidden="true">
          {readable(folder)}
        </span>
      )}
      <span class="cut" aria-hidden={isSplit}>
        {head}
      </span>
      {tail === '' ? null : (
        <span class="tail" aria-hidden="true">
          {tail}
        </span>
      )}
    </bdi>
  )
}

/**
 * Keys beside a name, hidden from assistive technology: the accessible name of an item or a button is its words alone.
 */
export function SilentKeys({ of: keys }: { of: string }) {
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: it can not have the focus
  return <kbd aria-hidden="true">{shownKeys(keys)}</kbd>
}

export function Keys({ of: keys }: { of: string | undefined }) {
  return keys ? <kbd>{shownKeys(keys)}</kbd> : null
}

/** A button's title: its name, with its keys behind it. */
export const withKeys = (words: string, keys: string | undefined) => (keys ? `${words}  ${shownKeys(keys)}` : words)

interface IconButtonProps {
  icon: IconName
  words: string
  keys?: string | undefined
  isPressed?: boolean
  onClick: (event: TargetedMouseEvent<HTMLButtonElement>) => void
}

export function IconButton({ icon, words, keys, isPressed, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={words}
      aria-pressed={isPressed}
      title={withKeys(words, keys)}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}

interface ToggleProps {
  words: string
  /** The button's label: two letters. */
  short: string
  keys?: string
  isOn: boolean
  toggle: () => void
}

/** A button with two letters that switches a setting of a search. */
export function Toggle({ words, short, keys, isOn, toggle }: ToggleProps) {
  return (
    <button
      type="button"
      class="icon-button mono"
      aria-label={words}
      title={withKeys(words, keys)}
      aria-pressed={isOn}
      onClick={toggle}
    >
      {short}
    </button>
  )
}

interface ActionIconProps<About> {
  action: Action<About>
  about: About
  /** A name in place of the action's, where it depends on what is shown. */
  words?: string
  isPressed?: boolean
}

/** A button with the icon of an action; its title has the name and the keys. */
export function ActionIcon<About>({ action, about, words, isPressed }: ActionIconProps<About>) {
  const { label, keys, listKeys, run } = action
  return (
    <IconButton
      icon={iconOf(action, about)}
      words={words ?? label.replace(/…$/, '')}
      keys={keys ?? listKeys}
      {...(isPressed !== undefined && { isPressed })}
      onClick={() => run(about)}
    />
  )
}

interface ButtonProps {
  words: ComponentChildren
  look?: string
  icon?: IconName
  keys?: string | undefined
  title?: string
  isOff?: boolean
  /** Of a choice: whether it is chosen. */
  isPressed?: boolean
  buttonRef?: RefObject<HTMLButtonElement | null>
  /** Whether the button has the focus when its dialog opens. */
  isFirst?: boolean
  onClick: () => void
}

export function Button({
  words,
  look = '',
  icon,
  keys,
  title,
  isOff,
  isPressed,
  isFirst,
  buttonRef,
  onClick,
}: ButtonProps) {
  return (
    <button
      {...(buttonRef && { ref: buttonRef })}
      type="button"
      class={`button ${look}`}
      title={title}
      aria-disabled={isOff}
      aria-pressed={isPressed}
      autofocus={isFirst}
      onClick={() => {
        if (!isOff) onClick()
      }}
    >
      {icon ? <Icon name={icon} /> : null}
      {words}
      <Keys of={keys} />
    </button>
  )
}

interface ActionButtonProps<About> {
  action: Action<About>
  about: About
  look?: string
  /** Whether the button shows the keys. */
  hasKeys?: boolean
  isOff?: boolean
}

/** A button with the name of an action. */
export function ActionButton<About>({ action, about, look = '', hasKeys = false, isOff }: ActionButtonProps<About>) {
  const { label, keys, listKeys, run } = action
  const shown = keys ?? listKeys
  return (
    <Button
      look={look}
      icon={iconOf(action, about)}
      words={label.replace(/…$/, '')}
      keys={hasKeys && shown !== undefined ? shownKeys(shown) : undefined}
      {...(isOff !== undefined && { isOff })}
      onClick={() => run(about)}
    />
  )
}

interface ActionWayProps<About> {
  action: Action<About>
  about: About
  /** What the action does, in words. */
  words: string
  buttonRef?: RefObject<HTMLButtonElement | null>
}

/** An action offered in an empty view. */
export function ActionWay<About>({ action, about, words, buttonRef }: ActionWayProps<About>) {
  const { label, keys = '', run } = action
  return (
    <button {...(buttonRef && { ref: buttonRef })} type="button" class="way" onClick={() => run(about)}>
      <Icon name={iconOf(action, about)} size="m" />
      <span>
        <span class="strong">{label}</span>
        <span class="meta">{words}</span>
      </span>
      <kbd>{shownKeys(keys)}</kbd>
    </button>
  )
}

/** Says what is loading, if it takes long. */
export function Waiting({ words }: { words: string }) {
  return <p class="waiting meta">{words}</p>
}

/** An empty view with a title. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <div>
        <h2>{title}</h2>
        {children}
      </div>
    </div>
  )
}
