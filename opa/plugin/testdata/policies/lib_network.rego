# asked:
package lib.network

private := ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]

vpn := ["100.64.0.0/10"]

ports := {"http": 80, "https": 443, "ssh": 22}

is_private if net.cidr_contains(private[_], input.source.address)

is_vpn if net.cidr_contains(vpn[_], input.source.address)

is_internal if is_private

is_internal if is_vpn

is_encrypted if input.destination.port == ports.https
