# asked: sshd/authz/allow, sshd/authz/errors
package sshd.authz

import data.hosts
import input.pull_responses
import input.sysinfo

default allow := false

allow if is_admin

allow if is_contributor

is_admin if sysinfo.pam_username in {"ops", "root"}

host_id := pull_responses.files["/etc/host_identity.json"].host_id

is_contributor if {
	some contributor in hosts[host_id].contributors
	sysinfo.pam_username == contributor
}

errors contains "this host belongs to others" if not allow
