# Needs Go, git and make. Only `make race` also needs a C compiler. The go command
# fetches everything else.

GO ?= go
FUZZTIME ?= 1000x
TARGETS ?=
GUIDED ?=
TESTFLAGS ?=
E2EFLAGS ?=
UPSTREAM ?=
SOAK ?=
BENCHFLAGS ?=
FINDINGSFLAGS ?= -seeds 3 -healthy 1
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
VERSION ?=
CONSUMERS ?=
WITH_OPA := {{if eq .Name "main"}}{{range .Deps}}{{if eq . "github.com/open-policy-agent/opa/v1/metrics"}}{{$$.ImportPath}}{{end}}{{end}}{{end}}
LINTER := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
BILLMAKER := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
DUCKDB := duckdb-cli==1.5.6

# All packages of all modules that go.work lists, the folders of these modules,
# and the folders of the modules that go.work does not list.
OWN := github.com/regometer/regometer
ALL := $(OWN)/...
MODULES = $(shell $(GO) list -m -f '{{.Dir}}')
OUTSIDE := e2e e2e/extauthz

# The releases of Go that test the root module: the newest patch of each Go that
# is supported, from the oldest on. OPA builds with all but the first.
GO_RELEASES := go1.25.14 go1.26.11 go1.27.4

OLDEST_OPA = $(shell sed -n 's/.*OldestVersion *= "\(.*\)"/\1/p' cmd/regometer/internal/opabuild/version.go)

# Tests and linters take a tenth less processor time with a larger heap. make race
# and test-root test with Go's own. Compilers and linkers take a little less too if
# their heap is collected only near 1 GB, which OPA's v1/ast comes close to.
HEAP := 400
TOOLEXEC := -toolexec 'env GOGC=off GOMEMLIMIT=1GiB'

# make lint vets the same code.
TEST := $(GO) test -vet=off $(TOOLEXEC)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

.PHONY: help
help: ## List these targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-16s %s\n' "$$name" "$$text"; done

##### Tests

# If DuckDB is missing, python3 fetches it for the rest of a recipe.
define find_duckdb
if [ -z "$${REGOMETER_DUCKDB:-}" ] && ! command -v duckdb >/dev/null; then \
	dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	if { python3 -m venv "$$dir" && "$$dir/bin/pip" install --quiet $(DUCKDB); }; then \
		export REGOMETER_DUCKDB=$$(echo "$$dir"/lib/python3*/site-packages/duckdb_cli/duckdb); \
	else \
		echo "there is no duckdb, and python3 cannot fetch $(DUCKDB)" >&2; \
	fi; \
fi
endef

# bench, bench/ideas and bench/peers have only benchmarks.
.PHONY: test
test: export GOGC := $(HEAP)
test: ## Run the tests of all modules, with the flags TESTFLAGS
	$(GO) list $(ALL) | grep -vE '/bench(/ideas|/peers)?$$' | xargs $(TEST) -timeout 60m $(TESTFLAGS)

.PHONY: test-slow
test-slow: ## Run the tests of all modules, also those that build OPA or read logs with DuckDB: many minutes
	@$(find_duckdb); \
	REGOMETER_SLOW_TESTS=1 $(MAKE) test

# These packages have no goroutines, or start programs. The command starts
# goroutines only in collect, and to read logs as package report does. Tests that
# kill it do not see its races. The tests of ALIKE use values from one goroutine,
# start programs, or read logs as others here do.
SEQUENTIAL := /bench(/|$$)|/cmd/regometer/internal/(chart|compare|contrast|gotool|hash|opabuild|outfile|output|page|parquetlog|samplelog|text)$$|/cmd/regometer$$|/(decisionlog|groupby|logread|outcome|stages|verdicts)$$
ALIKE := ^(FuzzJSON|Test(AppendFloat|BodiesModel|CutFiles|Decompressed|FaultsTogether|HealthyTraffic|NewClientRepeats|NumbersBounded|OneDay|Operations|PlantedFaults|RecordManyOfOneBucket|RepeatsBeyondLimit|Severity|SummariesAreExact|TimerInEveryOrder))$$

.PHONY: race
race: ## Run the tests of code with goroutines under the race detector
	$(GO) list $(ALL) | grep -vE '$(SEQUENTIAL)' | xargs $(TEST) -race -timeout 60m -skip '$(ALIKE)'
	$(TEST) -race -timeout 60m -run '^TestCollect(Pipe|Says|Signals)$$' ./cmd/regometer

# Vets and tests the packages $(3) of the root module as importers see them, with
# the Go of number $(1) and the settings $(2), with fewer random inputs. On 386,
# internal/logread has the code that the tag purego selects.
define test_root
GOWORK=off GOTOOLCHAIN=$(word $(1),$(GO_RELEASES)) $(2) $(GO) test -short -vet=all $(TOOLEXEC) $(3)
endef

