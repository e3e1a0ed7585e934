module github.com/regometer/regometer/cmd/regometer

go 1.26

require (
	github.com/regometer/regometer v0.0.0
	github.com/regometer/regometer/opa v0.0.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
)

replace (
	github.com/regometer/regometer => ../..
	github.com/regometer/regometer/opa => ../../opa
)
