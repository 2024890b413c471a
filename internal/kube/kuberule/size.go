package kuberule

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

const (
	// MaxAnnotations is how many bytes the keys and values of an object's annotations have at most, together:
	// apivalidation.TotalAnnotationSizeLimitB.
	MaxAnnotations = 256 << 10
	// MaxObject is how many bytes etcd takes in one request unless it is configured otherwise: embed.DefaultMaxRequestBytes.
	MaxObject = 1536 << 10
	// ownAnnotations and ownObject are what is left for the platform: its own annotations and those of the operator; names,
	// labels and what the API server adds.
	ownAnnotations = 4 << 10
	ownObject      = 32 << 10
)

// Sizes returns the path of the field, below task_template or run_spec, that makes the objects of an action too large, and the
// reason; both are empty if they are not. Size is that of the encoded template.
func Sizes(template *core.TaskTemplate, size int, run *task.RunSpec) (path, words string) {
	ofRun := sizeOf(run.GetAnnotations().GetValues())
	ofTask := sizeOf(template.GetMetadata().GetMetadata().GetAnnotations()) + sizeOf(template.GetK8SPod().GetMetadata().GetAnnotations())
	if most := MaxAnnotations - ownAnnotations; ofRun+ofTask > most {
		path = "run_spec.annotations"
		if ofTask > ofRun {
			path = "task_template.metadata.metadata.annotations"
			if len(template.GetMetadata().GetMetadata().GetAnnotations()) == 0 {
				path = "task_template.k8s_pod.metadata.annotations"
			}
		}
		return path, fmt.Sprintf("the annotations of a pod have at most %d bytes together, and those of the run and the task have %d", most, ofRun+ofTask)
	}
	envs := 0
	for _, pair := range run.GetEnvs().GetValues() {
		envs += len(pair.GetKey()) + encoded(pair.GetValue()) + len(`{"name":"","value":},`)
	}
	object := max(base64.StdEncoding.EncodedLen(size)+envs+ofRun, podSize(template, size, run))
	if most := MaxObject - ownObject; object > most {
		path = "task_template"
		if envs+ofRun > size {
			path = "run_spec.envs"
			if ofRun > envs {
				path = "run_spec.annotations"
			}
		}
		return path, fmt.Sprintf("the objects of Kubernetes that an action becomes have at most %d bytes, and with this task template and run spec they "+
			"would have about %d; shorten what they carry, such as variables, arguments or inline configuration", most, object)
	}
	return "", ""
}

func sizeOf(annotations map[string]string) int {
	total := 0
	for key, value := range annotations {
		total += len(key) + len(value)
	}
	return total
}

// podSize estimates a pod as it is stored. Dollars are doubled, since Kubernetes expands what has them.
func podSize(template *core.TaskTemplate, size int, run *task.RunSpec) int {
	total := size + proto.Size(run.GetEnvs()) + sizeOf(run.GetAnnotations().GetValues())
	for _, pair := range template.GetContainer().GetEnv() {
		total += strings.Count(pair.GetValue(), "$")
	}
	for _, pair := range run.GetEnvs().GetValues() {
		total += strings.Count(pair.GetValue(), "$")
	}
	return total
}

// encoded is the length of a text in JSON.
func encoded(text string) int {
	body, _ := json.Marshal(text) // a text can always be encoded
	return len(body)
}
