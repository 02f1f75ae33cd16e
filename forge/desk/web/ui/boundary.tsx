/** An error boundary: a part of the page that fails to render shows an error, and the rest stays. */
import { Component, type ComponentChildren } from 'preact'
import { Icon } from './icons.tsx'
import { withoutTricks } from './names.ts'
import { Button } from './words.tsx'

interface Props {
  /** The name of the part: the beginning of the error's sentence. */
  part: string
  /** The object shown: when it changes, rendering is tried again. */
  about?: unknown
  children: ComponentChildren
}

/** Catches errors thrown while rendering its children. */
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
