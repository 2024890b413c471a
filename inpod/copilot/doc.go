// Package copilot transfers inputs and outputs for containers without the SDK: before the container starts, a download puts
// the inputs into a directory; when it has ended, a sidecar uploads the outputs from another one. It runs in the pods of raw
// containers, as a subcommand of the binary, with the rights of the task, and connects to the object store only. The pods
// are built by executor/plugins/pod; docs/raw-containers.md is the contract for authors of such containers.
package copilot
