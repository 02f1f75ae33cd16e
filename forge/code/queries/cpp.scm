; Definitions, references and includes of C and C++. The name of a function stands deep in its declarator.
(function_definition declarator: (_) @declarator) @definition.function
(declaration declarator: [
  (function_declarator)
  (pointer_declarator declarator: (function_declarator))
  (reference_declarator (function_declarator))
] @declarator) @definition.declaration
(field_declaration declarator: [
  (function_declarator)
  (pointer_declarator declarator: (function_declarator))
  (reference_declarator (function_declarator))
] @declarator) @definition.declaration
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @definition.field
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @definition.field
(struct_specifier name: (_) @name body: (_)) @definition.class
(union_specifier name: (_) @name body: (_)) @definition.class
(class_specifier name: (_) @name body: (_)) @definition.class
(enum_specifier name: (_) @name body: (_)) @definition.enum
(enumerator name: (identifier) @name) @definition.constant
(namespace_definition name: (_) @name) @definition.module
(type_definition declarator: (_) @declarator) @definition.type
(alias_declaration name: (type_identifier) @name) @definition.type
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (_) @declarator)) @definition.variable)
(translation_unit (declaration declarator: [
  (identifier) @name
  (array_declarator) @declarator
  (pointer_declarator declarator: [(identifier) (pointer_declarator)]) @declarator
]) @definition.variable)
(preproc_ifdef (declaration declarator: [(identifier) @name (init_declarator declarator: (_) @declarator)]) @definition.variable)
(preproc_if (declaration declarator: [(identifier) @name (init_declarator declarator: (_) @declarator)]) @definition.variable)
(preproc_else (declaration declarator: [(identifier) @name (init_declarator declarator: (_) @declarator)]) @definition.variable)
(namespace_definition body: (declaration_list (declaration declarator: [
  (identifier) @name
  (init_declarator declarator: (_) @declarator)
]) @definition.variable))

[(identifier) (type_identifier) (field_identifier) (namespace_identifier)] @reference

(preproc_include path: (string_literal) @import)
