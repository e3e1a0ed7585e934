# The decision that services ask for, POST /v1/data/authz/allow: put yours here.
package authz

default allow := false

allow if input.user in {"alice", "bob"}
