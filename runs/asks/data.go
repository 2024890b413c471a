package asks

import (
	"slices"
	"strings"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Data adds to the data of a request, of which the code of the task is known already: what all actions of the run share, and the URIs of
// the action's inputs and of the directory of the run.
func Data(request *placement.Request, run []string, uris ...string) {
	request.Data = slices.Concat(request.Data, run, uris) // those of the task are shared
}

// RunData is what all actions of a run share: where they write files, and the stores of what the inputs of the run point to.
func RunData(spec *task.RunSpec) []string {
	data := strings.Fields(spec.GetAnnotations().GetValues()[ident.AnnotationStores])
	if raw := spec.GetRawDataStorage().GetRawDataPrefix(); raw != "" {
		data = append(data, raw)
	}
	return data
}

// codeOf is the code of a task that is not in its image.
func codeOf(template *core.TaskTemplate) []string {
	if code := codebundle.URI(template); code != "" {
		return []string{code}
	}
	return nil
}

// Assigned has the data of an assigned action.
func Assigned(of *enginev1.Assignment) *placement.Request {
	request := &placement.Request{Data: codeOf(of.GetTask().GetSpec().GetTaskTemplate())}
	Data(request, RunData(of.GetRunSpec()), of.GetInputUri(), of.GetRunOutputBase())
	return request
}
