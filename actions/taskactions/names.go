package taskactions

import (
	"strconv"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Name is the name of the TaskAction of an action.
func Name(action ident.Action, uid int64) string { return ident.ObjectName(action, uid) }

// IdentityLabels are the labels that identify the action of a TaskAction or a pod.
func IdentityLabels(action ident.Action, uid int64) map[string]string {
	return map[string]string{
		v1.LabelManaged: v1.ManagedValue,
		v1.LabelProject: v1.LabelValue(action.Run.Project),
		v1.LabelDomain:  v1.LabelValue(action.Run.Domain),
		v1.LabelRun:     v1.LabelValue(action.Run.Name),
		v1.LabelAction:  v1.LabelValue(action.Name),
		v1.LabelShard:   strconv.Itoa(action.Run.Shard()),
		v1.LabelUID:     strconv.FormatInt(uid, 10),
	}
}
