/** Maps syntax tags to CSS classes: five hues, the same in the editor and in a diff. */
import { syntaxHighlighting } from '@codemirror/language'
import { tagHighlighter, tags } from '@lezer/highlight'

export const codeStyle = tagHighlighter([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword, tags.self, tags.null], class: 'x-key' },
  { tag: [tags.definitionKeyword, tags.moduleKeyword, tags.controlKeyword, tags.tagName], class: 'x-key' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp, tags.character, tags.inserted], class: 'x-str' },
  { tag: [tags.number, tags.bool, tags.atom, tags.constant(tags.name), tags.unit, tags.color], class: 'x-num' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.attributeName, tags.labelName], class: 'x-type' },
  { tag: [tags.function(tags.name), tags.function(tags.propertyName), tags.macroName, tags.link], class: 'x-call' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction, tags.deleted, tags.quote], class: 'x-note' },
  { tag: tags.heading, class: 'x-head' },
  { tag: tags.strong, class: 'x-strong' },
  { tag: tags.emphasis, class: 'x-slant' },
])

export const coloured = syntaxHighlighting(codeStyle)
