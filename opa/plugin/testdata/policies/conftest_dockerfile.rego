# asked: dockerfile/deny, dockerfile/warn
package dockerfile

forbidden := ["latest", "edge"]

secrets := ["password", "token", "secret"]

from contains line.Value[0] if {
	some line in input
	line.Cmd == "from"
}

has_user if {
	some line in input
	line.Cmd == "user"
}

deny contains msg if {
	some image in from
	some tag in forbidden
	endswith(image, tag)
	msg := sprintf("do not use the tag %q", [tag])
}

warn contains "the image runs as root" if not has_user

exception contains rules if rules := ["root"]
