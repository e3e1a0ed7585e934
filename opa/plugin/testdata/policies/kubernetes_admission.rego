# asked:
package kubernetes.admission

operations := {"CREATE", "UPDATE"}

kinds := {"Pod", "Deployment"}

registries := {"registry.example.com", "mirror.example.com"}

is_pod if input.request.kind.kind in kinds

is_change if input.request.operation in operations

containers contains c if some c in input.request.object.spec.containers

images contains c.image if some c in containers

deny contains msg if {
	is_pod
	is_change
	some image in images
	not startswith_any(image)
	msg := sprintf("image %q comes from an unknown registry", [image])
}

deny contains "the label team is missing" if not input.request.object.metadata.labels.team

startswith_any(image) if {
	some registry in registries
	startswith(image, registry)
}
