# asked: entitlements/main, entitlements/actions
package entitlements

import data.entitlements.checks

main := {"allowed": count(checks.denied) == 0, "entz": checks.enforced}

actions contains action if {
	some role in data.assignments[input.subject]
	some action in data.permissions[role]
}
