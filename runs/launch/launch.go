// Package launch creates runs and records the children of actions. Once per action, it decides what follows from the
// task, the run, the configuration and the run being recovered.
package launch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/declared"
)

// Config bounds the inputs that come inline with CreateRun.
type Config struct {
	// MaxInlineInputs is their largest size in bytes.
	MaxInlineInputs int64
	// InputsTimeout bounds writing them to the object store.
	InputsTimeout time.Duration
}

// Reader reads runs and results; lists.Reader does.
type Reader interface {
	Roots
	ContextReader
	ResultReader
	PreviewReader
	CodeReader
}

// Blobs is the object store; blobstore.Store is one.
type Blobs interface {
	Inputs
	Objects
}

// Writer stores runs and actions; store.Writer does.
type Writer interface {
	RunWriter
	ActionWriter
}

// Deps are the dependencies of all use cases. All but Pods, Notifications, Triggers, Backlog and Stored are required.
type Deps struct {
	Places   Places
	Settings Settings
	Tasks    Tasks
	Reader   Reader
	Storage  Storage
	Blobs    Blobs
	Access   Access
	Writer   Writer
	Queues   Queues
	Cache    Cache
	Calls    Calls
	// Types says what runs the tasks of a type.
	Types declared.Types
	Clock clock.Clock
	// Pods judges the pods that tasks ask for; nil allows all.
	Pods Pods
	// Notifications judges the notification rules of runs; nil means that runs have none.
	Notifications Notifications
	// Triggers reads triggers; nil means that there are none.
	Triggers Triggers
	// Backlog refuses runs of projects that have too much under way; nil refuses none.
	Backlog Backlog
	// Stored refuses runs of projects that have too much in the object store; nil refuses none.
	Stored Stored
	// Pools says that workers run the tasks of reusable environments.
	Pools bool
	// Clusters are those that may run actions, and Asks reads what tasks ask of them; nil means that there is nothing to choose.
	Clusters Clusters
	Asks     *asks.Rules
}

// Parts are the use cases. They share a planner.
type Parts struct {
	Creator   *Creator
	Recorder  *Recorder
	Previewer *Previewer
}

// New puts the use cases together.
func New(config Config, deps Deps) Parts {
	recoveries := &Recoveries{Results: deps.Reader, Objects: deps.Blobs}
	code := codeAccess{access: deps.Access, tasks: deps.Tasks, specs: deps.Reader}
	planner := &Planner{
		Queues: deps.Queues, Cache: deps.Cache, Recoveries: recoveries, Clock: deps.Clock, Pools: deps.Pools,
		Clusters: deps.Clusters, Asks: deps.Asks,
		judgements: newJudgements(deps.Types),
	}
	return Parts{
		Creator: &Creator{
			Config: config, Places: deps.Places, Settings: deps.Settings, Tasks: deps.Tasks, Roots: deps.Reader, Storage: deps.Storage,
			Inputs: deps.Blobs, Access: deps.Access, Writer: deps.Writer, Planner: planner, Calls: deps.Calls, Pods: deps.Pods, code: code,
			Notifications: deps.Notifications, Triggers: deps.Triggers, Backlog: deps.Backlog, Stored: deps.Stored,
		},
		Recorder: &Recorder{
			Contexts: NewContexts(deps.Reader, recoveries, deps.Clock), Storage: deps.Storage, Objects: deps.Blobs,
			Access: deps.Access, Writer: deps.Writer, Planner: planner, code: code,
		},
		Previewer: &Previewer{Actions: deps.Reader, Recoveries: recoveries},
	}
}
