package sleep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/plugins/sleep"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// store has one object, or fails.
type store struct {
	body []byte
	err  error
}

func (s store) ReadAll(context.Context, string, int64) ([]byte, error) { return s.body, s.err }

func inputs(t *testing.T, literals ...*core.Primitive) store {
	t.Helper()
	message := &task.Inputs{}
	for _, primitive := range literals {
		message.Literals = append(message.Literals, &task.NamedLiteral{Name: "duration", Value: &core.Literal{
			Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: primitive}}},
		}})
	}
	body, err := proto.Marshal(message)
	require.NoError(t, err)
	return store{body: body}
}

func seconds(n int64) *core.Primitive {
	return &core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(time.Duration(n) * time.Second)}}
}

func attempt(made time.Time) *plugin.Attempt {
	return &plugin.Attempt{Task: &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{UID: "u", CreationTimestamp: metav1.NewTime(made)}}, Number: 1}
}

func TestSleepsAsLongAsItIsAsked(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	p := sleep.New(inputs(t, seconds(30)), clk)
	one := attempt(clk.Now())
	for _, step := range []struct {
		by    time.Duration
		phase common.ActionPhase
	}{
		{0, common.ActionPhase_ACTION_PHASE_RUNNING}, {29 * time.Second, common.ActionPhase_ACTION_PHASE_RUNNING}, {time.Second, common.ActionPhase_ACTION_PHASE_SUCCEEDED},
	} {
		clk.Step(step.by)
		state, err := p.Advance(context.Background(), one)
		require.NoError(t, err)
		require.Equal(t, step.phase, state.Phase)
	}
}

func TestRestartDoesNotBeginTheSleepAgain(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	state, err := sleep.New(inputs(t, seconds(30)), clk).Advance(context.Background(), attempt(time.Unix(980, 0)))
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, state.Recheck)
}

func TestNumbersAreSeconds(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	for _, primitive := range []*core.Primitive{
		{Value: &core.Primitive_Integer{Integer: 2}}, {Value: &core.Primitive_FloatValue{FloatValue: 2}},
	} {
		state, err := sleep.New(inputs(t, primitive), clk).Advance(context.Background(), attempt(clk.Now()))
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, state.Recheck)
	}
}

func TestWrongInputsFailWithWords(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	for words, from := range map[string]store{
		"one duration":   inputs(t, seconds(1), seconds(2)),
		"no duration":    inputs(t, &core.Primitive{Value: &core.Primitive_StringValue{StringValue: "long"}}),
		"cannot be read": {err: blobstore.ErrNotExist},
	} {
		state, err := sleep.New(from, clk).Advance(context.Background(), attempt(clk.Now()))
		require.NoError(t, err)
		require.Contains(t, state.Failure.Message, words)
	}
	_, err := sleep.New(store{err: errors.New("timeout")}, clk).Advance(context.Background(), attempt(clk.Now()))
	require.Error(t, err, "an outage of the store costs no attempt")
}
