// Package cachekey computes the keys under which outputs of tasks are cached, exactly as the Python SDK does for the
// children of a task. So a task started by CreateRun shares its cache entries with the same task as a child.
// The golden values in testdata come from the SDK itself. The package is pure and imports only the generated messages.
package cachekey

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Key is the cache key of a task's outputs. inputsHash is the result of InputsHash, version the declared cache version of
// the task.
func Key(taskName, inputsHash string, declared *core.TypedInterface, version string) string {
	// The SDK has an empty hash for no inputs.
	if inputsHash == noInputs {
		inputsHash = ""
	}
	return digest([]byte(inputsHash + taskName + interfaceHash(declared) + version))
}

// interfaceHash does not depend on the order in which variables are declared.
func interfaceHash(declared *core.TypedInterface) string {
	sorted := &core.TypedInterface{}
	if declared != nil {
		sorted = proto.CloneOf(declared)
	}
	byName := func(a, b *core.VariableEntry) int { return strings.Compare(a.GetKey(), b.GetKey()) }
	slices.SortStableFunc(sorted.GetInputs().GetVariables(), byName)
	slices.SortStableFunc(sorted.GetOutputs().GetVariables(), byName)
	return digest(appendMessage(nil, sorted.ProtoReflect()))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.StdEncoding.EncodeToString(sum[:])
}
