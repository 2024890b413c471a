package triggers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

const (
	// versionBatch is how many new versions are read at once.
	versionBatch = 100
	// maxFires bounds the fires that one transaction records. The fires of one version are not split, so that there may
	// be more by those of one version.
	maxFires = 10_000
)

// versions picks up new versions of artifacts, on the replica that schedules. The events stay with the artifact service
// until the fires of all triggers that waited are recorded. Which triggers waited depends on the number of the event
// alone, so the same event again has the same fires, each of which is recorded once.
type versions struct {
	config  Config
	store   *store.Store
	planner planner
	events  enginev1connect.ArtifactEventServiceClient
	clock   clock.Clock
	logger  zerolog.Logger
	taken   func()        // there are new fires
	fresh   chan struct{} // of capacity one: there are new versions
}

// nudge makes the loop look.
func (v *versions) nudge() {
	select {
	case v.fresh <- struct{}{}:
	default: // it will look anyway
	}
}

// work picks up versions until its context ends. It logs errors and retries.
func (v *versions) work(ctx context.Context) {
	retries := backoff.New(100*time.Millisecond, v.config.Poll)
	for ctx.Err() == nil {
		pause := v.config.Poll
		more, err := v.take(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			pause = retries.Next()
			v.logger.Warn().Err(err).Dur("pause", pause).Msg("reading new artifact versions failed; retrying")
		case more:
			continue
		default:
			retries.Reset()
		}
		_ = clock.Await(ctx, v.clock, pause, v.fresh) // the loop sees the end of the context
	}
}

// take picks up a batch of versions, and reports whether there are more.
func (v *versions) take(ctx context.Context) (more bool, err error) {
	answer, err := v.events.ListArtifactEvents(ctx, &enginev1.ListArtifactEventsRequest{Limit: versionBatch})
	if err != nil || len(answer.GetEvents()) == 0 {
		return false, err
	}
	failpoint.Here("trigger.before-versions")
	var names []store.Artifact
	var seqs []int64
	for _, event := range answer.GetEvents() {
		names, seqs = append(names, artifactOf(event.GetArtifact().GetKey())), append(seqs, event.GetSeq())
	}
	found, err := v.store.Watches(ctx, names)
	if err != nil {
		return false, err
	}
	waiting := map[store.Artifact][]*decoded{}
	covers := map[*decoded]*store.Watch{}
	for _, w := range found {
		d, err := v.planner.decode(&w.Trigger)
		if err != nil {
			v.logger.Error().Err(err).Str("trigger", w.Name).Str("task", w.Task.Name).Msg("trigger not fired: it cannot be read")
			continue
		}
		name := store.Artifact{Project: w.Project, Domain: w.Domain, Name: w.Artifact}
		waiting[name], covers[d] = append(waiting[name], d), w
	}
	now := v.clock.Now()
	var fires []store.Fire
	for i, event := range answer.GetEvents() {
		for _, d := range waiting[names[i]] {
			if covers[d].Covers(event.GetSeq()) && mismatch(d.automation.GetArtifact(), event.GetArtifact().GetVersion(), event.GetPartitions()) == "" {
				fires = append(fires, d.version(event, now))
			}
		}
		if len(fires) >= maxFires {
			if err := v.record(ctx, now, fires); err != nil {
				return false, err
			}
			fires = nil
		}
	}
	if err := v.record(ctx, now, fires); err != nil {
		return false, err
	}
	failpoint.Here("trigger.after-versions")
	// After the fires are committed. A crash before this point reads the same events again, and records nothing twice.
	if _, err := v.events.RemoveArtifactEvents(ctx, &enginev1.RemoveArtifactEventsRequest{Seqs: seqs}); err != nil {
		return false, err
	}
	return len(seqs) == versionBatch, nil
}

// record records fires and wakes the scheduler, which creates their runs.
func (v *versions) record(ctx context.Context, now time.Time, fires []store.Fire) error {
	if len(fires) == 0 {
		return nil
	}
	count, err := v.store.TakeVersions(ctx, now, fires, v.config.MaxWaiting)
	if err == nil && count > 0 {
		v.taken()
	}
	return err
}

func artifactOf(key *core.ArtifactKey) store.Artifact {
	return store.Artifact{Project: key.GetProject(), Domain: key.GetDomain(), Name: key.GetName()}
}

// version is the fire for a new version.
func (d *decoded) version(event *enginev1.ArtifactEvent, now time.Time) store.Fire {
	slot, cause := event.GetCreatedAt().AsTime(), causeOf(event.GetArtifact().GetKey().GetName(), event.GetArtifact().GetVersion())
	return store.Fire{TriggerID: d.ID, Slot: slot, Cause: cause, Revision: d.Revision, RunName: runName(d.Trigger, slot, cause), RecordedAt: now}
}

// causeOf names a version in a fire. Names of artifacts have no @.
func causeOf(name, version string) string { return name + "@" + version }

// artifactVersion is the version that a fire is for; nil for a slot of a schedule.
func artifactVersion(t *store.Trigger, f *store.Fire) *core.ArtifactVersionId {
	name, version, ok := strings.Cut(f.Cause, "@")
	if !ok {
		return nil
	}
	return &core.ArtifactVersionId{Key: &core.ArtifactKey{Project: t.Project, Domain: t.Domain, Name: name}, Version: version}
}

// cause is what a fire is for, for people.
func cause(f *store.Fire) string {
	if f.Cause != "" {
		return "version " + f.Cause
	}
	return "slot " + f.Slot.Format(time.RFC3339)
}

// mismatch is why a version is not one that a trigger waits for; empty if it is.
func mismatch(wanted *task.ArtifactTrigger, version string, partitions map[string]string) string {
	if pinned := wanted.GetVersion(); pinned != "" && pinned != version {
		return fmt.Sprintf("the trigger waits for version %s only", pinned)
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.GetPartitions())) {
		value, ok := partitions[key]
		switch want := wanted.GetPartitions()[key]; {
		case !ok:
			return fmt.Sprintf("it has no partition %s, and the trigger waits for %s=%s", key, key, want)
		case value != want:
			return fmt.Sprintf("its partition %s is %s, and the trigger waits for %s", key, value, want)
		}
	}
	return ""
}

// artifactWords says which versions a trigger waits for.
func artifactWords(wanted *task.ArtifactTrigger) string {
	text := "each new version of artifact " + wanted.GetArtifactName()
	if version := wanted.GetVersion(); version != "" {
		text = fmt.Sprintf("version %s of artifact %s", version, wanted.GetArtifactName())
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(wanted.GetPartitions())) {
		parts = append(parts, key+"="+wanted.GetPartitions()[key])
	}
	if len(parts) > 0 {
		text += " with " + strings.Join(parts, ", ")
	}
	return text
}
