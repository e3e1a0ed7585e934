# asked:
package entitlements.checks

enforced contains {"message": "the resource is public"} if resource.public

denied contains {"message": "the subject is blocked"} if subject.blocked

subject := data.subjects[input.subject]

resource := data.resources[input.resource]
