# asked: tenants/acme/authz/allow
package tenants.acme.authz

import data.lib.tokens

default allow := false

allow if {
	tokens.is_valid
	within_quota
}

within_quota if input.size < quota.bytes

quota := {"bytes": 1000000, "files": 100}
