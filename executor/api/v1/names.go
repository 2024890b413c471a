package v1

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/ident"
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

const (
	maxName  = 63
	hashSize = 8
)

// Name is the name of the TaskAction of an action: `<run>-<action>-<hash>`, a DNS label. The hash covers project,
// domain and uid too, so that one namespace can hold all of them and a repeated name gets a new object.
func Name(action ident.Action, uid int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%s/%d", action.Run.Project, action.Run.Domain, action.Run.Name, action.Name, uid))
	prefix := dnsLabel(action.Run.Name+"-"+action.Name, maxName-1-hashSize)
	return prefix + "-" + hex.EncodeToString(sum[:])[:hashSize]
}

// PodName is the name of the pod of one attempt, counted from 1. There is one pod for each attempt because there is one
// name for each attempt.
func PodName(taskAction string, attempt int32) string {
	return taskAction + "-" + strconv.Itoa(int(attempt)-1)
}

// IdentityLabels are the labels that tell whose a TaskAction or a pod is.
func IdentityLabels(action ident.Action, uid int64) map[string]string {
	return map[string]string{
		LabelManaged: ManagedValue,
		LabelProject: LabelValue(action.Run.Project),
		LabelDomain:  LabelValue(action.Run.Domain),
		LabelRun:     LabelValue(action.Run.Name),
		LabelAction:  LabelValue(action.Name),
		LabelUID:     strconv.FormatInt(uid, 10),
	}
}

// LabelValue makes a valid label value of any text: foreign characters become dashes, and what is too long is cut.
func LabelValue(text string) string {
	value := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, text)
	if len(value) > maxName {
		value = value[:maxName]
	}
	return strings.Trim(value, "-._")
}

func dnsLabel(text string, limit int) string {
	label := strings.Map(func(r rune) rune {
		if isAlphanumeric(r) {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	if len(label) > limit {
		label = label[:limit]
	}
	if label = strings.Trim(label, "-"); label == "" {
		return "x"
	}
	return label
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
