# asked: main/deny, main/warn, main/violation
package main

name := input.metadata.name

is_deployment if input.kind == "Deployment"

required_labels if {
	input.metadata.labels["app.kubernetes.io/name"]
	input.metadata.labels["app.kubernetes.io/instance"]
}

warn contains msg if {
	is_deployment
	not required_labels
	msg := sprintf("%s lacks the usual labels", [name])
}

deny contains msg if {
	is_deployment
	not input.spec.template.spec.securityContext.runAsNonRoot
	msg := sprintf("%s must not run as root", [name])
}

violation contains {"msg": msg} if {
	input.kind == "Secret"
	msg := sprintf("%s is a secret in plain text", [name])
}
