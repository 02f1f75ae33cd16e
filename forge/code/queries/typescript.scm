; Definitions, references and imports of TypeScript. The file for TSX is the same.
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.field)
(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @definition.field))
(enum_body [(property_identifier) @name @definition.constant (enum_assignment name: (property_identifier) @name) @definition.constant])
(program [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (variable_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
  (ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
])
(internal_module body: (statement_block [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
]))

[
  (identifier)
  (type_identifier)
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
