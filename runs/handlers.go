package runs

import (
	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/conditions"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/find"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/launch"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/read"
	"github.com/flyte-binary/flyte-binary/runs/stars"
	"github.com/flyte-binary/flyte-binary/runs/stored"
	"github.com/flyte-binary/flyte-binary/runs/tracked"
	"github.com/flyte-binary/flyte-binary/runs/usage"
	"github.com/flyte-binary/flyte-binary/runs/views"
	"github.com/flyte-binary/flyte-binary/runs/watch"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// runHandler serves RunService.
type runHandler struct {
	*launch.Creator
	*change.Aborter
	*change.Signaller
	*read.Lists
	*read.Details
	*read.Data
	*watch.Streams
}

// internalHandler serves InternalRunService.
type internalHandler struct {
	*launch.Recorder
	*change.Reporter
	*change.Updater
}

// engineHandler serves EngineService.
type engineHandler struct {
	tracked *tracked.Service // may be nil
	*dispatch.Handler
	*backlog.Viewer
	*stored.Uploads
	*change.Reporter
	*usage.Recorder
	*watch.Streams
}

// insightHandler serves InsightService.
type insightHandler struct {
	tracked *tracked.Service // may be nil
	*insight.Questions
	*usage.Viewer
	*launch.Previewer
	*watch.Streams
}

// handlers are the handlers of all services.
type handlers struct {
	run      workflowconnect.RunServiceHandler
	internal workflowconnect.InternalRunServiceHandler
	tasks    taskconnect.TaskServiceHandler
	projects projectconnect.ProjectServiceHandler
	domains  orgconnect.DomainServiceHandler
	settings settingsconnect.SettingsServiceHandler
	images   imagebuilderconnect.ImageServiceHandler
	engine   enginev1connect.EngineServiceHandler
	states   enginev1connect.ActionStateServiceHandler
	insight  insightv1connect.InsightServiceHandler
	problems *problems.Handler
	overRuns overRuns
	queries  *find.Finder
	stars    *stars.Handler
	views    *views.Handler
	asked    *conditions.Handler
	started  enginev1connect.TriggerRunServiceHandler
	tracked  *tracked.Service // may be nil
	uses     artifactlink.Uses
	webhooks *webhook.Callbacks
}

func (h *handlers) mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(workflowconnect.NewRunServiceHandler(h.run, options))
	r.Handle(workflowconnect.NewInternalRunServiceHandler(h.internal, options))
	r.Handle(taskconnect.NewTaskServiceHandler(h.tasks, options))
	r.Handle(projectconnect.NewProjectServiceHandler(h.projects, options))
	r.Handle(orgconnect.NewDomainServiceHandler(h.domains, options))
	r.Handle(settingsconnect.NewSettingsServiceHandler(h.settings, options))
	r.Handle(imagebuilderconnect.NewImageServiceHandler(h.images, options))
	r.Handle(enginev1connect.NewEngineServiceHandler(h.engine, options))
	r.Handle(enginev1connect.NewActionStateServiceHandler(h.states, options))
	r.Handle(insightv1connect.NewInsightServiceHandler(h.insight, options))
	r.Handle(insightv1connect.NewProblemServiceHandler(h.problems, options))
	r.Handle(insightv1connect.NewTaskHealthServiceHandler(h.overRuns.tasks, options))
	r.Handle(insightv1connect.NewCacheInsightServiceHandler(h.overRuns.cache, options))
	r.Handle(insightv1connect.NewCostServiceHandler(h.overRuns.costs, options))
	r.Handle(insightv1connect.NewRunQueryServiceHandler(h.queries, options))
	r.Handle(insightv1connect.NewStarServiceHandler(h.stars, options))
	r.Handle(insightv1connect.NewViewServiceHandler(h.views, options))
	r.Handle(insightv1connect.NewConditionServiceHandler(h.asked, options))
	r.Handle(enginev1connect.NewTriggerRunServiceHandler(h.started, options))
	r.Handle(enginev1connect.NewArtifactUseServiceHandler(h.uses, options))
	r.Handle(webhook.Path, h.webhooks)
	if h.tracked != nil {
		h.tracked.Mount(r)
	}
}
