# What OPA's own API is for, by --authorization=basic: decisions, health and
# metrics. Nobody changes policies or data through it.
package system.authz

default allow := false

allow if {
	input.method in {"GET", "POST"}
	array.slice(input.path, 0, 2) == ["v1", "data"]
}

allow if {
	input.method == "GET"
	input.path[0] in {"health", "metrics"}
}
