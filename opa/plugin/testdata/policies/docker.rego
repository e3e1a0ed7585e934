# asked: docker/authz/allow
package docker.authz

default allow := false

allow if not deny

deny if seccomp_unconfined

deny if not writable

seccomp_unconfined if "seccomp:unconfined" in input.Body.HostConfig.SecurityOpt

writable if not data.users[user_id].readOnly

writable if input.Method in {"GET", "HEAD"}

user_id := input.Headers["Authz-User"]
