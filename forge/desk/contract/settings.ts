/** The user's settings: their keys, what each may be, and questions about them. Each key is read by the page. */
import * as v from 'valibot'
import { Nothing, question } from './question.ts'

const FONTS = 'must be names of fonts, separated by commas, of at most 200 characters'
const fonts = v.pipe(
  v.string(FONTS),
  v.trim(),
  v.maxLength(200, FONTS),
  // The value becomes part of a style: names of fonts need no more than these.
  v.regex(/^[\p{L}\p{N} ,'"._-]*$/u, FONTS),
)
const number = (least: number, most: number) => {
  const words = `must be a number from ${least} to ${most}`
  return v.pipe(v.number(words), v.minValue(least, words), v.maxValue(most, words))
}
const yesOrNo = v.boolean('must be true or false')

/** The schema of each setting: its messages go on after the key. A key that is not set has its default. */
export const SETTINGS = {
  theme: v.picklist(['system', 'light', 'dark'], 'must be "system", "light" or "dark"'),
  'editor.fontFamily': fonts,
  'editor.fontSize': number(8, 32),
  'editor.lineHeight': number(1, 3),
  'editor.tabSize': v.pipe(number(1, 16), v.integer('must be a whole number from 1 to 16')),
  'editor.wordWrap': yesOrNo,
  'editor.closeBrackets': yesOrNo,
  'editor.stickyScroll': yesOrNo,
  'editor.blame': yesOrNo,
  'editor.previewTab': yesOrNo,
} as const
export type SettingKey = keyof typeof SETTINGS
export type Theme = v.InferOutput<typeof SETTINGS.theme>

export const SettingValues = v.partial(v.object(SETTINGS))
export type SettingValues = v.InferOutput<typeof SettingValues>

export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(SETTINGS, key)

/** The settings as the file has them. */
export const UserSettings = v.object({
  /** The file's path, for display. */
  path: v.string(),
  values: SettingValues,
  /** Keys in the file that the desk does not know. They are kept. */
  unknown: v.array(v.string()),
  /** What is wrong with values in the file, as sentences: these have their defaults. */
  problems: v.array(v.string()),
  /** Why the file can't be read, as a sentence. Then nothing can be set. */
  broken: v.optional(v.string()),
})
export type UserSettings = v.InferOutput<typeof UserSettings>

export const settingQuestions = {
  /** Sets a value, or removes it: null. All windows get the settings as news. */
  'set setting': question(
    {
      key: v.picklist(Object.keys(SETTINGS) as SettingKey[]),
      value: v.nullable(v.union([v.string(), v.number(), v.boolean()])),
    },
    Nothing,
  ),
}
