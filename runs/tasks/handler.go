// Package tasks serves TaskService: it deploys versions of tasks and reads them.
package tasks

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Places checks that a project and a domain exist; projects.Places does.
type Places interface {
	Check(ctx context.Context, field, project, domain string) (catalog.Project, error)
}

// Access decides which code a task may name; blobaccess.Rules does.
type Access interface {
	Code(field, uri string, place blobaccess.Place, handed ...string) error
}

// Writer stores versions of tasks; catalog.TaskWriter does.
type Writer interface {
	Deploy(ctx context.Context, task *catalog.Task, digest, spec []byte) error
}

// Reader reads versions of tasks; lists.Reader does.
type Reader interface {
	TaskDetails(ctx context.Context, project, domain, name, version string) (*catalog.Task, []byte, error)
	ListTasks(ctx context.Context, scope catalog.TaskScope, request *common.ListRequest) (*catalog.TaskPage, error)
	ListVersions(ctx context.Context, project, domain, name string, request *common.ListRequest) ([]catalog.ListedTask, string, error)
}

// Deps are the dependencies of the handler. All are required.
type Deps struct {
	Places Places
	Access Access
	Writer Writer
	Reader Reader
	// Types says what runs the tasks of a type.
	Types declared.Types
	Clock clock.Clock
	// Pods judges the pods that tasks ask for; nil allows all.
	Pods Pods
	// Triggers deploys the triggers of tasks; nil refuses them.
	Triggers Triggers
}

// Handler serves TaskService. Its methods are in files of their own.
type Handler struct {
	places Places
	access Access
	writer Writer
	reader Reader
	types  declared.Types
	clock  clock.Clock
	pods   Pods

	triggers Triggers
}

var _ taskconnect.TaskServiceHandler = (*Handler)(nil)

// New returns the handler.
func New(deps Deps) *Handler {
	return &Handler{
		places: deps.Places, access: deps.Access, writer: deps.Writer, reader: deps.Reader, types: deps.Types, clock: deps.Clock, pods: deps.Pods,
		triggers: deps.Triggers,
	}
}
