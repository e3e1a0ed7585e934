package rbac_test

import data.rbac

document := "tenants/acme/documents/7"

test_role_grants_action if {
	rbac.allow with input as {"user": "bob", "action": "update", "resource": document}
}

test_included_role_grants_action if {
	rbac.allow with input as {"user": "alice", "action": "read", "resource": document}
}

test_action_is_not_case_sensitive if {
	rbac.allow with input as {"user": "bob", "action": "READ", "resource": document}
}

test_missing_role_is_denied if {
	got := rbac.decision with input as {"user": "dave", "action": "update", "resource": "tenants/globex/documents/7"}
	got == {"allow": false, "reasons": {"no role of the user grants this"}}
}

test_unknown_user_is_denied if {
	not rbac.allow with input as {"user": "mallory", "action": "read", "resource": document}
}

test_no_input_is_denied if {
	rbac.decision == {"allow": false, "reasons": {"no role of the user grants this"}}
}

test_suspended_user_is_denied if {
	got := rbac.decision with input as {"user": "frank", "action": "read", "resource": "tenants/initech/documents/7"}
	got == {"allow": false, "reasons": {"the user is suspended"}}
}

test_other_tenant_is_denied if {
	got := rbac.decision with input as {"user": "dave", "action": "read", "resource": document}
	got == {"allow": false, "reasons": {"the resource belongs to another tenant"}}
}

test_tenant_is_compared_as_it_stands if {
	not rbac.allow with input as {"user": "dave", "action": "read", "resource": "tenants/GLOBEX/documents/7"}
}

test_office_rule_is_not_case_sensitive if {
	not rbac.allow with input as {"user": "bob", "action": "Delete", "resource": document, "ip": "203.0.113.5"}
}

test_approval_needs_the_office_network if {
	approval := {"user": "carol", "action": "approve", "resource": "tenants/globex/invoices/9"}
	rbac.allow with input as object.union(approval, {"ip": "192.0.2.17"})
	rbac.allow with input as object.union(approval, {"ip": "2001:db8::17"})
	got := rbac.decision with input as object.union(approval, {"ip": "203.0.113.5"})
	got == {"allow": false, "reasons": {"approve is only allowed from the office network"}}
}

test_permissions_of_all_roles if {
	got := rbac.permissions with input as {"user": "dave"}
	got == {
		{"actions": ["read"], "resource": "tenants/*/documents/*"},
		{"actions": ["read"], "resource": "tenants/*/invoices/*"},
	}
}

directory(request) := {"status_code": 200, "body": {"on_call": true}} if {
	request.url == "http://directory.example/on-call?user=alice%26bob"
} else := {"status_code": 200, "body": {"on_call": false}}

test_on_call_is_asked_of_the_directory if {
	rbac.on_call with input as {"user": "alice&bob"}
		with data.directory.url as "http://directory.example"
		with http.send as directory
}

test_on_call_is_undefined_for_others if {
	not rbac.on_call with input as {"user": "bob"}
		with data.directory.url as "http://directory.example"
		with http.send as directory
}

token(exp) := io.jwt.encode_sign({"alg": "HS256"}, {"sub": "alice", "exp": exp}, {"kty": "oct", "k": "c2VjcmV0"})

test_claims_of_a_token if {
	got := rbac.claims with input as {"token": concat(" ", ["Bearer", token(4102444800)])}
	got.sub == "alice"
}

test_expired_token_has_no_claims if {
	not rbac.claims with input as {"token": concat(" ", ["Bearer", token(1)])}
}
