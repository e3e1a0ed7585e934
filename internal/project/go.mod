module github.com/regometer/regometer/internal/project

go 1.26.0

require (
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/regometer/regometer v0.0.0
	github.com/regometer/regometer/opa v0.0.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	golang.org/x/mod v0.41.0
)

require (
	golang.org/x/text v0.21.0 // indirect
	golang.org/x/tools v0.49.0 // indirect
)

replace (
	github.com/regometer/regometer => ../..
	github.com/regometer/regometer/opa => ../../opa
	github.com/regometer/regometer/prom => ../../prom
)
