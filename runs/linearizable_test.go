package runs_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// ask is what a client asks of one run. The run has room for two task children and one condition, all below the root.
type ask struct {
	run     string
	kind    askKind
	action  int   // which action; see the indexes of runModel
	content int8  // create: which request
	value   int64 // signal
}

type askKind uint8

const (
	askCreate askKind = iota
	askEnqueue
	askAbort
	askSignal
	askGet
)

// heard is the answer. unknown means that there was none: the operation may have happened, or happen later.
type heard struct {
	unknown bool
	code    connect.Code       // 0 is success
	phase   common.ActionPhase // get
	value   int64              // get, of a condition with a value
}

const (
	rootIndex      = 0
	conditionIndex = 3
	actionCount    = 4
)

var modelNames = [actionCount]string{ident.RootAction, "c1", "c2", "q1"}

// runModel is all that a client can know of such a run; the zero value is a run that does not exist. Phase 0 is an action
// that does not.
type runModel struct {
	content int8
	phase   [actionCount]common.ActionPhase
	value   int64
}

// do is the sequential specification: the state after an operation, and its answer.
func (m runModel) do(a ask) (runModel, heard) {
	switch a.kind {
	case askCreate:
		switch m.content {
		case 0:
			m.content, m.phase[rootIndex] = a.content, queued
		case a.content:
		default:
			return m, heard{code: connect.CodeAlreadyExists}
		}
		return m, heard{}
	case askEnqueue:
		switch {
		case m.content == 0:
			return m, heard{code: connect.CodeNotFound}
		case m.phase[rootIndex] == aborted:
			return m, heard{code: connect.CodeAborted}
		case m.phase[a.action] != 0: // again
		case a.action == conditionIndex:
			m.phase[a.action] = paused
		default:
			m.phase[a.action] = queued
		}
		return m, heard{}
	case askAbort:
		if m.phase[a.action] == 0 {
			return m, heard{code: connect.CodeNotFound}
		}
		for i := range m.phase {
			if (i == a.action || a.action == rootIndex) && (m.phase[i] == queued || m.phase[i] == paused) {
				m.phase[i] = aborted
			}
		}
		return m, heard{}
	case askSignal:
		switch m.phase[conditionIndex] {
		case 0:
			return m, heard{code: connect.CodeNotFound}
		case paused:
			m.phase[conditionIndex], m.value = succeeded, a.value
			return m, heard{}
		case succeeded:
			if m.value == a.value {
				return m, heard{}
			}
		}
		return m, heard{code: connect.CodeFailedPrecondition}
	default:
		if m.phase[a.action] == 0 {
			return m, heard{code: connect.CodeNotFound}
		}
		answer := heard{phase: m.phase[a.action]}
		if a.action == conditionIndex {
			answer.value = m.value
		}
		return m, answer
	}
}

// linearModel lets porcupine search for an order of the operations that explains every answer.
func linearModel() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byRun := map[string][]porcupine.Operation{}
			for _, operation := range history {
				run := operation.Input.(ask).run
				byRun[run] = append(byRun[run], operation)
			}
			parts := make([][]porcupine.Operation, 0, len(byRun))
			for _, part := range byRun {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() []any { return []any{runModel{}} },
		Step: func(state, input, output any) []any {
			before, answer := state.(runModel), output.(heard)
			after, expected := before.do(input.(ask))
			switch {
			case answer.unknown && after != before:
				return []any{before, after}
			case answer.unknown || answer == expected:
				return []any{after}
			default:
				return nil
			}
		},
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v -> %+v", input, output)
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return model.ToModel()
}

