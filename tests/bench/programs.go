package main

// programs says where the programs of a stack are.
type programs struct {
	server   string // the measured program
	binaries string // the directory of kube-apiserver and etcd
}
