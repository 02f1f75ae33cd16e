; Definitions of JavaScript besides those in ecmascript.scm.
(class_declaration name: (identifier) @name) @definition.class
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @definition.field
; app.use = function () {}
(assignment_expression
  left: (member_expression property: (property_identifier) @name)
  right: [(function_expression) (arrow_function) (generator_function)]) @definition.method
; exports.x = 1
(program (expression_statement (assignment_expression
  left: (member_expression object: (_) @_to property: (property_identifier) @name)
  right: [(identifier) (member_expression) (call_expression) (object) (array) (string) (number) (class)]) @definition.variable)
  (#match? @_to "^(module\\.)?exports$"))
