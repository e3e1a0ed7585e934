# asked: system/main
package system

import data.kubernetes.admission

main := {
	"apiVersion": "admission.k8s.io/v1",
	"kind": "AdmissionReview",
	"response": response,
}

uid := input.request.uid

default response := {"allowed": true}

response := {"uid": uid, "allowed": false, "status": {"message": reason}} if {
	reason := concat(", ", admission.deny)
	reason != ""
}
