; Definitions, references and imports of Go.
(function_declaration name: (identifier) @name) @definition.function
(method_declaration name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name) @definition.type
(type_alias name: (type_identifier) @name) @definition.type
(method_elem name: (field_identifier) @name) @definition.method
(source_file (const_declaration (const_spec (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec (identifier) @name) @definition.variable)))
(struct_type (field_declaration_list (field_declaration (field_identifier) @name) @definition.field))

[(identifier) (field_identifier) (type_identifier) (package_identifier)] @reference

(import_spec path: (interpreted_string_literal) @import)
