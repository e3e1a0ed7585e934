# asked: gateway/allow, gateway/rate_limit
package gateway

import data.routes

default allow := false

limits := {"free": 10, "paid": 1000}

allow if {
	token_is_valid
	scope_matches
}

claims := io.jwt.decode(trim_prefix(input.request.headers.authorization, "Bearer "))[1]

token_is_valid if claims.iss == "https://login.example.com"

scope_matches if routes[input.request.path].scope in split(claims.scope, " ")

rate_limit := limits[claims.plan]
