; Definitions, references and imports that JavaScript and TypeScript have in common.
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
])

; const { a, b: c } = d, const [e] = f, at the top of a file
(program [
  (lexical_declaration (variable_declarator name: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (pair_pattern value: (identifier) @name)
  ])) @definition.variable)
  (lexical_declaration (variable_declarator name: (array_pattern (identifier) @name)) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (object_pattern [
    (shorthand_property_identifier_pattern) @name
    (pair_pattern value: (identifier) @name)
  ])) @definition.variable))
])

[
  (identifier)
  (property_identifier)
  (private_property_identifier)
  (shorthand_property_identifier)
  (shorthand_property_identifier_pattern)
] @reference

(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: (import) arguments: (arguments . (string (string_fragment) @import)))
(call_expression function: (identifier) @_require arguments: (arguments . (string (string_fragment) @import))
  (#eq? @_require "require"))

; export { a, b as c } from './d', module.exports = { a, b: c }
(export_specifier !alias name: (identifier) @reexport)
(export_specifier alias: (identifier) @reexport)
(program (expression_statement (assignment_expression
  left: (member_expression object: (identifier) @_module property: (property_identifier) @_exports)
  right: (object [(shorthand_property_identifier) @reexport (pair key: (property_identifier) @reexport)]))
  (#eq? @_module "module") (#eq? @_exports "exports")))
