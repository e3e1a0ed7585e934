module github.com/regometer/regometer/internal/app

go 1.26.0

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875
	github.com/gofrs/flock v0.13.1
	github.com/klauspost/compress v1.17.9
	github.com/parquet-go/parquet-go v0.25.1
	github.com/pierrec/lz4/v4 v4.1.21
	github.com/regometer/regometer v0.0.0
	github.com/rivo/uniseg v0.4.7
	golang.org/x/net v0.50.0
	golang.org/x/text v0.34.0
	golang.org/x/tools v0.41.0
)

require (
	github.com/andybalholm/brotli v1.1.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
)

replace github.com/regometer/regometer => ../..
