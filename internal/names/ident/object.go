package ident

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	maxObjectName = 63
	hashSize      = 8
)

// ObjectName is the name of what runs an action elsewhere: `<run>-<action>-<hash>`, a DNS label. The hash covers project, domain and uid
// too, so that one namespace can hold all of them and a repeated name gets a new object.
func ObjectName(action Action, uid int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%s/%s/%d", action.Run.Project, action.Run.Domain, action.Run.Name, action.Name, uid))
	prefix := dnsLabel(action.Run.Name+"-"+action.Name, maxObjectName-1-hashSize)
	return prefix + "-" + hex.EncodeToString(sum[:])[:hashSize]
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
