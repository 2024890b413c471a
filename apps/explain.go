package apps

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// shownTraffic is the period of the traffic that is shown; shownGone is how many deleted replicas are.
const (
	shownTraffic = 30 * time.Minute
	shownGone    = 10
)

// ExplainApp implements insightv1connect.AppInsightServiceHandler.
func (h *handler) ExplainApp(ctx context.Context, r *insightv1.ExplainAppRequest) (*insightv1.ExplainAppResponse, error) {
	a, err := h.store.Get(ctx, keyOf(r.GetAppId()))
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ExplainAppResponse{HostUrl: h.addresses.host(a.Subdomain)}
	if answer.App, err = h.message(ctx, a); err != nil {
		return nil, err
	}
	state, err := decodeState(a)
	if err != nil {
		return nil, err
	}
	now := h.clock.Now()
	answer.Serving = state.Route
	answer.Summary, answer.Advice = summary(a, state, answer.GetApp())
	answer.Wanted, answer.WantedBecause = wanted(state, answer.GetApp().GetSpec(), now)
	if answer.Replicas, err = h.replicas(ctx, a); err != nil {
		return nil, err
	}
	if answer.Traffic, err = h.traffic(ctx, a, now); err != nil {
		return nil, err
	}
	answer.Uses = usesMessage(a.Key, answer.GetApp().GetSpec())
	return answer, nil
}

