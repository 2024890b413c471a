#!/usr/bin/env bash
# Checks one package quickly: builds it and its direct importers, then vets, lints and tests it. The argument is a package of
# either module, such as ./runs/store or ./demo/node.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
package=./${1#./}
package=${package%/}
if [[ $package/ == ./demo/* ]]; then
	cd demo
	package=.${package#./demo}
fi
path=$(go list "$package")
# The packages of this module that import it, tests apart.
mapfile -t dependents < <(go list -f '{{$p := .ImportPath}}{{range .Imports}}{{if eq . "'"$path"'"}}{{$p}}{{"\n"}}{{end}}{{end}}' ./... | sed '/^$/d')
echo "== build $path and ${#dependents[@]} that import it"
go build "$package" ${dependents[@]+"${dependents[@]}"}
echo "== vet"
go vet "$package"
echo "== lint"
"$root/.bin/golangci-lint" run --allow-parallel-runners --config "$root/.golangci.yml" "$package"
echo "== test"
go test -vet=off -ldflags='-s -w' "$package"
