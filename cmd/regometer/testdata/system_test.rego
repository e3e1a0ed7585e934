package system.authz_test

import data.system.authz

test_decision if authz.allow with input as {"method": "POST", "path": ["v1", "data", "authz", "allow"]}

test_diagnostics if {
	some path in ["health", "metrics"]
	authz.allow with input as {"method": "GET", "path": [path]}
}

test_everything_else_refused if {
	every request in [
		"PUT v1/policies/authz", "GET v1/policies", "DELETE v1/policies/authz.rego", "PATCH v1/data/users", "GET v1/config",
		"GET v1/query", "POST v1/query", "POST v1/compile", "POST ", "POST v0/data/authz/allow", "GET v1/data",
		"GET v1/data/authz/allow", "POST v1/data", "POST v1/data/", "POST v1/data/authz", "POST v1/data/authz/allow/x",
		"POST v1/data/system/authz/decisions",
	] {
		[method, path] := split(request, " ")
		not authz.allow with input as {"method": method, "path": split(path, "/")}
	}
}
