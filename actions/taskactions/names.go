package taskactions

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
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

// IdentityLabels are the labels that identify the action of a TaskAction or a pod.
func IdentityLabels(action ident.Action, uid int64) map[string]string {
	return map[string]string{
		v1.LabelManaged: v1.ManagedValue,
		v1.LabelProject: v1.LabelValue(action.Run.Project),
		v1.LabelDomain:  v1.LabelValue(action.Run.Domain),
		v1.LabelRun:     v1.LabelValue(action.Run.Name),
		v1.LabelAction:  v1.LabelValue(action.Name),
		v1.LabelShard:   strconv.Itoa(action.Run.Shard()),
		v1.LabelUID:     strconv.FormatInt(uid, 10),
	}
}

func dnsLabel(text string, limit int) string {
	label := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
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
