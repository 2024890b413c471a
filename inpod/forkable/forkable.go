// Package forkable has what Python programs need that import the SDK once and fork tasks from themselves: the warm parents of
// the demo's node, and the workers of reusable environments.
package forkable

import _ "embed"

// Name is the name under which the programs expect the file in their own directory.
const Name = "forkable.py"

// Program is the file.
//
//go:embed forkable.py
var Program []byte

// Modules are what the SDK imports in every task. A module that a release of the SDK does not have is left out.
func Modules() []string {
	return []string{
		"faulthandler",
		"flyte",
		"flyte._bin.runtime",
		"flyte._initialize",
		"flyte._internal.controllers.remote._client",
		"flyte._internal.image_cache",
		"flyte._internal.resolvers.default",
		"flyte._internal.runtime.entrypoints",
		"flyte._utils.asyncify",
		"flyte.errors",
		"flyte.git",
		"flyte.io",
		"flyte.remote._client.auth._interceptors.default_metadata",
		"flyte.remote._client.auth._interceptors.retry",
		"flyte.remote._client.auth._session",
		"flyte.remote._client.controlplane",
		"flyte.storage",
		"certifi", "httpcore", "pyqwest._glue", // the session's clients for HTTP
	}
}
