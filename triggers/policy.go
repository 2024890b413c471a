package triggers

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The options of a trigger that the contract has no field for are annotations of its run spec.
const (
	annotationPrefix       = ident.AnnotationTrigger
	annotationCatchUp      = annotationPrefix + "catch-up"
	annotationCatchUpLimit = annotationPrefix + "catch-up-limit"
	annotationConcurrency  = annotationPrefix + "concurrency"
	annotationJitter       = annotationPrefix + "jitter"
)

// What happens to slots that were missed while nothing could fire them.
const (
	catchUpNone   = "none"
	catchUpLatest = "latest"
	catchUpAll    = "all"
)

// What happens to a slot while the run of an earlier one is unfinished.
const (
	concurrencyAllow   = "allow"
	concurrencySkip    = "skip"
	concurrencyReplace = "replace"
)

const (
	// maxCatchUp is the largest catch-up limit. All slots of one catch-up are recorded in one transaction.
	maxCatchUp = 1000
	// maxJitter is the largest jitter.
	maxJitter = time.Hour
)

// policy is what the options of a trigger say.
type policy struct {
	catchUp      string
	catchUpLimit int
	concurrency  string
	jitter       time.Duration
}

// policyOf reads the options. Those that are not set are the configuration's.
func (c Config) policyOf(annotations map[string]string) (policy, error) {
	p := policy{catchUp: c.CatchUp, catchUpLimit: c.CatchUpLimit, concurrency: concurrencyAllow}
	wrong := func(key, format string, args ...any) error {
		return rpc.InvalidArgument("spec.run_spec.annotations", "%s %s", key, fmt.Sprintf(format, args...))
	}
	// In order, so that the same mistakes have the same answer.
	keys := make([]string, 0, len(annotations))
	for key := range annotations {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value := annotations[key]
		switch key {
		case annotationCatchUp:
			if !slices.Contains([]string{catchUpNone, catchUpLatest, catchUpAll}, value) {
				return p, wrong(key, "is none, latest or all, got %q", value)
			}
			p.catchUp = value
		case annotationCatchUpLimit:
			limit, err := strconv.Atoi(value)
			if err != nil || limit < 1 || limit > maxCatchUp {
				return p, wrong(key, "is a number from 1 to %d, got %q", maxCatchUp, value)
			}
			p.catchUpLimit = limit
		case annotationConcurrency:
			if !slices.Contains([]string{concurrencyAllow, concurrencySkip, concurrencyReplace}, value) {
				return p, wrong(key, "is allow, skip or replace, got %q", value)
			}
			p.concurrency = value
		case annotationJitter:
			jitter, err := time.ParseDuration(value)
			if err != nil || jitter < 0 || jitter > maxJitter {
				return p, wrong(key, "is a duration from 0s to %s such as 30s, got %q", maxJitter, value)
			}
			p.jitter = jitter
		default:
			if strings.HasPrefix(key, annotationPrefix) {
				return p, wrong(key, "is not a trigger option; they are catch-up, catch-up-limit, concurrency and jitter")
			}
		}
	}
	return p, nil
}

// delay is how much later than its slot a trigger fires. It is the same whenever it is computed.
func (p policy) delay(trigger string, slot time.Time) time.Duration {
	if p.jitter <= 0 {
		return 0
	}
	hash := fnv.New64a()
	hash.Write([]byte(trigger))
	hash.Write(binary.BigEndian.AppendUint64(nil, uint64(slot.UnixMicro())))
	// The low bits of this hash differ more than the high ones.
	return time.Duration(hash.Sum64() % uint64(p.jitter)).Truncate(time.Microsecond) //nolint:gosec // positive
}
