# asked: envoy/authz/allow
package envoy.authz

import input.attributes.request.http as http_request

default allow := false

public_paths := {"/", "/health"}

allow if is_public

allow if {
	is_token_valid
	action_allowed
}

is_public if http_request.path in public_paths

is_token_valid if {
	token.valid
	now := time.now_ns() / 1000000000
	token.payload.nbf <= now
	now < token.payload.exp
}

token := {"valid": valid, "payload": payload} if {
	[_, encoded] := split(http_request.headers.authorization, " ")
	[valid, _, payload] := io.jwt.decode_verify(encoded, {"secret": "secret"})
}

action_allowed if {
	http_request.method == "GET"
	token.payload.role == "guest"
	glob.match("/people*", ["/"], http_request.path)
}

action_allowed if token.payload.role == "admin"
