# asked:
package lib.tokens

issuers := {"https://login.example.com", "https://login.example.org"}

leeway := 30

clock := time.now_ns() / 1000000000

payload := io.jwt.decode(input.token)[1]

is_issued if payload.iss in issuers

is_current if {
	payload.nbf - leeway <= clock
	clock < payload.exp + leeway
}

is_valid if {
	is_issued
	is_current
}

scopes contains scope if some scope in split(payload.scope, " ")

has_scope(scope) if scope in scopes
