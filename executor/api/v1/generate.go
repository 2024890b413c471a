package v1

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object paths=.
//go:generate go tool -modfile=../../../tools/go.mod controller-gen crd:maxDescLen=400 paths=. output:crd:dir=crds
