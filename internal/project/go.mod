module github.com/regometer/regometer/internal/project

go 1.26.0

require (
	github.com/regometer/regometer v0.0.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/mod v0.41.0
)

require golang.org/x/text v0.14.0 // indirect

replace github.com/regometer/regometer => ../..
