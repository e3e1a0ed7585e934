# asked: tenants/globex/authz/allow
package tenants.globex.authz

import data.lib.tokens

default allow := false

allow if {
	tokens.is_valid
	input.user.department in departments
}

departments := {"sales", "support"}

opening := {"from": 9, "to": 17}