// TestHistoriesAreLinearizable lets clients of two replicas create, enqueue, abort, signal and read the same runs at
// once, some of them with short timeouts, while database connections are cut. Some order of the operations must explain
// all answers: what was acknowledged happened, what was read was true.
func TestHistoriesAreLinearizable(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	pool := pgtest.New(t, store.Migrations())
	replicas := []*writeFixture{writeFixtureOn(t, pool, nil), writeFixtureOn(t, pool, nil)}

	const clients, operations, runCount = 8, 60, 12
	began := time.Now()
	histories := make([][]porcupine.Operation, clients)
	asked := make(chan struct{}, clients*operations)
	// A separate connection, which is never cut itself.
	axe, err := pgx.ConnectConfig(t.Context(), pool.Config().ConnConfig)
	require.NoError(t, err)
	t.Cleanup(func() { _ = axe.Close(context.WithoutCancel(t.Context())) })
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(client)))
			for range operations {
				question := randomAsk(random, runCount)
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(10) == 0 {
					ctx, cancel = context.WithTimeout(t.Context(), time.Duration(random.IntN(4000))*time.Microsecond)
				}
				call := time.Since(began)
				answer := replicas[random.IntN(len(replicas))].answer(ctx, question)
				returned := time.Since(began)
				cancel()
				asked <- struct{}{}
				if answer.unknown {
					if question.kind == askGet {
						continue // it changed nothing and said nothing
					}
					returned = time.Hour // it may still happen at any later time
				}
				histories[client] = append(histories[client], porcupine.Operation{
					ClientId: client, Input: question, Output: answer, Call: int64(call), Return: int64(returned),
				})
			}
		})
	}
	wg.Go(func() {
		for cut := range 5 {
			for range clients * operations / 10 {
				<-asked
			}
			// Every other connection is cut, whatever it is doing.
			_, err := axe.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()`)
			if err != nil {
				t.Errorf("cut %d: %v", cut, err)
			}
		}
	})
	wg.Wait()

	var history []porcupine.Operation
	definite := 0
	for _, part := range histories {
		for _, operation := range part {
			if !operation.Output.(heard).unknown {
				definite++
			}
		}
		history = append(history, part...)
	}
	require.Greater(t, definite, clients*operations/2, "most operations must have been answered, or the test says little")
	result, info := porcupine.CheckOperationsVerbose(linearModel(), history, time.Minute)
	if result != porcupine.Ok {
		path := t.ArtifactDir() + "/history.html"
		_ = porcupine.VisualizePath(linearModel(), info, path)
		t.Fatalf("no order explains the answers (%s, seed %d)", result, seed)
	}
}

// TestLinearModelNoticesLies keeps the check honest: histories with a lost acknowledgement, a changed value and a
// terminal phase that was left must be refused.
func TestLinearModelNoticesLies(t *testing.T) {
	for name, answers := range map[string][]porcupine.Operation{
		"an acknowledged run is gone": {
			{Input: ask{kind: askCreate, content: 1}, Output: heard{}, Call: 0, Return: 1},
			{Input: ask{kind: askGet}, Output: heard{code: connect.CodeNotFound}, Call: 2, Return: 3},
		},
		"two contents under one name": {
			{Input: ask{kind: askCreate, content: 1}, Output: heard{}, Call: 0, Return: 1},
			{Input: ask{kind: askCreate, content: 2}, Output: heard{}, Call: 0, Return: 1},
		},
		"an aborted run is queued again": {
			{Input: ask{kind: askCreate, content: 1}, Output: heard{}, Call: 0, Return: 1},
			{Input: ask{kind: askAbort}, Output: heard{}, Call: 2, Return: 3},
			{Input: ask{kind: askGet}, Output: heard{phase: queued}, Call: 4, Return: 5},
		},
		"two signals both count": {
			{Input: ask{kind: askCreate, content: 1}, Output: heard{}, Call: 0, Return: 1},
			{Input: ask{kind: askEnqueue, action: conditionIndex}, Output: heard{}, Call: 2, Return: 3},
			{Input: ask{kind: askSignal, action: conditionIndex, value: 1}, Output: heard{}, Call: 4, Return: 5},
			{Input: ask{kind: askSignal, action: conditionIndex, value: 2}, Output: heard{}, Call: 4, Return: 5},
		},
	} {
		require.False(t, porcupine.CheckOperations(linearModel(), answers), name)
	}
}

func randomAsk(random *rand.Rand, runCount int) ask {
	question := ask{run: fmt.Sprint("r", random.IntN(runCount)), action: random.IntN(actionCount)}
	switch random.IntN(10) {
	case 0, 1:
		question.kind, question.content = askCreate, int8(1+random.IntN(2))
	case 2, 3:
		question.kind, question.action = askEnqueue, 1+random.IntN(actionCount-1)
	case 4:
		question.kind = askAbort
		if question.action == rootIndex && random.IntN(2) == 0 {
			question.action = 1 // or most runs would be over soon
		}
	case 5, 6:
		question.kind, question.action, question.value = askSignal, conditionIndex, int64(1+random.IntN(2))
	default:
		question.kind = askGet
	}
	return question
}

// answer asks a replica.
func (c *writeFixture) answer(ctx context.Context, a ask) heard {
	id := actionID(a.run, modelNames[a.action])
	switch a.kind {
	case askCreate:
		request := namedRun(a.run)
		request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec(fmt.Sprint("main", a.content))}
		_, err := c.runs.CreateRun(ctx, request)
		return hear(err)
	case askEnqueue:
		request := childTask(a.run, ident.RootAction, modelNames[a.action])
		if a.action == conditionIndex {
			request.Spec = &workflow.RecordActionRequest_Condition{Condition: &workflow.ConditionAction{
				Name: "approve", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}},
			}}
		}
		response, err := c.internal.RecordAction(ctx, request)
		if err != nil {
			return hear(err)
		}
		return hearCode(connect.Code(response.GetStatus().GetCode()))
	case askAbort:
		if a.action == rootIndex {
			_, err := c.runs.AbortRun(ctx, &workflow.AbortRunRequest{RunId: runID(a.run)})
			return hear(err)
		}
		_, err := c.runs.AbortAction(ctx, &workflow.AbortActionRequest{ActionId: id})
		return hear(err)
	case askSignal:
		_, err := c.runs.SignalEvent(ctx, &workflow.SignalEventRequest{
			ActionId: id, ParentActionName: ident.RootAction,
			Payload: &workflow.EventPayload{Value: &workflow.EventPayload_IntValue{IntValue: a.value}},
		})
		return hear(err)
	default:
		response, err := c.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
		answer := hear(err)
		if err == nil {
			details := response.GetDetails()
			answer.phase = details.GetStatus().GetPhase()
			answer.value = details.GetSignalInfo().GetOutput().GetScalar().GetPrimitive().GetInteger()
		}
		return answer
	}
}

func hear(err error) heard {
	if err == nil {
		return heard{}
	}
	return hearCode(connect.CodeOf(err))
}

func hearCode(code connect.Code) heard {
	switch code {
	case connect.CodeUnavailable, connect.CodeCanceled, connect.CodeDeadlineExceeded:
		return heard{unknown: true}
	default:
		return heard{code: code}
	}
}
