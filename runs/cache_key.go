package runs

import (
	"crypto/sha256"
	"encoding/base64"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// cacheKey is the key under which the outputs of a root action may be cached; empty when the task does not want it.
// Children bring keys that their parent has computed.
func cacheKey(spec *task.TaskSpec, name, inputsHash string) (string, error) {
	metadata := spec.GetTaskTemplate().GetMetadata()
	if !metadata.GetDiscoverable() {
		return "", nil
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(spec.GetTaskTemplate().GetInterface())
	if err != nil {
		return "", rpc.InvalidArgument("task_spec.task_template.interface", "cannot be encoded: %s", err.Error())
	}
	interfaceSum := sha256.Sum256(body)
	interfaceHash := base64.StdEncoding.EncodeToString(interfaceSum[:])
	sum := sha256.Sum256([]byte(inputsHash + name + interfaceHash + metadata.GetDiscoveryVersion()))
	return base64.StdEncoding.EncodeToString(sum[:]), nil
}
