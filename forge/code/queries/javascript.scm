; Definitions, references and imports of JavaScript.
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(class_declaration name: (identifier) @name) @definition.class
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @definition.field
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
])
; app.use = function () {}
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(function_expression) (arrow_function) (generator_function)]) @definition.method
; exports.x = 1
(program (expression_statement (assignment_expression
  left: (member_expression object: (_) @_to property: (property_identifier) @name)
  right: [(identifier) (member_expression) (call_expression) (object) (array) (string) (number) (class)]) @definition.variable)
  (#match? @_to "^(module\\.)?exports$"))

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
