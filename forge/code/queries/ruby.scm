; Definitions, references and imports of Ruby.
(method name: (_) @name) @definition.method
(singleton_method name: (_) @name) @definition.method
(class name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.class
(module name: [(constant) @name (scope_resolution name: (constant) @name)]) @definition.module
(assignment left: (constant) @name) @definition.constant

[(identifier) (constant)] @reference

(call method: (identifier) @_require arguments: (argument_list (string (string_content) @import))
  (#match? @_require "^require(_relative)?$"))
