# Envoy asks for this decision about each request. Put your own rules here.
package envoy.authz

default allow := false

allow if input.attributes.request.http.method in {"GET", "HEAD"}
