package connectors

import (
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// linksOf are the links that the task declares. One that names what a job does not have, such as a pod, is left out.
func (w *worker) linksOf(j *store.Job, assigned *enginev1.Assignment) []*core.TaskLog {
	template, run := assigned.GetTask().GetSpec().GetTaskTemplate(), j.Action.Run
	id := template.GetId()
	values := map[string]string{
		"taskid": id.GetName(), "taskversion": id.GetVersion(), "taskproject": id.GetProject(), "taskdomain": id.GetDomain(),
		"taskretryattempt": strconv.Itoa(int(j.Attempt) - 1), "runname": run.Name, "actionname": j.Action.Name, "executionname": run.Name,
		"executionproject": run.Project, "executiondomain": run.Domain, "generatedname": keyOf(j),
		"perretryuniquekey": rendering.UniqueKey(keyOf(j)), "connectorid": w.remote.Name, "agentid": w.remote.Name,
	}
	var links []*core.TaskLog
	for _, link := range template.GetMetadata().GetLogLinks() {
		if uri, complete := rendering.Link(link.GetUri(), values); complete {
			copied, _ := proto.Clone(link).(*core.TaskLog)
			copied.Uri, copied.Ready = uri, true
			links = append(links, copied)
		}
	}
	return links
}
