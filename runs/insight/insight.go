// Package insight serves InsightService: questions that people have beyond the contract, such as why an action waits.
// Each question is one type in one file. Results are computed from rows and blobs on request; nothing is stored.
package insight

import (
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// Reader reads runs, actions and tasks; lists.Reader does.
type Reader interface {
	StandingReader
	ActivityReader
	HistoryReader
	FailureReader
	ChildReader
	PausedReader
	TransitionReader
	DescribedReader
	RunClusterReader
	SummaryReader
	WaitingReader
	FoldReader
	Index
}

// Deps are the dependencies of all questions. All but Tracked are required.
type Deps struct {
	Reader Reader
	// Tracked finds tracked runs by name; nil means that there are none.
	Tracked Index
	Queue   LoadReader
	Queues  *queues.Set
	Waits   *Waits
	// Placements reads why actions run on their clusters.
	Placements Placements
	// Clusters says who uses clusters and what waits for them.
	Clusters *Clusters
	Objects  actiondata.Objects
	// Inputs reads the beginnings of inputs.
	Inputs *inputpreview.Reader
	Keeper Keeper
	// Assignees reads who is asked to answer conditions.
	Assignees AssigneeReader
	Clock     clock.Clock
}

// Questions has the methods of InsightService, apart from its watch and its preview of a recovery.
type Questions struct {
	*Explainer
	*Activities
	*Histories
	*Errors
	*DataFlow
	*Paused
	*QueueLoads
	*Transitions
	*Describer
	*Searcher
	*Retention
	*Clusters
	*RunClusters
	*Summaries
	*WaitingRuns
	*Folds
}

// New puts the questions together.
func New(deps Deps) *Questions {
	waits := &RunWaits{Runs: deps.Reader, Waits: deps.Waits, Assignees: deps.Assignees, Clock: deps.Clock}
	return &Questions{
		Explainer:   &Explainer{Actions: deps.Reader, Placements: deps.Placements, Waits: deps.Waits},
		Activities:  &Activities{Runs: deps.Reader, Clock: deps.Clock},
		Histories:   &Histories{Tasks: deps.Reader, Clock: deps.Clock},
		Errors:      &Errors{Failures: deps.Reader},
		DataFlow:    &DataFlow{Actions: deps.Reader, Objects: deps.Objects},
		Paused:      &Paused{Actions: deps.Reader, Assignees: deps.Assignees},
		QueueLoads:  &QueueLoads{Reader: deps.Queue, Queues: deps.Queues},
		Transitions: &Transitions{Actions: deps.Reader},
		Describer:   &Describer{Actions: deps.Reader, Inputs: deps.Inputs},
		Searcher:    &Searcher{Index: deps.Reader, Tracked: deps.Tracked},
		Retention:   &Retention{Keeper: deps.Keeper},
		Clusters:    deps.Clusters,
		RunClusters: &RunClusters{Runs: deps.Reader, Places: deps.Clusters.Places},
		Summaries:   &Summaries{Runs: deps.Reader, Waits: waits},
		WaitingRuns: &WaitingRuns{Runs: deps.Reader, Waits: waits},
		Folds:       &Folds{Runs: deps.Reader, Clock: deps.Clock},
	}
}
