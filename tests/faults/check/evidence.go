// Package check verifies the promises of docs/promises.md after a storm. It is pure: from the evidence (database, cluster,
// the processes' own notes, object store, and the answers to clients) it computes the violations.
package check

import (
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Phases as the contract numbers them.
const (
	Queued    = 1
	Running   = 4
	Succeeded = 5
	Failed    = 6
	Aborted   = 7
	TimedOut  = 8
	Paused    = 9
	Recovered = 10
)

// Hit is the cache status of an action whose outputs are another one's.
const Hit = 2

// Populated is the cache status of an action that computed what others may reuse.
const Populated = 3

// Terminal reports whether a phase is terminal.
func Terminal(phase int32) bool {
	return phase == Succeeded || phase == Failed || phase == Aborted || phase == TimedOut || phase == Recovered
}

// rank orders phases within an attempt.
func rank(phase int32) int32 {
	switch {
	case Terminal(phase):
		return 6
	case phase == Paused:
		return 5
	default:
		return phase
	}
}

// Evidence is everything that is known after a storm.
type Evidence struct {
	Runs []Run
	// Triggers are the triggers of the storm; their runs are among Runs.
	Triggers []Trigger
	// Clusters is how many clusters run the tasks.
	Clusters int
	// TaskActions and Pods are what is left in the cluster, by name; Jobs and objects of operators count as pods.
	TaskActions, Pods []string
	// Processes are the tasks' processes that are still alive.
	Processes []int
	// Cached are the entries of the cache.
	Cached []CacheEntry
	// Memory is the server's, in bytes.
	Memory int64
	// MemoryLimit bounds Memory; 0 means no limit.
	MemoryLimit int64
	// Shown is what callers saw of tenants that they do not belong to, Visits when they might, and Asked how much each asked.
	Shown  []Shown
	Visits []Visit
	Asked  []Asked
	// Audit is the record of what callers did.
	Audit Audit
	// Clashes are moments at which more than one pod of an attempt was alive.
	Clashes []string
	// Early are attempts that were taken back from clusters that were not away.
	Early []string
	// Overlaps are attempts of one action whose pods lived in one cluster at the same time.
	Overlaps []Overlap
	// Lives is when the pods of attempts were seen alive.
	Lives map[Life]Span
	// Apps are the apps of the storm, and AppObjects what is left of them in the clusters after all were removed.
	Apps       []App
	AppObjects []string
	// Jobs are those that the connector started, and WrongCalls what was wrong with what it was sent.
	Jobs       []connector.Job
	WrongCalls []string
	// Curves are what was measured of attempts.
	Curves []Curve
}

// Curve is what was measured of an attempt.
type Curve struct {
	Action  string // with its run
	Attempt int32  // from 1
	// Attempts is how many the action has had.
	Attempts int32
	// Points are the times of its points.
	Points []time.Time
}

// Run is what is known of one run.
type Run struct {
	Name string
	// Acknowledged means that CreateRun succeeded.
	Acknowledged bool
	// Trigger is the trigger whose run it is, and Slot the slot for which it was made, as the run itself says.
	Trigger string
	Slot    time.Time
	// Born and Died are the transactions that created the run and ended its root; 0 if none has. Only of runs of triggers.
	Born, Died int64
	// Script is the script of the run.
	Script script.Node
	// Rows and Events are the database's.
	Rows   []Row
	Events []Event
	// LastSeq is the number of the last event, as the root row has it.
	LastSeq int64
	// Notes are the processes'.
	Notes []ledger.Line
	// Watched is what each watcher saw of each action, in order.
	Watched []Watcher
	// Aborts are the acknowledged aborts.
	Aborts []Abort
	// Rules say who is notified of it, Deliveries the outcome that the server reports, and Told what was received.
	Rules      []Rule
	Deliveries []Delivery
	Told       []Told
	// Published are its events as the sink of events received them, in the order of their arrival.
	Published []Published
	// Artifacts are the versions that its actions registered.
	Artifacts []Artifact
	// Users are its actions that are known to have used the artifact of the storm.
	Users []string
}

// Row is an action in the database.
type Row struct {
	ID             int64
	Name, Parent   string // Parent is empty for the root
	Kind           int16  // workflow.ActionType
	Phase          int32
	Attempt        int32
	Version        int32
	EndedAt        *time.Time
	OutputExists   bool          // the outputs of a success exist
	Foreign        bool          // its outputs are of another tenant
	Astray         bool          // its outputs are those of another attempt
	Outlived       time.Duration // how long a pod was alive after the last abort of the run and the end of the faults
	PausedChildren int           // root: the count that the row keeps
	Hold           int16         // why it is not up for admission yet
	CacheStatus    int16         // core.CatalogCacheStatus
	ErrorKind      string        // USER, SYSTEM or nothing
	ErrorMessage   string
}

// Event is an entry of the log.
type Event struct {
	Action    int64
	Seq       int64
	Attempt   int32
	Phase     int32
	Version   int32
	At        time.Time // of the transaction that recorded it
	ErrorKind string    // USER, SYSTEM or nothing
	Cluster   string    // that reported it, or that lost the attempt; empty for none
	Lost      bool      // it says that a cluster lost the attempt
}

// Overlap is two attempts of an action whose pods lived in one cluster at the same time.
type Overlap struct {
	Cluster        string
	Action         int64
	Earlier, Later int32
}

// Life is that of the pods of an attempt in a cluster.
type Life struct {
	Cluster string
	Action  int64
	Attempt int32
}

// Span is from the first to the last look at which something was there.
type Span struct{ First, Last time.Time }

// Watcher is one client that followed a run over all its streams.
type Watcher struct {
	Name string
	// Seen are the positions of each action, in the order in which they came.
	Seen map[string][]Position
	// Whole means that the watcher follows every action of the run.
	Whole bool
}

// Position is where a watcher saw an action.
type Position struct {
	Attempt int32
	Phase   int32
}

// Abort is a subtree that was aborted.
type Abort struct {
	Action string
	At     time.Time
}

// CacheEntry is one entry of the cache.
type CacheEntry struct {
	Key    string
	URI    string
	Exists bool // its outputs exist
}
