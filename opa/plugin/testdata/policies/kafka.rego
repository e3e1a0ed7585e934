# asked: kafka/authz/allow
package kafka.authz

default allow := false

allow if not deny

deny if {
	is_read_operation
	topic_contains_pii
	not consumer_is_allowlisted_for_pii
}

consumer_allowlist := {"pii": {"pii_consumer"}}

topic_metadata := {"credit-scores": {"tags": ["pii"]}, "clicks": {"tags": []}}

topic_contains_pii if "pii" in topic_metadata[topic_name].tags

consumer_is_allowlisted_for_pii if principal.name in consumer_allowlist.pii

is_write_operation if input.action.operation == "WRITE"

is_read_operation if input.action.operation == "READ"

is_topic_resource if input.action.resourcePattern.resourceType == "TOPIC"

topic_name := input.action.resourcePattern.name if is_topic_resource

principal := {"fqn": name, "name": cn} if {
	name := input.requestContext.principal.name
	cn := trim_prefix(split(name, ",")[0], "CN=")
}
