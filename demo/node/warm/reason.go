package warm

// Reason is why a process starts cold. The values are labels of a metric, so the list is closed.
type Reason string

// The reasons.
const (
	// None is a warm start.
	None Reason = ""
	// Off: the configuration says so, or the system is not Linux.
	Off Reason = "off"
	// Command: it is not the SDK's entry point of a Python environment.
	Command Reason = "command"
	// Rights: it runs as another user, or with fewer rights than the node.
	Rights Reason = "rights"
	// Mounts: it sees other files than the node.
	Mounts Reason = "mounts"
	// Interpreter: the entry point names no interpreter that can be started in the same way.
	Interpreter Reason = "interpreter"
	// Variables: a variable that counts at an import has a value that a parent cannot have.
	Variables Reason = "variables"
	// Unfit: the environment cannot be forked from, or importing the SDK failed.
	Unfit Reason = "unfit"
	// Slow: the parent was not ready in time.
	Slow Reason = "slow"
	// Full: there are as many parents as there may be.
	Full Reason = "full"
	// Failed: the parent did not fork, or the forked process could not become the container's.
	Failed Reason = "failed"
)

// Reasons lists every reason.
func Reasons() []Reason {
	return []Reason{Off, Command, Rights, Mounts, Interpreter, Variables, Unfit, Slow, Full, Failed}
}
