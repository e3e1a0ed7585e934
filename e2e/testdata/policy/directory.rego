# Decisions that ask another service.
package directory

on_call if {
	response := http.send({"method": "GET", "url": sprintf("%s/on-call/%s", [data.directory.url, input.user])})
	response.body.on_call
}

# The same answer for some seconds, from OPA's cache.
office_open := http.send({
	"method": "GET",
	"url": sprintf("%s/on-call/desk", [data.directory.url]),
	"force_cache": true,
	"force_cache_duration_seconds": 600,
}).body.on_call

# An error if input.n is not a number and built-in errors are strict.
converted := to_number(input.n)
