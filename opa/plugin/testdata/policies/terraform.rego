# asked: terraform/analysis/authz, terraform/analysis/score
package terraform.analysis

import input as tfplan

blast_radius := 30

weights := {
	"aws_autoscaling_group": {"delete": 100, "create": 10, "modify": 1},
	"aws_instance": {"delete": 10, "create": 1, "modify": 1},
}

resource_types := {"aws_autoscaling_group", "aws_instance", "aws_iam"}

default authz := false

authz if {
	score < blast_radius
	not touches_iam
}

score := sum([n |
	some type, crud in weights
	n := crud["delete"] * num_deletes[type] + crud["create"] * num_creates[type]
])

touches_iam if count(resources.aws_iam) > 0

resources[type] := all if {
	some type in resource_types
	all := [r | some r in tfplan.resource_changes; r.type == type]
}

num_creates[type] := count([r | some r in resources[type]; "create" in r.change.actions]) if some type in resource_types

num_deletes[type] := count([r | some r in resources[type]; "delete" in r.change.actions]) if some type in resource_types
