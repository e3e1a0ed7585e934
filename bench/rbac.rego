# A small role-based policy: may one of the caller's roles do the action?
package rbac

default allow := false

allow if {
	some role in input.roles
	data.grants[role][input.action]
}
