package stack

// Programs says where the programs of a stack are.
type Programs struct {
	Server   string // the measured program
	Binaries string // the directory of kube-apiserver and etcd
}
