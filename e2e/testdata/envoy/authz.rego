# Decisions for Envoy: reading is allowed, writing is denied, and some paths
# have no answer.
package envoy.authz

http := input.attributes.request.http

usual if not http.path in {"/undefined", "/conflict", "/slow"}

allow := http.method == "GET" if usual

# Both are true at once.
allow := true if http.path == "/conflict"

allow := false if http.path == "/conflict"

# Too slow for every client.
allow := false if {
	http.path == "/slow"
	some i in numbers.range(1, 20000)
	some j in numbers.range(1, 20000)
	i + j < 0
}

decision := {"allowed": true, "headers": {"x-policy": "envoy"}} if allow

decision := {"allowed": false, "http_status": 403, "body": "only reading"} if allow == false
