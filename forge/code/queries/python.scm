; Definitions, references and imports of Python.
(function_definition name: (identifier) @name) @definition.function
(class_definition name: (identifier) @name) @definition.class
(module (expression_statement (assignment left: (identifier) @name) @definition.variable))
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @definition.variable))
(module (if_statement consequence: (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
(module (if_statement alternative: (else_clause body: (block (expression_statement (assignment left: (identifier) @name) @definition.variable)))))
(module (if_statement alternative: (elif_clause consequence: (block (expression_statement (assignment left: (identifier) @name) @definition.variable)))))
(module (try_statement body: (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
(module (try_statement (except_clause (block (expression_statement (assignment left: (identifier) @name) @definition.variable)))))
(module (with_statement body: (block (expression_statement (assignment left: (identifier) @name) @definition.variable))))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @definition.field)))

(identifier) @reference

(import_statement) @import
(import_from_statement) @import
