package dataproxy

import (
	"encoding/base64"
	"hash/fnv"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// inputsHash identifies the inputs in cache keys: FNV-64a over their deterministic encoding, without the context and
// without the inputs that the task ignores. Clients that cannot read the inputs compute a stand-in of the same form.
func inputsHash(inputs *task.Inputs, ignored []string) (string, error) {
	counted := &task.Inputs{}
	for _, literal := range inputs.GetLiterals() {
		if !slices.Contains(ignored, literal.GetName()) {
			counted.Literals = append(counted.Literals, literal)
		}
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(counted)
	if err != nil {
		return "", rpc.InvalidArgument("inputs", "cannot be encoded")
	}
	hash := fnv.New64a()
	_, _ = hash.Write(body) // never fails
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)), nil
}
