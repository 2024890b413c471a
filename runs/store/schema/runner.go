package schema

// Runner says what runs a task action. What follows from it is in one table, runners: code asks for a property, not for a
// certain runner.
type Runner int16

// The runners.
const (
	RunnerExecutor  Runner = 0 // an executor, through a TaskAction
	RunnerBuiltin   Runner = 1 // the runs service itself
	RunnerClient    Runner = 2 // a process elsewhere that only reports: the runner of tracked runs
	RunnerPool      Runner = 3 // a worker of a reusable environment
	RunnerConnector Runner = 4 // another system, through a connector
)

// properties is what follows from a runner.
type properties struct {
	admitted  bool
	onCluster bool
	hasObject bool
	inProcess bool
	explained bool
	assigned  bool
}

var runners = map[Runner]properties{
	RunnerExecutor:  {admitted: true, onCluster: true, hasObject: true, assigned: true},
	RunnerBuiltin:   {admitted: true, inProcess: true},
	RunnerClient:    {},
	RunnerPool:      {admitted: true, onCluster: true, explained: true, assigned: true},
	RunnerConnector: {admitted: true, explained: true, assigned: true},
}

// Admitted reports whether the action waits for admission before it runs. What a client runs has begun when it is reported.
func (r Runner) Admitted() bool { return runners[r].admitted }

// OnCluster reports whether the action runs on a cluster, and so takes one of the places of the installation.
func (r Runner) OnCluster() bool { return runners[r].onCluster }

// HasObject reports whether the action has a TaskAction. Its executor knows better than the clock whether an attempt started or
// ended in time, so time limits give it a grace period to report.
func (r Runner) HasObject() bool { return runners[r].hasObject }

// InProcess reports whether the runs service starts and ends the action itself.
func (r Runner) InProcess() bool { return runners[r].inProcess }

// Explained reports whether the service that runs the action says why it waits after its admission.
func (r Runner) Explained() bool { return runners[r].explained }

// Assigned reports whether another service runs the action, which gets it as an assignment.
func (r Runner) Assigned() bool { return runners[r].assigned }

// Runners lists the runners with a property.
func Runners(has func(Runner) bool) []Runner {
	var found []Runner
	for r := RunnerExecutor; r <= RunnerConnector; r++ {
		if has(r) {
			found = append(found, r)
		}
	}
	return found
}
