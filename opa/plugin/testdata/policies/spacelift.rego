# asked: spacelift/deny, spacelift/warn, spacelift/track, spacelift/propose
package spacelift

protected := {"prod", "staging"}

tracked_extensions := {".tf", ".tfvars"}

affected if {
	some file in input.push.affected_files
	some extension in tracked_extensions
	endswith(file, extension)
}

track if {
	affected
	input.push.branch == input.stack.branch
}

propose if affected

deny contains msg if {
	some r in input.terraform.resource_changes
	"delete" in r.change.actions
	input.stack.environment in protected
	msg := sprintf("%s must not be deleted", [r.address])
}

warn contains "many resources change" if count(input.terraform.resource_changes) > 50
