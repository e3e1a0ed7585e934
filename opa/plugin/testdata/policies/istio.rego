# asked: istio/authz/result
package istio.authz

result := {
	"allowed": allowed,
	"headers": headers,
	"http_status": status,
	"body": body,
}

default allowed := false

allowed if some_role_permits

some_role_permits if {
	some role in roles
	some permission in data.role_permissions[role]
	permission.method == input.attributes.request.http.method
	permission.path == input.attributes.request.http.path
}

roles contains role if some role in data.user_roles[user]

user := io.jwt.decode(input.attributes.request.http.headers.authorization)[1].sub

headers["x-user"] := user

status := 200 if allowed
else := 403

body := "" if allowed
else := "no role permits this request"
