# asked: trino/allow, trino/batch, trino/rowFilters, trino/columnMask
package trino

default allow := false

user := input.context.identity.user

is_admin if user in {"admin", "ops"}

can_select if {
	input.action.operation == "SelectFromColumns"
	user in data.grants[input.action.resource.table.tableName]
}

allow if is_admin

allow if can_select

batch contains i if {
	some i, resource in input.action.filterResources
	user in data.grants[resource.table.tableName]
}

rowFilters contains {"expression": sprintf("tenant = '%s'", [data.tenants[user]])} if not is_admin

columnMask := {"expression": "NULL"} if {
	not is_admin
	input.action.resource.column.columnName in data.sensitive
}
