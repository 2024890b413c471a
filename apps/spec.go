package apps

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// defaultPort is where an app listens that declares no port.
	defaultPort = 8080
	// cleartext is the name of a port that speaks HTTP/2 without TLS.
	cleartext = "h2c"
	// primary is the container of a pod that is the app.
	primary = "app"
)

// encode is how specs are stored: the same content has the same bytes.
func encode(message proto.Message) ([]byte, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		return nil, rpc.Internal(err, "a message of an app cannot be stored")
	}
	return body, nil
}

func decodeSpec(body []byte) (*app.Spec, error) {
	spec := &app.Spec{}
	if err := proto.Unmarshal(body, spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored spec of an app cannot be read")
	}
	return spec, nil
}

// revisionOf is what decisions about a rollout need of a spec.
func (c Config) revisionOf(number int64, spec *app.Spec) rollout.Revision {
	replicas := spec.GetAutoscaling().GetReplicas()
	scale := rollout.Scale{Min: replicas.GetMin(), Max: replicas.GetMax(), Calm: c.ScaledownPeriod}
	scale.Max = max(1, scale.Min, scale.Max)
	if period := spec.GetAutoscaling().GetScaledownPeriod(); period != nil {
		scale.Calm = period.AsDuration()
	}
	scale.Concurrency = spec.GetAutoscaling().GetScalingMetric().GetConcurrency().GetTargetValue()
	scale.Rate = spec.GetAutoscaling().GetScalingMetric().GetRequestRate().GetTargetValue()
	return rollout.Revision{Number: uint64(number), Scale: scale, TakesPort: takesPort(spec)} //nolint:gosec // counts from 1
}

// portOf is the port of an app and its name.
func portOf(spec *app.Spec) (port uint32, name string) {
	if ports := spec.GetContainer().GetPorts(); len(ports) > 0 {
		return ports[0].GetContainerPort(), ports[0].GetName()
	}
	for _, entry := range list(primaryContainer(spec.GetPod()), "ports") {
		fields := entry.GetStructValue().GetFields()
		// Clipped, not checked: the spec was checked when it was stored.
		return uint32(max(0, min(fields["containerPort"].GetNumberValue(), 1<<16))), fields["name"].GetStringValue()
	}
	return defaultPort, ""
}

// primaryContainer is the container of a pod that is the app; nil if there is none.
func primaryContainer(pod *core.K8SPod) *structpb.Struct {
	for _, entry := range list(pod.GetPodSpec(), "containers") {
		if container := entry.GetStructValue(); container.GetFields()["name"].GetStringValue() == primary {
			return container
		}
	}
	return nil
}

func list(of *structpb.Struct, field string) []*structpb.Value {
	return of.GetFields()[field].GetListValue().GetValues()
}

func texts(of *structpb.Struct, field string) []string {
	var found []string
	for _, value := range list(of, field) {
		found = append(found, value.GetStringValue())
	}
	return found
}

// commandOf is the command of an app and its arguments.
func commandOf(spec *app.Spec) (command, args []string) {
	if container := spec.GetContainer(); container != nil {
		return container.GetCommand(), container.GetArgs()
	}
	container := primaryContainer(spec.GetPod())
	return texts(container, "command"), texts(container, "args")
}

// portVariable is a use of a variable with the port in a command.
var portVariable = regexp.MustCompile(`\$(\{|\()?(PORT|_F_APPLE_SILICON_HOST_PORT)\b`)

// portFromEnvironment are the types of the SDK's own servers that ask the environment for their port. The others, such as MCP
// and chat servers, listen on the port of their declaration.
var portFromEnvironment = []string{"FastAPI", "FlyteWebhookApp"}

// takesPort reports whether an app listens where its environment says: some of the servers that the SDK runs itself, and
// commands that use the variable.
func takesPort(spec *app.Spec) bool {
	command, args := commandOf(spec)
	all := slices.Concat(command, args)
	if slices.ContainsFunc(all, portVariable.MatchString) {
		return true
	}
	if len(all) == 0 || path.Base(all[0]) != "fserve" || !slices.Contains(portFromEnvironment, spec.GetProfile().GetType()) {
		return false
	}
	// What follows -- is a command of the user's, which fserve starts. It may not read the variable.
	end := slices.Index(all, "--")
	return end < 0 || end == len(all)-1
}

// bundleOf is the code bundle that the command of an app names.
func bundleOf(spec *app.Spec) string {
	command, args := commandOf(spec)
	all := slices.Concat(command, args)
	for i, word := range all {
		switch value, inline := strings.CutPrefix(word, "--tgz="); {
		case word == "--":
			return ""
		case inline:
			return value
		case word == "--tgz" && i+1 < len(all):
			return all[i+1]
		}
	}
	return ""
}
