module github.com/regometer/regometer/internal/project

go 1.26.0

require (
	github.com/regometer/regometer v0.0.0
	golang.org/x/mod v0.41.0
)

replace github.com/regometer/regometer => ../..
