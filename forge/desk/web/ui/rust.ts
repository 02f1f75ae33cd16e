/** Rust with the indentation of rustfmt where CodeMirror's has another one. */
import { rustLanguage } from '@codemirror/lang-rust'
import { continuedIndent, delimitedIndent, indentNodeProp, LanguageSupport } from '@codemirror/language'

const usualBlock = delimitedIndent({ closing: '}', align: false })

const language = rustLanguage.configure({
  props: [
    indentNodeProp.add({
      'FunctionItem ImplItem TraitItem StructItem EnumItem UnionItem': continuedIndent({
        except: /^\s*(?:\{|where\b)/,
      }),
      'WhileExpression ForExpression LoopExpression MatchExpression': continuedIndent({ except: /^\s*\{/ }),
      // Of a condition in several lines, the block begins at the brace's line, as its end is put there.
      Block: context => {
        const { node, unit, textAfter } = context
        if (!/^(?:If|While|For)Expression$/.test(node.parent?.name ?? '')) return usualBlock(context)
        return context.lineIndent(node.from) + (/^\s*\}/.test(textAfter) ? 0 : unit)
      },
    }),
  ],
})

/** Rust, with `where` moved to the column of its function while it is typed. */
export const rust = (): LanguageSupport =>
  new LanguageSupport(language, language.data.of({ indentOnInput: /^\s*(?:\{|\}|where)$/ }))
