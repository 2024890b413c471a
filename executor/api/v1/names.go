package v1

import (
	"strconv"
	"strings"
)

// Labels on TaskActions and their pods. Values that do not fit are truncated and cleaned; the spec has the names
// unchanged.
const (
	// LabelManaged marks the objects of flyte-binary; informers see nothing else. Its value is ManagedValue.
	LabelManaged = "flyte.org/managed"
	LabelProject = "flyte.org/project"
	LabelDomain  = "flyte.org/domain"
	LabelRun     = "flyte.org/run"
	LabelAction  = "flyte.org/action"
	// LabelInstallation tells the objects of one installation from those of others in the same cluster.
	LabelInstallation = "flyte.org/installation"
	// LabelShard is the shard of the run, in decimal. Replicas that share a cluster watch their shards only.
	LabelShard = "flyte.org/shard"
	// LabelUID is the database id of the action, in decimal.
	LabelUID = "flyte.org/uid"
	// LabelPlacement, on TaskActions alone, is how often an attempt of the action was taken back from a cluster, in decimal; absent if
	// none was.
	LabelPlacement = "flyte.org/placement"

	// ManagedValue is the value of LabelManaged.
	ManagedValue = "true"
)

// maxLabelValue is Kubernetes' limit, in bytes.
const maxLabelValue = 63

// PodName is the name of the pod of one attempt, counted from 1. There is one pod for each attempt because there is one
// name for each attempt.
func PodName(taskAction string, attempt int32) string {
	return taskAction + "-" + strconv.Itoa(int(attempt)-1)
}

// LabelValue turns any text into a valid label value: invalid characters become dashes, and long text is truncated.
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
