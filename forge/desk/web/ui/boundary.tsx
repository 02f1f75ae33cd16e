/** A part of the page that could not be drawn says so, and leaves the rest as it is. */
import { Component, type ComponentChildren } from 'preact'
import { Icon } from './icons.tsx'
import { withoutTricks } from './names.ts'
import { Button } from './words.tsx'

interface Props {
  /** What could not be drawn: the beginning of a sentence. */
  part: string
  /** What it is about: where that becomes something else, it is drawn anew. */
  about?: unknown
  children: ComponentChildren
}

/** Errors of drawing do not pass it. */
export class Boundary extends Component<Props, { error: string | undefined }> {
  override state = { error: undefined }

  static override getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error.message : String(error) }
  }

  override componentDidUpdate(before: Props) {
    if (this.state.error !== undefined && before.about !== this.props.about) this.setState({ error: undefined })
  }

  override render({ part, children }: Props, { error }: { error: string | undefined }) {
    if (error === undefined) return children
    return (
      <div class="notice bad" role="alert">
        <Icon name="alert" />
        <div class="grow">
          <p class="strong">{part} could not be drawn.</p>
          <p>
            What you typed and saved is kept. Try again, or reload this window; if it goes on, tell those who make the
            desk: {withoutTricks(error.slice(0, 200))}
          </p>
        </div>
        <Button words="Try again" onClick={() => this.setState({ error: undefined })} />
        <Button words="Reload" onClick={() => location.reload()} />
      </div>
    )
  }
}
