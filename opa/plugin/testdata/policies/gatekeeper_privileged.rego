# asked: k8spspprivileged/violation
package k8spspprivileged

import data.lib.exempt

is_update if input.review.operation == "UPDATE"

input_containers contains c if some c in input.review.object.spec.containers

input_containers contains c if some c in input.review.object.spec.initContainers

violation contains {"msg": msg} if {
	not is_update
	some c in input_containers
	not exempt.is_exempt
	c.securityContext.privileged
	msg := sprintf("container %q is privileged", [c.name])
}
