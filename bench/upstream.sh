#!/usr/bin/env bash
# Writes the series for OPA as patches to dist/upstream. Then it tests each step
# with OPA's tests and linter and with the tests in bench/difftest. "quick" runs
# only the tests of v1/metrics and bench/difftest, and only with all steps.
# "patches" runs no tests.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=v1/metrics,v1/util,v1/topdown,v1/rego,v1/server,v1/hooks,v1/sdk,v1/plugins/logs,v1/plugins/status,v1/profiler,v1/runtime,cmd
folders=(internal/app/opabuild/_upstream/[0-9]*)
steps=("${folders[@]##*/[0-9][0-9]-}")
first=1
case ${1-} in
quick) packages=v1/metrics first=${#steps[@]} ;;
patches) first=$((${#steps[@]} + 1)) ;;
'') ;;
*) echo "usage: $0 [quick|patches]" >&2 && exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/upstream" ./bench/cmd/upstream
go build -o "$work/regometer" ./cmd/regometer
opa=$work/opa

# Who sends a patch becomes its author: see docs/upstream.md. The user's settings,
# such as signatures and hooks, must not show in the patches.
git() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 command git -C "$opa" -c user.name='Your Name' -c user.email=you@example.com "$@"
}
commit() { git add --all --force && git commit --quiet --cleanup=verbatim --file=- && git tag "step-$1"; }
"$work/upstream" "$opa"
git init --quiet
echo OPA | commit 0
for n in $(seq ${#steps[@]}); do
	"$work/upstream" "$opa" "$n" >"$work/message"
	commit "$n" <"$work/message"
done
rm -rf dist/upstream
git format-patch --output-directory="$PWD/dist/upstream" step-0

for n in $(seq "$first" ${#steps[@]}); do
	printf '\nstep %d: %s\n' "$n" "${steps[n - 1]}"
	"$work/regometer" verify --upstream="$n" --packages "$packages"
	git checkout --quiet --force "step-$n"
	cp bench/go.mod bench/go.sum "$work"
	go mod edit -replace=github.com/open-policy-agent/opa="$opa" -replace=github.com/regometer/regometer="$PWD" \
		-replace=github.com/regometer/regometer/opa="$PWD/opa" -replace=github.com/regometer/regometer/prom="$PWD/prom" \
		-replace=github.com/regometer/regometer/internal/app="$PWD/internal/app" "$work/go.mod"
	(cd bench && GOWORK=off REGOMETER_UPSTREAM_STEPS="${steps[*]:0:n}" go test -mod=mod -modfile="$work/go.mod" ./difftest)
done
