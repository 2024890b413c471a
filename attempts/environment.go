package attempts

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
)

// Variable is an environment variable.
type Variable struct{ Name, Value string }

// Environment returns the variables from which the SDK in the process knows its attempt. They win over all others. legacy adds those
// that name the run and the task as in Flyte 1, whose SDK wrote the names of a task twice.
func (a *Attempt) Environment(legacy bool) []Variable {
	run := a.Action.Run
	result := []Variable{
		{"ACTION_NAME", a.Action.Name},
		{"RUN_NAME", run.Name},
		{"FLYTE_INTERNAL_EXECUTION_PROJECT", run.Project},
		{"FLYTE_INTERNAL_EXECUTION_DOMAIN", run.Domain},
		{"FLYTE_ATTEMPT_NUMBER", strconv.Itoa(int(a.Number) - 1)},
		{"_U_RUN_BASE", a.RunOutputBase},
		{"_U_USE_ACTIONS", "1"},
	}
	if !legacy {
		return result
	}
	result = append(result, Variable{"FLYTE_INTERNAL_EXECUTION_ID", run.Name})
	for _, prefix := range []string{"FLYTE_INTERNAL_TASK_", "FLYTE_INTERNAL_"} {
		result = append(result,
			Variable{prefix + "PROJECT", a.Task.GetProject()},
			Variable{prefix + "DOMAIN", a.Task.GetDomain()},
			Variable{prefix + "NAME", a.Task.GetName()},
			Variable{prefix + "VERSION", a.Task.GetVersion()},
		)
	}
	return result
}

// RunEnvironment returns the variables of the run, which win over those of the task. Names that no environment can have are left
// out: earlier versions accepted them.
func (a *Attempt) RunEnvironment() []Variable {
	var result []Variable
	for _, variable := range a.Env {
		if variable.Name == "" || strings.ContainsFunc(variable.Name, func(r rune) bool { return r < ' ' || r > '~' || r == '=' }) {
			continue
		}
		if variable.Name == tracelink.Variable && a.Trace != "" {
			variable.Value = a.Trace
		}
		result = append(result, variable)
	}
	return result
}

// Varies reports whether a variable of Environment differs between the actions of one project and domain. A process that runs several
// must not have it before it knows which: the SDK looks at it when it is loaded.
func Varies(name string) bool {
	return slices.Contains([]string{
		"ACTION_NAME", "RUN_NAME", "FLYTE_ATTEMPT_NUMBER", "_U_RUN_BASE",
		"FLYTE_INTERNAL_EXECUTION_ID", "FLYTE_INTERNAL_TASK_NAME", "FLYTE_INTERNAL_TASK_VERSION", "FLYTE_INTERNAL_NAME", "FLYTE_INTERNAL_VERSION",
	}, name)
}
