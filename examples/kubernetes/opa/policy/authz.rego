# Services ask for this decision by POST /v1/data/authz/allow. Put your own rules
# here.
package authz

default allow := false

allow if input.user in {"alice", "bob"}
