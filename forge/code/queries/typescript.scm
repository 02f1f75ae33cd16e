; Definitions and references of TypeScript and TSX besides those in ecmascript.scm.
(function_signature name: (identifier) @name) @definition.function
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (_) @name) @definition.module
(abstract_method_signature name: (property_identifier) @name) @definition.method
(method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.field)
(type_alias_declaration value: (object_type (property_signature name: (property_identifier) @name) @definition.field))
(enum_body [(property_identifier) @name @definition.constant (enum_assignment name: (property_identifier) @name) @definition.constant])
(program (ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)))
(internal_module body: (statement_block [
  (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable)
  (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name) @definition.variable))
]))

(type_identifier) @reference
