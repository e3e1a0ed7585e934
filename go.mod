module github.com/regometer/regometer

go 1.25
