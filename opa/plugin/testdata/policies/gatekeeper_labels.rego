# asked: k8srequiredlabels/violation
package k8srequiredlabels

provided contains label if input.review.object.metadata.labels[label]

required contains label if some label in input.parameters.labels

violation contains {"msg": msg, "details": {"missing_labels": missing}} if {
	missing := required - provided
	count(missing) > 0
	msg := sprintf("labels are missing: %v", [missing])
}
