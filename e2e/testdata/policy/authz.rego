# Who may do what: quick, allowed or denied.
package authz

default allow := false

allow if {
	some role in data.authz.roles[input.user]
	input.action in data.authz.permissions[role]
}

decision := {"allow": allow, "user": input.user}
