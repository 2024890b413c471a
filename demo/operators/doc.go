// Package operators does the work of the operators of Kubernetes that the demo lacks: it creates the pods of RayJobs, DaskJobs,
// JobSets and PyTorchJobs as processes of this machine, with addresses and names by which they find each other, and keeps the
// status of these objects. It does what the objects of the executor's plugins need, not all that the operators do.
package operators
