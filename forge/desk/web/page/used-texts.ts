/** Texts that were saved or sent: another window of the browser that shows the same text drops it. */
import { keepText, keptText } from './kept.ts'

/** A channel does not hear what it sends itself. */
const channel = new BroadcastChannel('used texts')

/** A text that is being written, and kept by the browser at a key. */
interface WrittenText {
  readonly key: string
  /** Removes a text that was used, but not what was written instead. */
  drop(text: string): void
}

interface Used {
  key: string
  text: string
}

/** Tells the other windows that a text was used. */
export function tellUsed(key: string, text: string): void {
  channel.postMessage({ key, text } satisfies Used)
}

/** Drops each text that another window has used. `open`: the texts of the open branches. */
export function dropUsedTexts(open: () => WrittenText[]): void {
  channel.onmessage = ({ data: { key, text } }: MessageEvent<Used>) => {
    const shown = open().find(it => it.key === key)
    if (shown) shown.drop(text)
    // The browser keeps the text of a branch without a tab, too.
    else if (keptText(key).trim() === text.trim()) keepText(key, '')
  }
}
