package size

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// The SDK's defaults and bounds.
const (
	defaultReplicas = 2
	// leastTTL is the default of both times to live, and the least that the SDK admits.
	leastTTL = 30 * time.Second
	// maxReplicas and maxConcurrency bound what one environment may ask for.
	maxReplicas    = 1000
	maxConcurrency = 1000
	longestTTL     = 30 * 24 * time.Hour
)

// Policy is a reuse policy with all defaults filled in: 0 ≤ Min ≤ Max, Max ≥ 1, Concurrency ≥ 1.
type Policy struct {
	// Min and Max bound the workers of a pool.
	Min, Max int
	// Concurrency is how many actions one worker runs at once.
	Concurrency int
	// IdleTTL is after how long without work a pool loses all workers; ScaledownTTL after how long an idle worker goes.
	IdleTTL, ScaledownTTL time.Duration
}

// PolicyOf returns the policy of a task. What it does not say, the older description in its custom fields says, then the
// SDK's defaults.
func PolicyOf(template *core.TaskTemplate) Policy {
	given := template.GetReusePolicy()
	if given == nil {
		given = ofCustom(template.GetCustom())
	}
	p := Policy{
		Min: int(given.GetMinReplicas()), Max: int(given.GetMaxReplicas()), Concurrency: int(given.GetConcurrency()),
		IdleTTL: given.GetIdleTtl().AsDuration(), ScaledownTTL: given.GetScaledownTtl().AsDuration(),
	}
	if p.Max <= 0 {
		p.Min, p.Max = defaultReplicas, defaultReplicas
	}
	p.Max = min(p.Max, maxReplicas)
	p.Min = min(max(p.Min, 0), p.Max)
	p.Concurrency = min(max(p.Concurrency, 1), maxConcurrency)
	p.IdleTTL = min(max(p.IdleTTL, leastTTL), longestTTL)
	p.ScaledownTTL = min(max(p.ScaledownTTL, leastTTL), longestTTL)
	return p
}

// Key tells pools apart. Actions of one key share workers.
type Key struct {
	Cluster, Project, Domain string
	// Name and Version are those of the environment.
	Name, Version string
	// Run is set where each run has a pool of its own.
	Run string
}

// Compare orders keys.
func Compare(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Domain, b.Domain),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Run, b.Run))
}

// maxKeyText is the length of a text in a key, in bytes. Keys are rows of an index.
const maxKeyText = 255

// keyText returns the first text that is set. Custom fields may hold any text, so one that the database cannot index ends in its
// hash: other texts with the same beginning are other pools.
func keyText(texts ...string) string {
	text := cmp.Or(texts...)
	clean := clip.Head(text, len(text))
	if clean == text && len(text) <= maxKeyText {
		return text
	}
	hash := sha256.Sum256([]byte(text))
	return clip.Head(clean, maxKeyText-2*len(hash)-1) + "-" + hex.EncodeToString(hash[:])
}

// KeyOf returns the pool of an assigned action: that of the name and version in its reuse policy, else in the older description in
// its custom fields, else of its environment. Runs that choose an identity of their own do not share workers: what
// a worker may do is settled when its pod starts.
func KeyOf(cluster string, a *enginev1.Assignment) Key {
	template, run := a.GetTask().GetSpec().GetTaskTemplate(), a.GetRef().GetId().GetRun()
	custom := template.GetCustom().GetFields()
	key := Key{
		Cluster: cluster, Project: run.GetProject(), Domain: run.GetDomain(),
		Name: keyText(template.GetReusePolicy().GetName(), custom["name"].GetStringValue(),
			a.GetTask().GetSpec().GetEnvironment().GetName(), template.GetId().GetName()),
		Version: keyText(template.GetReusePolicy().GetVersion(), custom["version"].GetStringValue(), template.GetId().GetVersion()),
	}
	if template.GetReusePolicy().GetScope() == core.ReusePolicy_RUN || a.GetRunSpec().GetSecurityContext() != nil {
		key.Run = run.GetName()
	}
	return key
}

// ofCustom reads the description that SDKs write for older readers.
func ofCustom(custom *structpb.Struct) *core.ReusePolicy {
	spec := custom.GetFields()["spec"].GetStructValue().GetFields()
	number := func(name string) int32 { return int32(min(max(spec[name].GetNumberValue(), 0), maxReplicas)) }
	return &core.ReusePolicy{
		MinReplicas: number("min_replica_count"), MaxReplicas: number("replica_count"), Concurrency: number("parallelism"),
		IdleTtl: seconds(spec["ttl_seconds"]), ScaledownTtl: seconds(spec["scaledown_ttl_seconds"]),
	}
}

func seconds(value *structpb.Value) *durationpb.Duration {
	return durationpb.New(time.Duration(min(max(value.GetNumberValue(), 0), longestTTL.Seconds()) * float64(time.Second)))
}
