# asked: filters/include
package filters

tenancy if input.tickets.tenant == input.tenant.id

include if {
	tenancy
	is_reader
	input.tickets.assignee == input.user.id
}

include if {
	tenancy
	is_resolver
}

is_reader if "reader" in data.roles[input.tenant.name][input.user.name]

is_resolver if "resolver" in data.roles[input.tenant.name][input.user.name]
