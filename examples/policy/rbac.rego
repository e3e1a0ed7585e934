# METADATA
# title: Role-based access control
# description: |
#   Who may do what on which resource: users have roles, a role may include
#   others and grants permissions, and some actions ask for more than a role.
#   Input: user, action, resource; optionally ip and token. Data: data.json.
package rbac

# The answer, true or false.
default allow := false

allow if {
	granted
	count(violations) == 0
}

# The same answer with its reasons.
decision := {"allow": allow, "reasons": reasons}

reasons contains "no role of the user grants this" if not granted

reasons contains violation if {
	granted
	some violation in violations
}

action := lower(input.action)

# The user's roles and all that they include.
roles := graph.reachable(data.includes, data.users[input.user].roles)

# The permissions of all roles together.
permissions contains permission if {
	some role in roles
	some permission in data.grants[role]
}

granted if {
	some permission in permissions
	action in permission.actions
	glob.match(permission.resource, ["/"], input.resource)
}

# Reasons to deny an action that a role permits.
violations contains "the user is suspended" if data.users[input.user].suspended

violations contains sprintf("%s is only allowed from the office network", [action]) if {
	action in {"delete", "approve"}
	not in_office
}

violations contains "the resource belongs to another tenant" if not own_tenant

in_office if {
	some network in data.office_networks
	net.cidr_contains(network, input.ip)
}

own_tenant if startswith(input.resource, sprintf("tenants/%s/", [data.users[input.user].tenant]))

# On-call engineers may do anything for the time of their shift, which the
# directory service knows. Undefined for everybody else.
on_call if {
	response := http.send({
		"method": "GET",
		"url": sprintf("%s/on-call?user=%s", [data.directory.url, urlquery.encode(input.user)]),
		"timeout": "2s",
	})
	response.status_code == 200
	response.body.on_call
}

# The claims of a bearer token, whose signature the gateway checks.
claims := payload if {
	[_, payload, _] := io.jwt.decode(trim_prefix(input.token, "Bearer "))
	time.now_ns() < payload.exp * 1000000000
}
