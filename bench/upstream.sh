#!/usr/bin/env bash
# Writes the series for OPA as patches to dist/upstream. It tests each step with
# the tests in bench/difftest, and with OPA's linter and tests for the packages
# that the step touches, beside those of the unmodified OPA and with the race
# detector. With all steps, it tests all packages that the series can affect.
# "quick" tests only v1/metrics and bench/difftest, and only with all steps.
# "patches" runs no tests.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=(v1/{metrics,util,topdown,rego,server,hooks,sdk,logging,plugins/logs,plugins/status,profiler,runtime} internal/logging cmd)
folders=(cmd/regometer/internal/opabuild/_upstream/[0-9]*)
steps=("${folders[@]##*/[0-9][0-9]-}")
first=1
case ${1-} in
quick) packages=(v1/metrics) first=${#steps[@]} ;;
patches) first=$((${#steps[@]} + 1)) ;;
'') ;;
*) echo "usage: $0 [quick|patches]" >&2 && exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/regometer" ./cmd/regometer
opa=$work/opa

# Who sends a patch becomes its author: see docs/upstream.md. The user's settings,
# such as signatures and hooks, must not show in the patches.
git() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 command git -c user.name='Your Name' -c user.email=you@example.com \
		--git-dir="$work/git" --work-tree="$opa" "$@"
}
# Puts OPA with the flags of regometer build in place of the last step's.
source() {
	rm -rf "$opa"
	"$work/regometer" build "$@" --write-source "$opa" >"$work/log" 2>&1 || { cat "$work/log" >&2 && false; }
	rm -f "$opa/regometer_build.go"
	git add --all --force -- '*.go' # all that a step changes
}
git init --quiet
source --unmodified
git commit --quiet --message OPA
git tag step-0
# Seven of eight files of OPA are no code. Only tests need them.
git checkout-index --all --prefix="$work/code/"
cp "$opa/go.mod" "$work/code"
for n in $(seq ${#steps[@]}); do
	printf 'step %d: %s\n' "$n" "${steps[n - 1]}"
	if [ "$n" -ge "$first" ]; then source --upstream="$n"; else source --upstream="$n" --opa "$work/code"; fi
	git commit --quiet --cleanup=verbatim --file=- <"${folders[n - 1]}/message.txt"
	[ "$n" -ge "$first" ] || continue
	touched=($(git diff --name-only HEAD~ -- '*.go' | xargs -n 1 dirname | sort -u))
	if [ "$n" -eq ${#steps[@]} ]; then touched=("${packages[@]}"); fi
	"$work/regometer" verify --upstream="$n" --packages "$(IFS=, && echo "${touched[*]}")"
	if [ -z "${1-}" ]; then
		linter=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(sed -n 's/^GOLANGCI_LINT_VERSION[ :]*= *//p' "$opa/Makefile")
		(
			cd "$opa"
			CGO_ENABLED=0 go run "$linter" run --allow-parallel-runners "${touched[@]/#/./}"
			if ! command -v "$(go env CC)" >/dev/null; then
				echo "without the race detector, which needs a C compiler"
			else
				# Without opa_wasm: under the race detector its tests exceed their limits of time.
				GOTOOLCHAIN=go$(cat .go-version) go test -race -timeout=30m "${touched[@]/#/./}"
			fi
		)
	fi
	cp bench/go.mod bench/go.sum "$work"
	go mod edit -replace=github.com/open-policy-agent/opa="$opa" -replace=github.com/regometer/regometer="$PWD" \
		-replace=github.com/regometer/regometer/opa="$PWD/opa" -replace=github.com/regometer/regometer/prom="$PWD/prom" "$work/go.mod"
	(cd bench && GOWORK=off REGOMETER_UPSTREAM_STEPS="${steps[*]:0:n}" go test -vet=off -mod=mod -modfile="$work/go.mod" ./difftest)
done
rm -rf dist/upstream
git format-patch --output-directory="$PWD/dist/upstream" step-0
