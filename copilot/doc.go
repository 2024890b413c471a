// Package copilot is what stands beside a container that knows nothing of this system: before it, a download brings the
// inputs into a directory; behind it, a sidecar takes the outputs from another one. It runs in the pods of raw containers, as
// a subcommand of the binary, with the rights of the task: it speaks to the object store and to nothing else. The pods are
// built by executor/plugins/pod; docs/raw-containers.md is the contract with the people who write such containers.
package copilot
