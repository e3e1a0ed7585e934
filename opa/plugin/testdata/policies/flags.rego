# asked: flags/enabled, flags/variant
package flags

import data.flag_rules

enabled contains name if {
	some name, rule in flag_rules
	rule.on
	user_in_segment(rule.segment)
}

variant[name] := v if {
	some name in enabled
	v := flag_rules[name].variants[bucket % count(flag_rules[name].variants)]
}

bucket := crc if crc := to_number(substring(crypto.md5(input.user.id), 0, 1))

beta_users := {"alice", "bob"}

user_in_segment("beta") if input.user.id in beta_users

user_in_segment("all")
