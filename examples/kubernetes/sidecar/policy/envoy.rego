# Envoy asks this about each request: put yours here.
package envoy.authz

default allow := false

allow if input.attributes.request.http.method in {"GET", "HEAD"}
