# asked: graphapi/authz/allow
package graphapi.authz

query_ast := graphql.parse(input.query, input.schema)[0]

default allow := false

allow if employee_by_id_allowed

employee_by_id_allowed if {
	some operation in query_ast.Operations
	some selection in operation.SelectionSet
	selection.Name == "employeeByID"
	constant_argument(selection, input.user)
}

constant_argument(selection, value) if {
	some argument in selection.Arguments
	argument.Value.Raw == value
}