// summary says in a sentence how the app is, and what to do about it. The silence of the cluster comes first: then
// nothing else that is known of the app is current.
func summary(a *store.App, state rollout.State, shown *app.App) (text, advice string) {
	conditions := shown.GetStatus().GetConditions()
	if len(conditions) == 0 {
		return "", ""
	}
	last := conditions[len(conditions)-1]
	text = last.GetMessage()
	if text == "" && last.GetDeploymentStatus() == app.Status_DEPLOYMENT_STATUS_ACTIVE {
		text = sentence.Say("revision %d serves", state.Route)
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	if state.Silent {
		return text, sentence.Say("Check that a process with target all or controller runs for cluster %s and reaches this server.", a.Cluster)
	}
	if last.GetDeploymentStatus() == app.Status_DEPLOYMENT_STATUS_ACTIVE {
		return text, ""
	}
	return text, advices[last.GetSubstate()]
}

// advices say what to do about what is wrong.
var advices = map[app.Status_Substate]string{
	app.Status_IMAGE_PULL_ERROR:   sentence.Say("Check the name of the image, and that the cluster may pull it."),
	app.Status_SECRET_MOUNT_ERROR: sentence.Say("Create the secret that the app names, in its project and domain or in a wider scope. The app then starts without another deployment."),
	app.Status_CRASH_LOOP:         sentence.Say("The app exits right after starting. Check the logs of its last replica."),
	app.Status_OOM_KILLED:         sentence.Say("Raise the memory limit of the app, or make it use less."),
	app.Status_WEBHOOK_ERROR:      sentence.Say("Ask who runs the cluster: it refuses the pod of the app."),
}

// wanted is how many replicas there should be, and why.
func wanted(state rollout.State, spec *app.Spec, now time.Time) (count uint32, because string) {
	for _, want := range state.Want {
		count += want.Replicas
	}
	scale := state.Serving.Scale
	switch {
	case state.Stopped:
		return 0, sentence.Say("the app is stopped")
	case state.Trial && state.Serving.Number != 0:
		return count, sentence.Say("revision %d is starting while revision %d serves", state.Newest, state.Serving.Number)
	case state.Trial && state.Failure != nil:
		return count, sentence.Say("revision %d does not start; its container is started again and again", state.Newest)
	case state.Trial:
		return count, sentence.Say("revision %d is starting", state.Newest)
	case state.Replicas == 0:
		return count, sentence.Say("idle for %s", inWords(scale.Calm))
	case state.Replicas == scale.Min:
		return count, sentence.Say("this is the minimum that the app declares, %d", scale.Min)
	}
	because = sentence.Say("the recent load needs that many")
	if left := state.CalmSince.Add(scale.Calm).Sub(now).Round(time.Second); left > 0 && state.Peak < state.Replicas || scale.Min == 0 {
		because = sentence.Say("it scales down after %s without more load, in %s at the earliest", inWords(scale.Calm), inWords(max(left, 0)))
	}
	if scale.Max > 0 && state.Replicas == scale.Max && spec.GetAutoscaling().GetScalingMetric() != nil {
		because += "; " + sentence.Say("this is the maximum that the app declares, %d", scale.Max)
	}
	return count, because
}

// inWords is a duration without the zeros at its end: 5m for 5m0s.
func inWords(d time.Duration) string {
	text := d.String()
	if d >= time.Minute && d%time.Minute == 0 {
		text = strings.TrimSuffix(text, "0s")
	}
	if d >= time.Hour && d%time.Hour == 0 {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// replicas are those that the cluster reports, then the last deleted ones.
func (h *handler) replicas(ctx context.Context, a *store.App) ([]*insightv1.AppReplica, error) {
	observed, err := decodeObserved(a)
	if err != nil {
		return nil, err
	}
	var shown []*insightv1.AppReplica
	here := map[string]bool{}
	for _, r := range observed.GetRevisions() {
		for _, replica := range r.GetReplicas() {
			if replica.GetPhase() != phaseEnded {
				here[replica.GetName()] = true
				shown = append(shown, replicaMessage(r.GetRevision(), replica))
			}
		}
	}
	gone, err := h.store.Gone(ctx, a.ID, shownGone)
	if err != nil {
		return nil, err
	}
	for _, row := range gone {
		replica := &enginev1.ObservedReplica{}
		if err := proto.Unmarshal(row.Replica, replica); err != nil {
			return nil, rpc.DataLoss(err, "a stored replica of app %s cannot be read", a.Name)
		}
		// The log of a replica may be stored while the cluster still reports the replica. It is shown once, as running.
		if here[row.Name] {
			continue
		}
		message := replicaMessage(uint64(row.Revision), replica) //nolint:gosec // counts from 1
		message.Gone, message.Ready = true, false
		shown = append(shown, message)
	}
	return shown, nil
}

func replicaMessage(revision uint64, r *enginev1.ObservedReplica) *insightv1.AppReplica {
	return &insightv1.AppReplica{
		Name: r.GetName(), Revision: revision, Ready: r.GetReady(), Draining: r.GetDraining(), Phase: r.GetPhase(), Reason: r.GetReason(),
		Restarts: r.GetRestarts(), StartedAt: r.GetStartedAt(), Node: r.GetNode(),
	}
}

// traffic is the recent load, with an entry for each period. Periods without requests have no row and are shown as
// zero, so that a chart has no gaps.
func (h *handler) traffic(ctx context.Context, a *store.App, now time.Time) ([]*insightv1.AppTraffic, error) {
	start := now.Truncate(period).Add(period - shownTraffic)
	found, err := h.store.Traffic(ctx, a.ID, start)
	if err != nil {
		return nil, err
	}
	known := map[time.Time]store.Period{}
	for _, p := range found {
		known[p.Start.UTC()] = p
	}
	var shown []*insightv1.AppTraffic
	for at := start; at.Before(now) || at.Equal(now); at = at.Add(period) {
		p := known[at]
		shown = append(shown, &insightv1.AppTraffic{
			Start: timestamppb.New(at), Length: durationpb.New(period), Requests: uint64(p.Requests), Errors: uint64(p.Errors), //nolint:gosec // counts
			Concurrency: p.Concurrency / period.Seconds(), P50: quantile(p.Latency, .5), P99: quantile(p.Latency, .99),
			Replicas: uint32(p.Replicas), //nolint:gosec // a count
		})
	}
	return shown, nil
}

// bounds are the upper bounds of the buckets of latencies in milliseconds; a further bucket has the rest.
var bounds = []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000}

// quantile estimates a quantile from buckets; nil without requests. What is beyond the last bound counts as the bound.
func quantile(buckets []int64, q float64) *durationpb.Duration {
	var total int64
	for _, count := range buckets {
		total += count
	}
	if total == 0 {
		return nil
	}
	// Within the bucket that has the rank, the requests are taken as evenly spread.
	rank, below := q*float64(total), 0.0
	for i, count := range buckets {
		if i >= len(bounds) {
			break
		}
		if below+float64(count) >= rank && count > 0 {
			lower := 0.0
			if i > 0 {
				lower = bounds[i-1]
			}
			ms := lower + (bounds[i]-lower)*(rank-below)/float64(count)
			return durationpb.New(time.Duration(ms * float64(time.Millisecond)))
		}
		below += float64(count)
	}
	return durationpb.New(time.Duration(bounds[len(bounds)-1]) * time.Millisecond)
}
