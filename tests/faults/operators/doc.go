// Package operators plays the operators of JobSet, PyTorchJob and RayJob in storms: it creates the pods of their objects
// and writes in their status what became of them, as the real ones do. It can be away for a while. It stands below the
// fault suite.
package operators