.PHONY: test-root
test-root: ## Vet and test the root module with each Go, each with other settings, and the drop-in in OPA with the newest
	$(call test_root,1,GOOS=linux GOARCH=386,./...)
	$(call test_root,2,GOFLAGS=-tags=purego GOEXPERIMENT=jsonv2,./decisionlog ./exphist ./metrics/... ./outcome ./rollup)
	$(call test_root,3,,./...) # has jsonv2 without a setting
	$(GO) run -exec "env GOTOOLCHAIN=$(lastword $(GO_RELEASES))" ./cmd/regometer verify --packages v1/metrics --run .

.PHONY: test-opa
test-opa: ## Test the adapter, the plugin and the collector with the oldest OPA and client_golang
	cd opa && GOWORK=off REGOMETER_WANT_OPA=$(OLDEST_OPA) $(TEST) ./...
	cd prom && GOWORK=off $(TEST) ./...

# With GUIDED=1, all packages are compiled again, with counters by which Go looks
# for inputs that reach other code. A target goes on after a finding of another.
# Without a limit, Go takes up to a minute to shorten each new input.
.PHONY: fuzz
fuzz: ## Run each fuzz target, or those whose folder and name match TARGETS, for FUZZTIME (1000x, or a duration); GUIDED=1 looks for code that no input has reached
	@failed=; fuzzed=0; binary=$$(mktemp); trap 'rm -f "$$binary"' EXIT; cache=$$($(GO) env GOCACHE); \
	while read -r folder name; do \
		echo; echo "$$folder $$name"; fuzzed=$$((fuzzed + 1)); \
		$(TEST) -c $(if $(GUIDED),-fuzz "^$$name$$") -o "$$binary" "./$$folder" && (cd "$$folder" && "$$binary" -test.run '^$$' -test.fuzz "^$$name$$" \
			-test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 20x -test.fuzzcachedir "$$cache/fuzz/$$folder") || failed="$$failed, $$folder $$name"; \
	done < <(git grep --untracked '^func Fuzz' -- '*_test.go' | sed -E 's|(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | grep -E "$(TARGETS)"); \
	[ -z "$$failed" ] || { echo "commit the new files in testdata/fuzz with the fix: findings in$${failed#,}"; exit 1; }; \
	[ $$fuzzed -gt 0 ] || { echo "no target matches $(TARGETS)"; exit 1; }

##### Inside OPA

.PHONY: verify
verify: ## Run OPA's own tests with and without the drop-in, and OPA's linter on it: about ten minutes
	$(GO) run ./cmd/regometer verify
	tree=$$(mktemp -d) && trap 'rm -rf "$$tree"' EXIT && $(GO) run ./cmd/regometer build --pure --write-source "$$tree" && cd "$$tree" && \
		CGO_ENABLED=0 $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$$(sed -n 's/^GOLANGCI_LINT_VERSION[ :]*= *//p' Makefile) run ./v1/metrics/...

# Modules that the module proxy has with their tests. Others, such as
# opa-envoy-plugin, lack files that their tests read. The tests run in copies,
# where they may write. Programs are built too, because the tests run without the
# plugin.
PUBLISHED := github.com/open-policy-agent/conftest@v0.71.1 github.com/open-policy-agent/frameworks/constraint@latest

.PHONY: verify-consumers
verify-consumers: ## Run the tests of published programs with OPA inside, and of programs in the folders CONSUMERS, and build them: half an hour
	@copies=$$(mktemp -d); trap 'rm -rf "$$copies"' EXIT; failed=; \
	for module in $(PUBLISHED); do \
		folder=$$(cd "$$copies" && $(GO) mod download -json "$$module" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'); \
		cp -R "$$folder" "$$copies" && chmod -R u+w "$$copies"; \
	done; \
	for folder in "$$copies"/* $(CONSUMERS); do \
		echo; echo "## $${folder##*/}"; $(GO) run ./cmd/regometer verify -C "$$folder" || failed="$$failed $$folder"; \
		programs=$$(cd "$$folder" && $(GO) list -f '$(WITH_OPA)' ./...) || failed="$$failed $$folder"; \
		for program in $$programs; do \
			$(GO) run ./cmd/regometer build -C "$$folder" -o "$$copies/program" "$$program" || failed="$$failed $$program"; \
		done; \
	done; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

.PHONY: upstream
upstream: ## Write the patches of the series for OPA to dist/upstream, and test each: forty minutes; UPSTREAM=quick tests a part, UPSTREAM=patches nothing
	bench/upstream.sh $(UPSTREAM)

##### End to end
# go.work does not list the module e2e: see e2e/doc.go.

.PHONY: e2e
e2e: ## Test OPA servers with Prometheus and an OpenTelemetry receiver, the page in a browser, and the manifests; E2EFLAGS=-short with less load
	cd e2e && GOWORK=off REGOMETER_E2E=1 REGOMETER_SOAK=$(SOAK) $(TEST) -count 1 -parallel 4 -timeout 30m -v $(E2EFLAGS) ./...

.PHONY: dashboards
dashboards: ## Write the dashboard and rules over classic histograms, and the rules for the Prometheus operator
	$(GO) run ./bench/project/dashboards

##### Benchmarks

.PHONY: bench
bench: ## Measure beside OPA, histograms and DuckDB, and write docs/performance.md and the table in README.md: two minutes a run, and ten runs; BENCHFLAGS='-bench Server -runs 6' measures a part
	@$(find_duckdb); \
	$(GO) run ./bench/cmd/benchtable -go $(word 3,$(GO_RELEASES)),$(word 2,$(GO_RELEASES)) $(BENCHFLAGS)

.PHONY: findings
findings: ## Plant faults in decision logs, and print what the report finds; FINDINGSFLAGS="-seeds 5 -healthy 2 -write docs/report/findings.md"
	$(TEST) -timeout 0 ./cmd/regometer/internal/report -run '^TestFindings$$' -v -args $(FINDINGSFLAGS)

.PHONY: bench-quick
bench-quick: ## Run the benchmarks of docs/performance.md once, with and without the drop-in
	@$(find_duckdb); \
	$(GO) run ./bench/cmd/benchtable -quick

##### Checks

# golangci-lint has the findings of go vet for this platform. TestPlatforms finds
# what does not compile on others.
.PHONY: lint
lint: export GOGC := $(HEAP)
lint: ## Check the workflows, go.mod files, formats and code
	$(GO) run $(ACTIONLINT)
	@for dir in $(MODULES) $(OUTSIDE); do (cd "$$dir" && GOWORK=off $(GO) mod tidy -diff) || \
		{ echo "run: cd $${dir#$(CURDIR)/} && GOWORK=off go mod tidy"; exit 1; }; done
	@unformatted=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	$(GO) run $(LINTER) run $(MODULES:%=%/...) # once for all, because they share dependencies
	@for dir in $(OUTSIDE); do echo "$$dir"; (cd "$$dir" && GOWORK=off $(GO) run $(LINTER) run ./...); done

.PHONY: vulncheck
vulncheck: ## Look up the modules' dependencies in Go's database of vulnerabilities
	@failed=0; for dir in $(MODULES) $(OUTSIDE:%=$(CURDIR)/%); do echo "$${dir#$(CURDIR)/}"; \
		(cd "$$dir" && GOWORK=off $(GO) run $(VULNCHECK) ./...) || failed=1; done; exit $$failed

##### Releases

# The go command gets our modules by the tags of this checkout, as it will get
# them from GitHub. They go to a module cache of their own, and other modules come
# from the user's.
define released
[[ "$(VERSION)" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$$ ]] || { echo "say which version: VERSION=v0.1.0" >&2; exit 1; }; \
temp=$$(mktemp -d); trap 'rm -rf "$$temp"' EXIT; \
export GOPROXY="file://$$($(GO) env GOMODCACHE)/cache/download,$$($(GO) env GOPROXY)" GOWORK=off \
	GOMODCACHE="$$temp/modules" GOFLAGS='-trimpath -modcacherw' GOPRIVATE=$(OWN) GIT_CONFIG_COUNT=1 \
	GIT_CONFIG_KEY_0='url.file://$(CURDIR).insteadOf' GIT_CONFIG_VALUE_0=https://$(OWN)
endef

# A module's checksum covers its own files alone. So each module gets a commit and
# a tag after those that it requires. bench is not published, but requires others.
.PHONY: release
release: ## Commit and tag all modules as VERSION, each with the checksums of those that it requires
	@$(released); [ -z "$$(git status --porcelain)" ] || { echo "commit or remove what git status shows" >&2; exit 1; }; \
	edits=(-fmt); for module in . prom opa cmd/regometer bench; do \
		$(GO) mod edit -C "$$module" "$${edits[@]}"; $(GO) mod tidy -C "$$module"; \
		path=$${module#.}; tag=$${path:+$$path/}$(VERSION); path=$(OWN)$${path:+/$$path}; \
		git commit -q --all --allow-empty -m "Release $$tag"; git tag "$$tag"; \
		edits+=("-dropreplace=$$path" "-require=$$path@$(VERSION)"); \
	done

.PHONY: dist
dist: ## Build the programs of VERSION into dist/VERSION: a quarter of an hour; PLATFORMS=linux/amd64 makes it minutes
	@$(released); rm -rf dist/$(VERSION); mkdir -p dist/$(VERSION); cd dist/$(VERSION); \
	export CGO_ENABLED=0 REGOMETER_CACHE="$$temp/cache"; GOPATH="$$temp" $(GO) install $(OWN)/cmd/regometer@$(VERSION); \
	for platform in $(PLATFORMS); do \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/} GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off; \
		suffix=_$${GOOS}_$$GOARCH; [ $$GOOS != windows ] || suffix+=.exe; \
		GOPATH="$$temp/$$platform" $(GO) install $(OWN)/cmd/regometer@$(VERSION); \
		find "$$temp/$$platform/bin" -type f -exec cp {} "regometer$$suffix" \;; \
		"$$temp/bin/regometer" build -o "opa$$suffix"; \
	done
	cd "dist/$(VERSION)" && for program in *; do \
		$(GO) run $(BILLMAKER) bin -json -std -noserial -notimestamp -output "$$program.cdx.json" "$$program"; done && \
		sha256sum * >SHA256SUMS

.PHONY: ci
ci: ## Run everything that a change must pass
	.ci/run
