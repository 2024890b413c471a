package runs

import (
	"runtime"

	"go.opentelemetry.io/otel/trace"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/runs/actionstate"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/conditions"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/find"
	"github.com/flyte-binary/flyte-binary/runs/images"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/launch"
	"github.com/flyte-binary/flyte-binary/runs/precedence"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/projects"
	"github.com/flyte-binary/flyte-binary/runs/read"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/stars"
	"github.com/flyte-binary/flyte-binary/runs/store/assignees"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	rows "github.com/flyte-binary/flyte-binary/runs/store/problems"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	starred "github.com/flyte-binary/flyte-binary/runs/store/stars"
	"github.com/flyte-binary/flyte-binary/runs/store/usages"
	saved "github.com/flyte-binary/flyte-binary/runs/store/views"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/stored"
	"github.com/flyte-binary/flyte-binary/runs/tasks"
	"github.com/flyte-binary/flyte-binary/runs/usage"
	"github.com/flyte-binary/flyte-binary/runs/views"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// newHandlers wires the use cases with their dependencies.
func newHandlers(config Config, deps Deps, l *loops) *handlers {
	logger := deps.Logger.With().Str("service", "runs").Logger()
	places := projects.NewPlaces(l.projects, config.Domains)
	access := blobaccess.New(deps.Blobs)
	written := catalog.NewSettings(deps.Pool)
	resolver := settings.NewResolver(written, deps.Clock)
	calls := precedence.New(deps.Clock, precedence.NewScheduler(deps.Clock), runtime.GOMAXPROCS(0))
	types := declared.Types{Set: deps.Launch.TaskTypes, Reported: l.places.Offered}
	if deps.Peers.Connectors != nil {
		types.Connectors = deps.Peers.Connectors
	}
	limits := backlog.New(config.Backlog, l.queue, deps.Clock, l.meters.countRefused)
	launched := launch.New(launch.Config{MaxInlineInputs: config.MaxInlineInputs, InputsTimeout: config.InputsTimeout}, launch.Deps{
		Places: places, Settings: resolver, Tasks: l.tasks, Reader: l.rows, Storage: l.live, Blobs: deps.Blobs, Access: access, Writer: l.writer,
		Queues: l.queues, Cache: l.cache, Calls: calls, Types: types, Clock: deps.Clock, Pods: deps.Launch.Pods,
		Notifications: deps.Launch.Notifications,
		Backlog:       limits,
		Stored:        l.stored,
		Triggers:      deps.Peers.Triggers,
		Pools:         deps.Launch.WorkerPools,
		Clusters:      l.places,
		Asks:          &deps.Launch.Asks,
	})
	kinds := &change.Conditions{Storage: l.live, Specs: l.rows}
	signaller := &change.Signaller{Conditions: kinds, Writer: l.writer}
	reporter := &change.Reporter{Cache: l.cache, Writer: l.writer, Refused: l.meters.countReport}
	waits := &insight.Waits{Actions: l.rows, Queue: l.queue, Queues: l.queues, MaxLive: config.Admission.MaxLive, Ceiling: l.admission.Limit, Pools: deps.Peers.Workers, Connectors: deps.Peers.Connectors, Places: l.places, Asks: l.asks}
	details := &read.Details{Rows: l.rows, Waits: waits}
	streams := watch.NewStreams(config.Watch, watch.Deps{
		Hub: l.hub, Reader: watches.NewReader(deps.Pool), Details: details, Clock: deps.Clock,
	})
	assignments := dispatch.NewAssignments(config.Assignments, dispatch.Deps{
		Reader: l.live, Feed: l.feed, Precedence: calls, Clock: deps.Clock, Logger: logger, Waits: l.meters.waits, Tracer: tracer(deps.Tracer),
	})
	used, placed := usages.New(deps.Pool), worklists.NewPlacementReader(deps.Pool)
	asked := assignees.New(deps.Pool)
	return &handlers{
		started: launched.Creator,
		run: runHandler{
			Creator:   launched.Creator,
			Aborter:   &change.Aborter{Writer: l.writer},
			Signaller: signaller,
			Lists:     &read.Lists{Rows: l.lists},
			Details:   details,
			Data:      &read.Data{Rows: l.rows, Objects: deps.Blobs, MaxInline: config.MaxInlineData},
			Streams:   streams,
		},
		internal: internalHandler{
			Recorder: launched.Recorder,
			Reporter: reporter,
			Updater:  &change.Updater{Cache: l.cache, Conditions: kinds, Writer: l.writer},
		},
		states: &actionstate.Handler{States: catalog.NewActionStates(deps.Pool), Clock: deps.Clock},
		engine: engineHandler{tracked: l.tracked, Handler: &dispatch.Handler{Assignments: assignments, Storage: l.live}, Reporter: reporter, Recorder: &usage.Recorder{Store: used}, Streams: streams, Viewer: &backlog.Viewer{Backlog: limits}, Uploads: &stored.Uploads{Guard: l.stored}},
		insight: insightHandler{
			tracked: l.tracked,
			Questions: insight.New(insight.Deps{
				Reader: l.lists, Tracked: l.trackedIndex(), Queue: l.queue, Queues: l.queues, Waits: waits, Objects: deps.Blobs,
				Inputs:     inputpreview.NewReader(deps.Blobs),
				Placements: placed, Clusters: &insight.Clusters{Reader: placed, Asks: l.asks, Places: l.places},
				Assignees: asked, Keeper: l.retention, Clock: deps.Clock,
			}),
			Viewer:    &usage.Viewer{Store: used},
			Previewer: launched.Previewer,
			Streams:   streams,
		},
		tasks: tasks.New(tasks.Deps{
			Places: places, Access: access, Writer: catalog.NewTaskWriter(deps.Pool), Reader: l.tasks, Types: types, Clock: deps.Clock,
			Pods: podsOf(deps, l), Triggers: deps.Peers.TaskTriggers,
		}),
		settings: settings.NewHandler(settings.Deps{
			Store: written, Resolver: resolver, Places: places, Access: access, Queues: l.queues, Clock: deps.Clock,
		}),
		projects: projects.New(l.projects, config.Domains, deps.Clock),
		domains:  projects.Domains(config.Domains),
		images:   images.New(config.Images, catalogOf(config.Images.Builder, deps)),
		uses:     artifactlink.Uses{Reader: l.rows},
		webhooks: l.callbacks,
		tracked:  l.tracked,
		problems: &problems.Handler{Reader: rows.New(deps.Pool)},
		overRuns: newOverRuns(config, deps, l),
		queries:  newFinder(deps, l),
		stars:    &stars.Handler{Store: starred.New(deps.Pool), Clock: deps.Clock},
		views:    &views.Handler{Store: saved.New(deps.Pool), Projects: l.projects, Clock: deps.Clock},
		asked:    &conditions.Handler{Signaller: signaller, Reader: l.rows, Assignees: asked, People: deps.Peers.People, Clock: deps.Clock, Assigned: l.meters.conditions.assigned},
	}
}

// newFinder finds runs of the installation, and tracked ones if there are any.
func newFinder(deps Deps, l *loops) *find.Finder {
	f := &find.Finder{
		Runs: find.Source{Reader: queries.ReplicaReader{Replicas: deps.replicas()}, Inputs: inputpreview.NewReader(deps.Blobs)}, Clock: deps.Clock,
	}
	if l.tracked != nil {
		f.Tracked = &l.tracked.Queries
	}
	return f
}

// catalogOf is what knows the images that exist; nil for nothing.
func catalogOf(builder images.Builder, deps Deps) images.Catalog {
	switch {
	case deps.Images != nil:
		return deps.Images
	case builder.Enabled():
		return images.NewBuiltByRuns(builder, catalog.NewBuiltImages(deps.Pool), deps.Blobs)
	}
	return nil
}

func tracer(provider trace.TracerProvider) trace.Tracer {
	if provider == nil {
		return nil
	}
	return provider.Tracer("github.com/flyte-binary/flyte-binary/runs")
}

// podsOf judges the pods of tasks that are deployed; nil allows all.
func podsOf(deps Deps, l *loops) tasks.Pods {
	if deps.Launch.Pods == nil {
		return nil
	}
	return asks.Anywhere{Policies: deps.Launch.Pods, Clusters: l.places}
}
