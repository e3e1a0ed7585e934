# asked: pull, display, sudo/authz
package sudo.authz

default allow := false

is_admin if input.sysinfo.pam_username == "ops"

allow if is_admin

allow if input.display_responses.ticket in data.tickets[input.sysinfo.pam_username]

errors contains "name a valid ticket" if not allow
