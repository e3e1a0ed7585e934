# asked: httpapi/authz/allow
package httpapi.authz

default allow := false

allow if {
	some username
	input.method == "GET"
	input.path = ["finance", "salary", username]
	input.user == username
}

allow if {
	some username
	input.method == "GET"
	input.path = ["finance", "salary", username]
	username in subordinates[input.user]
}

subordinates := {"alice": [], "bob": ["alice"], "charlie": ["bob"]}
