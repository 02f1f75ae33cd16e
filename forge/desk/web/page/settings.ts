/** The user's settings in this window: their values, and their effect on the page's styles. */
import { batch, computed, type Signal, signal } from '@preact/signals'
import { SETTINGS, type SettingKey, type SettingValues, type UserSettings } from '../../contract/settings.ts'
import type { Connection } from '../ui/socket.ts'

/** The parts of the window that settings change. */
interface Adjusted {
  connection: Connection
  isWrapped: Signal<boolean>
  isBlamed: Signal<boolean>
}

/**
 * The font size of code and the height of its lines, in pixels, unless the user sets them. The same as in tokens.css.
 */
const [USUAL_FONT_SIZE_PX, USUAL_LINE_HEIGHT_PX] = [13, 20]

type Value = string | number | boolean

export class Settings {
  /** The settings as the file has them; undefined until they have arrived. */
  readonly file = signal<UserSettings | undefined>(undefined)
  readonly values = computed<SettingValues>(() => this.file.value?.values ?? {})
  /** Increases when the theme has changed, so that canvases are drawn again. */
  readonly recoloured = signal(0)
  /** The values that were set here and are on their way to the file. */
  readonly #coming = signal<ReadonlyMap<SettingKey, { value: Value | undefined }>>(new Map())
  readonly #window: Adjusted

  constructor(window: Adjusted) {
    this.#window = window
  }

  /**
   * Applies the settings of the file. What the user has toggled in this window (such as wrapping) stays, unless that
   * setting has changed in the file.
   */
  take(settings: UserSettings): void {
    const before = this.values.peek()
    batch(() => {
      this.file.value = settings
      const { values } = settings
      if (values['editor.wordWrap'] !== before['editor.wordWrap'])
        this.#window.isWrapped.value = values['editor.wordWrap'] ?? false
      if (values['editor.blame'] !== before['editor.blame'])
        this.#window.isBlamed.value = values['editor.blame'] ?? false
      applyStyles(values)
      if (values.theme !== before.theme) this.recoloured.value++
    })
  }

  /** The value to show: the one last set in this window, even before it is saved; undefined: the default. */
  valueOf(key: SettingKey): Value | undefined {
    const coming = this.#coming.value.get(key)
    return coming ? coming.value : this.values.value[key]
  }

  /** Sets a value; undefined: its default. */
  async set(key: SettingKey, value: Value | undefined): Promise<void> {
    const coming = { value }
    this.#coming.value = new Map(this.#coming.peek()).set(key, coming)
    try {
      await this.#window.connection.ask('set setting', { key, value: value ?? null })
    } finally {
      // The news of the new value comes before the answer.
      const left = new Map(this.#coming.peek())
      if (left.get(key) === coming) left.delete(key)
      this.#coming.value = left
    }
  }
}

function applyStyles(values: SettingValues): void {
  const { style } = document.documentElement
  const { theme = 'system', 'editor.fontFamily': family, 'editor.fontSize': size } = values
  document.documentElement.dataset.theme = theme
  const set = (name: string, value: string | undefined) => {
    if (value === undefined) style.removeProperty(name)
    else style.setProperty(name, value)
  }
  set('--font-code', family ? [...fontsIn(family), 'ui-monospace', 'monospace'].join(', ') : undefined)
  set('--editor-size', size === undefined ? undefined : `${size}px`)
  const { 'editor.lineHeight': ratio = USUAL_LINE_HEIGHT_PX / USUAL_FONT_SIZE_PX } = values
  const isSet = size !== undefined || values['editor.lineHeight'] !== undefined
  set('--lh-code', isSet ? `${Math.round((size ?? USUAL_FONT_SIZE_PX) * ratio)}px` : undefined)
  const { 'editor.tabSize': tabSize } = values
  set('--tab-size', tabSize === undefined ? undefined : String(tabSize))
}

/**
 * The names of a list of fonts, as CSS takes them: one that is no identifier, such as `0xProto`, is quoted. A name that
 * CSS does not take would make each style with the list invalid.
 */
function fontsIn(family: string): string[] {
  const names = family.split(',').map(name => name.trim().replace(/^["']|["']$/g, ''))
  const isTaken = (name: string) => CSS.supports('font-family', `${name}, monospace`)
  return names.filter(name => name !== '').map(name => (isTaken(name) ? name : JSON.stringify(name)))
}

/** How a setting is shown: its name, what it does, and its default. */
interface Described {
  label: string
  words: string
  /** The control for its value: a switch, a text field, a choice, or a number field with its bounds and step. */
  control: 'switch' | 'text' | { choices: readonly string[] } | { least: number; most: number; step: number }
  usual: string | number | boolean | undefined
}

export const DESCRIBED: Record<SettingKey, Described> = {
  theme: {
    label: 'Color theme',
    words: 'Light, dark, or as the system has it.',
    control: { choices: SETTINGS.theme.options },
    usual: 'system',
  },
  'editor.fontFamily': {
    label: 'Font of code',
    words: 'Names of fonts, the first that is installed is used.',
    control: 'text',
    usual: undefined,
  },
  'editor.fontSize': {
    label: 'Font size of code',
    words: 'In pixels: in the editor, the review and the previews.',
    control: { least: 8, most: 32, step: 1 },
    usual: USUAL_FONT_SIZE_PX,
  },
  'editor.lineHeight': {
    label: 'Line height of code',
    words: 'As a multiple of the font size.',
    control: { least: 1, most: 3, step: 0.1 },
    usual: 1.5,
  },
  'editor.tabSize': {
    label: 'Tab width',
    words:
      'The columns of a tab character. Without it, .editorconfig of the branch decides, else it is 4. Spaces to indent ' +
      'by: .editorconfig, else as in the file, else as usual in its language.',
    control: { least: 1, most: 16, step: 1 },
    usual: undefined,
  },
  'editor.wordWrap': {
    label: 'Word wrap',
    words: 'Whether long lines are wrapped in new windows. The key switches it for one window.',
    control: 'switch',
    usual: false,
  },
  'editor.closeBrackets': {
    label: 'Auto-closing brackets',
    words: 'Whether an opening bracket or quote adds the closing one.',
    control: 'switch',
    usual: true,
  },
  'editor.stickyScroll': {
    label: 'Sticky scroll',
    words: 'Whether the first lines of the functions and classes around the top of the editor stay in view.',
    control: 'switch',
    usual: true,
  },
  'editor.blame': {
    label: 'Blame',
    words: 'Whether new windows show the commit of each line.',
    control: 'switch',
    usual: false,
  },
  'editor.previewTab': {
    label: 'Preview tab',
    words: 'Whether a single click opens files in one tab, in italics. An edit, a double click or Enter keeps it open.',
    control: 'switch',
    usual: true,
  },
}
