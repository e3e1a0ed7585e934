# A small role-based policy: may one of the user's roles do the action?
package rbac

default allow := false

allow if {
	some role in data.roles[input.user]
	data.grants[role][input.action]
}
