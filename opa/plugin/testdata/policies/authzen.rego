# asked: authzen/evaluation, authzen/evaluations, authzen/search
package authzen

evaluation := {"decision": permitted, "context": context}

default permitted := false

permitted if input.action.name in granted

permitted if is_owner

granted contains action if {
	some role in data.subjects[input.subject.id].roles
	some action in data.roles[role]
}

is_owner if data.resources[input.resource.id].owner == input.subject.id

context := {"reason": "no role grants the action"} if not permitted
else := {}

evaluations := [{"decision": d} | some e in input.evaluations; d := e.action.name in granted]

search := {"results": [{"type": "user", "id": id} | some id, s in data.subjects; input.action.name in s.actions]}
