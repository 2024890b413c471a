// Package operators plays the operators of JobSet, PyTorchJob and RayJob in storms: it creates the pods of their objects
// and writes into their status how they ended, as the real ones do. It can be away for a while. Only the fault
// suite uses it.
package operators
