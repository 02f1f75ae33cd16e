/** The user's settings, with a search. Each change is written to the file at once. */
import { useSignal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { SettingKey, UserSettings } from '../../contract/settings.ts'
import { DESCRIBED, type Settings } from '../page/settings.ts'
import { usePage } from '../page/state.ts'
import { CloseButton, DialogFrame } from '../ui/dialog-frame.tsx'
import { Button } from '../ui/words.tsx'

const KEYS = Object.keys(DESCRIBED) as SettingKey[]

export function SettingsDialog({ close }: { close: () => void }) {
  const page = usePage()
  const { settings } = page
  const words = useSignal('')
  const problem = useSignal<{ key: SettingKey; words: string } | undefined>(undefined)
  const found = KEYS.filter(key => isFound(key, words.value))
  const set = async (key: SettingKey, value: string | number | boolean | undefined) => {
    try {
      await settings.set(key, value)
      problem.value = undefined
    } catch (error) {
      problem.value = { key, words: (error as Error).message }
    }
  }
  return (
    <DialogFrame title="Settings" close={close}>
      <div class="dialog-search">
        <input
          class="field"
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={words.value}
          onInput={event => {
            words.value = event.currentTarget.value
          }}
        />
      </div>
      <div class="settings">
        <FileState file={settings.file.value} />
        {found.length === 0 ? <p class="none meta">No results</p> : null}
        {found.map(key => (
          <SettingRow
            key={key}
            settings={settings}
            name={key}
            set={value => set(key, value)}
            problem={problem.value?.key === key ? problem.value.words : undefined}
          />
        ))}
      </div>
      <footer>
        <span class="meta cut" title={settings.file.value?.path}>
          {settings.file.value?.path}
        </span>
        <span class="grow" />
        <CloseButton words="Close" close={close} />
      </footer>
    </DialogFrame>
  )
}

function isFound(key: SettingKey, words: string): boolean {
  const { label, words: described } = DESCRIBED[key]
  const text = `${key} ${label} ${described}`.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

/** Shows what is wrong with the settings file, and the settings in it that the desk does not know. */
function FileState({ file }: { file: UserSettings | undefined }) {
  const bad = [file?.broken, ...(file?.problems ?? [])]
  const unknown = file?.unknown ?? []
  return (
    <div role="status">
      {bad.map(words =>
        words === undefined ? null : (
          <p key={words} class="is-bad">
            {words}
          </p>
        ),
      )}
      {unknown.length === 0 ? null : (
        <p class="meta">
          The desk does not know {unknown.join(', ')}. {unknown.length === 1 ? 'It stays' : 'They stay'} in the file.
        </p>
      )}
    </div>
  )
}

interface ControlProps {
  settings: Settings
  name: SettingKey
  set: (value: string | number | boolean | undefined) => void
}

/** `problem`: why the last change of the setting was refused. */
function SettingRow({ settings, name, set, problem }: ControlProps & { problem: string | undefined }) {
  const id = useId()
  const { label, words } = DESCRIBED[name]
  const isSet = settings.valueOf(name) !== undefined
  return (
    <div class="setting">
      <label for={id}>
        <span class="strong">{label}</span> <span class="mono meta">{name}</span>
      </label>
      <p class="meta" id={`${id}-words`}>
        {words}
      </p>
      <div class="row">
        <Control settings={settings} name={name} set={set} id={id} />
        {isSet ? (
          <Button look="small quiet" words="Reset" title={`Reset ${label}`} onClick={() => set(undefined)} />
        ) : null}
      </div>
      <div role="alert">
        {problem === undefined || problem === settings.file.value?.broken ? null : <p class="is-bad">{problem}</p>}
      </div>
    </div>
  )
}

function Control({ settings, name, set, id }: ControlProps & { id: string }) {
  const { control, usual } = DESCRIBED[name]
  const value = settings.valueOf(name) ?? usual
  const isOff = settings.file.value?.broken !== undefined
  const field = useRef<HTMLInputElement>(null)
  const shown = value === undefined ? '' : String(value)
  // The value is set only when the setting itself changes: a change of another one must not replace what is being
  // typed.
  useLayoutEffect(() => {
    if (field.current) field.current.value = shown
  }, [shown])
  const common = { id, 'aria-describedby': `${id}-words`, disabled: isOff }
  if (control === 'switch')
    return (
      <input
        {...common}
        type="checkbox"
        checked={value === true}
        onChange={event => set(event.currentTarget.checked)}
      />
    )
  if (control === 'text')
    return (
      <input
        {...common}
        ref={field}
        class="field"
        autocomplete="off"
        spellcheck={false}
        placeholder="Default"
        onChange={event => set(event.currentTarget.value.trim() || undefined)}
      />
    )
  if ('choices' in control)
    return (
      <select {...common} class="field" value={String(value)} onChange={event => set(event.currentTarget.value)}>
        {control.choices.map(choice => (
          <option key={choice} value={choice}>
            {choice[0]?.toUpperCase()}
            {choice.slice(1)}
          </option>
        ))}
      </select>
    )
  const { least, most, step } = control
  return (
    <input
      {...common}
      ref={field}
      class="field"
      type="number"
      min={least}
      max={most}
      step={step}
      placeholder="Default"
      onChange={event => {
        const { value: typed } = event.currentTarget
        set(typed === '' ? undefined : Number(typed))
      }}
    />
  )
}
