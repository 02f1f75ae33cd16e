; Definitions, references and imports of Rust.
(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.class
(union_item name: (type_identifier) @name) @definition.class
(enum_item name: (type_identifier) @name) @definition.enum
(enum_variant name: (identifier) @name) @definition.constant
(trait_item name: (type_identifier) @name) @definition.interface
(type_item name: (type_identifier) @name) @definition.type
(associated_type name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.variable
(macro_definition name: (identifier) @name) @definition.macro
(field_declaration name: (field_identifier) @name) @definition.field
(impl_item type: [
  (type_identifier) @name
  (generic_type type: (type_identifier) @name)
  (generic_type type: (scoped_type_identifier name: (type_identifier) @name))
  (scoped_type_identifier name: (type_identifier) @name)
]) @definition.impl

[(identifier) (type_identifier) (field_identifier) (shorthand_field_identifier)] @reference

(use_declaration) @import
(mod_item !body) @import

; The items in the braces of a macro's call, outside of functions: `cfg_net! { pub struct Stream { … } }`.
(source_file (macro_invocation (token_tree . "{" "}" .) @items))
(declaration_list (macro_invocation (token_tree . "{" "}" .) @items))
