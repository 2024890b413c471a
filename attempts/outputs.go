package attempts

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// Outputs says where the outputs of an attempt that succeeded are, and its report, if its task makes one and wrote it.
func Outputs(ctx context.Context, store verdict.Store, template *core.TaskTemplate, dir string) (*task.OutputReferences, error) {
	outputs := &task.OutputReferences{OutputUri: dir + "/" + blobpath.OutputsFile}
	if !template.GetMetadata().GetGeneratesDeck().GetValue() {
		return outputs, nil
	}
	report := dir + "/" + blobpath.ReportFile
	written, err := verdict.Exists(ctx, store, report)
	if written {
		outputs.ReportUri = report
	}
	return outputs, err
}
