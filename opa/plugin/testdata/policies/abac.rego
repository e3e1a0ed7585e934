# asked: app/abac/allow
package app.abac

default allow := false

working_hours := {"from": 8, "to": 18}

allow if user_is_owner

allow if {
	user_is_employee
	action_is_read
	within_hours
}

allow if {
	user_is_employee
	user_is_senior
	action_is_update
}

allow if {
	user_is_customer
	action_is_read
	not pet_is_adopted
}

user_is_owner if data.user_attributes[input.user].title == "owner"

user_is_employee if data.user_attributes[input.user].title == "employee"

user_is_customer if data.user_attributes[input.user].title == "customer"

user_is_senior if data.user_attributes[input.user].tenure > 8

action_is_read if input.action == "read"

action_is_update if input.action == "update"

pet_is_adopted if data.pet_attributes[input.resource].adopted == true

within_hours if {
	hour := time.clock(time.now_ns())[0]
	hour >= working_hours.from
	hour < working_hours.to
}
