package v1

import (
	"strconv"
	"strings"
)

// Labels on TaskActions and their pods. Their values are cut and cleaned where a name does not fit; the spec has the
// names as they are.
const (
	// LabelManaged marks what is ours; informers see nothing else. Its value is ManagedValue.
	LabelManaged = "flyte.org/managed"
	LabelProject = "flyte.org/project"
	LabelDomain  = "flyte.org/domain"
	LabelRun     = "flyte.org/run"
	LabelAction  = "flyte.org/action"
	// LabelInstallation tells the objects of one installation from those of others in the same cluster.
	LabelInstallation = "flyte.org/installation"
	// LabelUID is the database id of the action, in decimal.
	LabelUID = "flyte.org/uid"

	// ManagedValue is the value of LabelManaged.
	ManagedValue = "true"
)

// maxLabelValue is what Kubernetes admits, in bytes.
const maxLabelValue = 63

// PodName is the name of the pod of one attempt, counted from 1. There is one pod for each attempt because there is one
// name for each attempt.
func PodName(taskAction string, attempt int32) string {
	return taskAction + "-" + strconv.Itoa(int(attempt)-1)
}

// LabelValue makes a valid label value of any text: foreign characters become dashes, and what is too long is cut.
func LabelValue(text string) string {
	value := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, text)
	if len(value) > maxLabelValue {
		value = value[:maxLabelValue]
	}
	return strings.Trim(value, "-._")
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
