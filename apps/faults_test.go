package apps_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/apps"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// TestAStreamSurvivesTheDatabase cuts all connections to the database: notifications are lost, and streams catch up.
func TestAStreamSurvivesTheDatabase(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("before"))
	d.eventually("before", "1:1 →0")
	_, err := f.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`)
	require.NoError(t, err)
	f.create(command("after"))
	ctx, done := t.Context(), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && d.wants("after") == "nothing" {
			f.clock.Step(100 * time.Millisecond)
			<-time.After(10 * time.Millisecond)
		}
	}()
	d.eventually("after", "1:1 →0")
	<-done
}

// TestStorm changes apps from two replicas of the server at once. Afterwards each history is whole.
func TestStorm(t *testing.T) {
	f := newFixture(t, func(c *apps.Config) { c.ScaledownPeriod = time.Second })
	d := f.deployer("", false)
	const count = 3
	for i := range count {
		f.create(command(fmt.Sprintf("web-%d", i)))
		d.eventually(fmt.Sprintf("web-%d", i), "1:1 →0")
	}
	other := *f
	_, mux := f.replica()
	other.connect(mux)
	var storm sync.WaitGroup
	for n := range 6 {
		random, on := rand.New(rand.NewPCG(1, uint64(n))), []*fixture{f, &other}[n%2]
		storm.Go(func() {
			for range 20 {
				name := fmt.Sprintf("web-%d", random.IntN(count))
				var err error
				switch random.IntN(6) {
				case 0:
					_, err = on.api.Update(t.Context(), &app.UpdateRequest{App: command(name, "A", fmt.Sprint(random.IntN(3)))})
				case 1:
					stopped := command(name)
					stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
					_, err = on.api.Update(t.Context(), &app.UpdateRequest{App: stopped})
				case 2, 3:
					if a := d.of(name); a != nil {
						report := &enginev1.ObservedApp{Uid: a.GetUid(), Applied: a.GetVersion()}
						for _, r := range a.GetRevisions() {
							report.Revisions = append(report.Revisions, replicas(r.GetRevision(), int(r.GetReplicas()), random.IntN(3) > 0))
						}
						_, err = on.fleet.ReportApps(t.Context(), &enginev1.ReportAppsRequest{Apps: []*enginev1.ObservedApp{report}})
					}
				case 4:
					_, err = on.routes.WakeApp(t.Context(), &enginev1.WakeAppRequest{Uid: d.of(name).GetUid()})
				default:
					_, err = on.routes.ReportLoad(t.Context(), &enginev1.ReportLoadRequest{Gateway: fmt.Sprint(n), Apps: []*enginev1.AppLoad{
						{Uid: d.of(name).GetUid(), Window: durationpb.New(time.Second), Requests: 1},
					}})
					f.clock.Step(time.Second)
				}
				if code := connect.CodeOf(err); err != nil && code != connect.CodeAborted {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	storm.Wait()
	for i := range count {
		a := f.get(fmt.Sprintf("web-%d", i))
		events, err := f.insight.ListAppEvents(t.Context(), &insightv1.ListAppEventsRequest{AppId: a.GetMetadata().GetId(), Limit: 200})
		require.NoError(t, err)
		for j, e := range events.GetEvents() {
			require.EqualValues(t, len(events.GetEvents())-j, e.GetSeq(), "without gaps")
		}
		revisions, err := f.insight.ListRevisions(t.Context(), &insightv1.ListRevisionsRequest{AppId: a.GetMetadata().GetId(), Limit: 100})
		require.NoError(t, err)
		require.Len(t, revisions.GetRevisions(), int(a.GetMetadata().GetRevision()))
		serving := 0
		for _, r := range revisions.GetRevisions() {
			if r.GetState() == insightv1.AppRevisionState_APP_REVISION_STATE_SERVING {
				serving++
			}
		}
		require.LessOrEqual(t, serving, 1)
	}
}
