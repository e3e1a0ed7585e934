# With --authorization=basic, OPA's API gives only the decisions that this policy
# names. Nobody can read or change policies and data through it.
package system.authz

# The paths that clients may ask for, by POST /v1/data/…
decisions := {["authz", "allow"]}

default allow := false

allow if {
	input.method == "POST"
	array.slice(input.path, 0, 2) == ["v1", "data"]
	array.slice(input.path, 2, count(input.path)) in decisions
}

# A policy does not see the port, so these paths answer on the API's port too.
allow if {
	input.method == "GET"
	input.path[0] in {"health", "metrics"}
}
