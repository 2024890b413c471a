// Package kubeflow runs distributed training as the jobs of the Kubeflow training operator, version 1: PyTorchJob for
// tasks of the type pytorch, MPIJob for mpi and TFJob for tensorflow. The three differ in their roles, which roles.go has.
package kubeflow
