package artifacts

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	maxPartitionKeys = 16
	// maxKey and maxValue bound partition keys and values in bytes. Indexes have both.
	maxKey   = 64
	maxValue = 512
)

// partitions are the partition values of a version.
type partitions struct {
	schema store.PartitionSchema
	labels []store.Label
	time   *time.Time
	// digest identifies the values.
	digest []byte
}

// partitionsOf checks the partition values of a spec and brings the time to the start of its partition.
func partitionsOf(spec *artifact.ArtifactSpec) (*partitions, error) {
	p := &partitions{}
	values := spec.GetPartitions().GetValue()
	if len(values) > maxPartitionKeys {
		return nil, rpc.InvalidArgument("spec.partitions", "at most %d keys are allowed, got %d", maxPartitionKeys, len(values))
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		field := fmt.Sprintf("spec.partitions.value[%q]", key)
		value, isStatic := values[key].GetValue().(*core.LabelValue_StaticValue)
		switch {
		case key == "" || len(key) > maxKey:
			return nil, rpc.InvalidArgument("spec.partitions", "a key has 1 to %d bytes, got %q", maxKey, key)
		case !isStatic:
			return nil, rpc.InvalidArgument(field, "must be a string; set a time in spec.time_partition, and bindings are not allowed in a version")
		case len(value.StaticValue) > maxValue || strings.ContainsRune(key+value.StaticValue, 0):
			return nil, rpc.InvalidArgument(field, "must be a string of at most %d bytes without NUL", maxValue)
		}
		p.schema.Keys = append(p.schema.Keys, key)
		p.labels = append(p.labels, store.Label{Kind: store.LabelPartition, Key: key, Value: value.StaticValue})
	}
	if err := p.addTime(spec); err != nil {
		return nil, err
	}
	p.digest = digest(p)
	return p, nil
}

func (p *partitions) addTime(spec *artifact.ArtifactSpec) error {
	given := spec.GetTimePartition()
	if given == nil {
		return nil
	}
	value, isTime := given.GetValue().GetValue().(*core.LabelValue_TimeValue)
	if !isTime || value.TimeValue.CheckValid() != nil {
		return rpc.InvalidArgument("spec.time_partition.value", "must be a time")
	}
	if err := checkTimeKey("spec.time_partition", given.GetKey(), given.GetGranularity(), p.schema.Keys); err != nil {
		return err
	}
	at := floor(value.TimeValue.AsTime(), given.GetGranularity())
	if at.Year() < 1 {
		return rpc.InvalidArgument("spec.time_partition.value", "must be in the year 1 or later")
	}
	p.time = &at
	p.schema.TimeKey, p.schema.Granularity = given.GetKey(), int16(given.GetGranularity()) //nolint:gosec // an enum of few values
	value.TimeValue = timestamppb.New(at)
	return nil
}

func checkTimeKey(field, key string, granularity core.Granularity, others []string) error {
	switch {
	case key == "" || len(key) > maxKey || strings.ContainsRune(key, 0):
		return rpc.InvalidArgument(field+".key", "must have 1 to %d bytes, got %q", maxKey, key)
	case slices.Contains(others, key):
		return rpc.InvalidArgument(field+".key", "%q is already a partition key", key)
	case granularity == core.Granularity_UNSET || core.Granularity_name[int32(granularity)] == "":
		return rpc.InvalidArgument(field+".granularity", "must be one of MINUTE, HOUR, DAY, WEEK and MONTH")
	}
	return nil
}

// floor is the start of the partition that has the time, in UTC. Weeks begin on Mondays.
func floor(at time.Time, granularity core.Granularity) time.Time {
	at = at.UTC()
	day := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	switch granularity {
	case core.Granularity_MINUTE:
		return at.Truncate(time.Minute)
	case core.Granularity_HOUR:
		return at.Truncate(time.Hour)
	case core.Granularity_WEEK:
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case core.Granularity_MONTH:
		return day.AddDate(0, 0, 1-day.Day())
	default:
		return day
	}
}

// digest of keys and values; each text is preceded by its length.
func digest(p *partitions) []byte {
	hash := sha256.New()
	write := func(text string) {
		hash.Write(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) //nolint:gosec // bounded above
		hash.Write([]byte(text))
	}
	for _, label := range p.labels {
		write(label.Key)
		write(label.Value)
	}
	if p.time != nil {
		write(p.schema.TimeKey)
		write(p.time.Format(time.RFC3339Nano))
	}
	// Half of the hash is enough to tell partitions of one name apart, and keeps the index small.
	return hash.Sum(nil)[:16]
}

func schemaToProto(s store.PartitionSchema) *artifact.ArtifactPartitionSchema {
	out := &artifact.ArtifactPartitionSchema{PartitionKeys: s.Keys}
	if s.TimeKey != "" {
		out.TimePartition = &artifact.TimePartitionKey{Key: s.TimeKey, Granularity: core.Granularity(s.Granularity)}
	}
	return out
}

// describe is a schema for people.
func describe(s store.PartitionSchema) string {
	var parts []string
	if s.TimeKey != "" {
		parts = append(parts, fmt.Sprintf("the time key %q by %s", s.TimeKey, strings.ToLower(core.Granularity(s.Granularity).String())))
	}
	for _, key := range s.Keys {
		parts = append(parts, fmt.Sprintf("%q", key))
	}
	if len(parts) == 0 {
		return "no partition keys"
	}
	return strings.Join(parts, ", ")
}
