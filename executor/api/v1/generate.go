package v1

//go:generate sh -c "cd ../../../tools && go tool controller-gen object paths=../executor/api/v1 && go tool controller-gen crd:maxDescLen=400 paths=../executor/api/v1 output:crd:dir=../executor/api/v1/crds"
