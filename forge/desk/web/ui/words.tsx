/** Small pieces of the page that are used all over: names, keys and buttons. */
import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { shownKeys } from '../app/keys.ts'
import { Icon, type IconName } from './icons.tsx'
import { baseName, folderOf, readable } from './names.ts'

/** A name that others chose, in a direction of its own. */
export function Name({ of: name, class: look = '' }: { of: string; class?: string }) {
  return (
    <bdi class={`cut ${look}`} title={readable(name)}>
      {readable(name)}
    </bdi>
  )
}

/** A path: the folder gives way before the name does. */
export function Path({ of: path }: { of: string }) {
  return (
    <bdi class="path" title={readable(path)}>
      <span class="dir">{readable(folderOf(path))}</span>
      <span class="base-name">{readable(baseName(path))}</span>
    </bdi>
  )
}

/** The name of a branch or a tag: the folders that it begins with, which others share, give way before its end. */
export function RefName({ of: name, shown = name }: { of: string; shown?: string }) {
  const folder = folderOf(shown)
  // Two boxes would be read as two words.
  const isSplit = folder !== ''
  return (
    <bdi class="ref-name" title={readable(name)}>
      {isSplit ? <span class="vh">{readable(shown)}</span> : null}
      {isSplit ? (
        <span class="dir" aria-hidden="true">
          {readable(folder)}
        </span>
      ) : null}
      <span class="cut" aria-hidden={isSplit}>
        {readable(baseName(shown))}
      </span>
    </bdi>
  )
}

export function Keys({ of: keys }: { of: string | undefined }) {
  return keys ? <kbd>{keys}</kbd> : null
}

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
      title={keys ? `${words}  ${shownKeys(keys)}` : words}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}

interface ButtonProps {
  words: ComponentChildren
  look?: string
  icon?: IconName
  keys?: string | undefined
  title?: string
  isOff?: boolean
  /** Whether it has the focus when its dialog opens. */
  isFirst?: boolean
  onClick: () => void
}

export function Button({ words, look = '', icon, keys, title, isOff, isFirst, onClick }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${look}`}
      title={title}
      aria-disabled={isOff}
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

/** Says what is awaited, where it takes long enough to wonder. */
export function Waiting({ words }: { words: string }) {
  return <p class="waiting meta">{words}</p>
}

/** What a place without content says. */
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
