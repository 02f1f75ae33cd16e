; Definitions and references of PHP.
(function_definition name: (name) @name) @definition.function
(method_declaration name: (name) @name) @definition.method
(class_declaration name: (name) @name) @definition.class
(interface_declaration name: (name) @name) @definition.interface
(trait_declaration name: (name) @name) @definition.class
(enum_declaration name: (name) @name) @definition.enum
(enum_case name: (name) @name) @definition.constant
(const_element (name) @name) @definition.constant
(property_element name: (variable_name (name) @name)) @definition.field
(namespace_definition name: (namespace_name) @name) @definition.module

(name) @reference
