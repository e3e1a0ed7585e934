# asked:
package pull

files := ["/etc/host_identity.json"]

env_vars := []
