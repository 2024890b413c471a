package launch

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	defaultPreview = 100
	maxPreview     = 1000
)

// The reasons why an action's result is not reused.
const (
	reasonRequested = "must run again: requested"
	reasonBelow     = "an action below must run again"
	reasonGone      = "outputs are gone"
	reasonTraced    = "the action that made it must run again: requested"
)

// PreviewReader reads the actions of a run, parents first; lists.Reader does.
type PreviewReader interface {
	EachAction(ctx context.Context, runID int64, fn func(*lists.PreviewedAction) error) error
	Spec(ctx context.Context, digest []byte) ([]byte, error)
}

// Previewer predicts what a recovery of a run would reuse. Both fields are required.
type Previewer struct {
	Actions    PreviewReader
	Recoveries *Recoveries
}

// PreviewRecovery implements insightv1connect.InsightServiceHandler: it returns what a recovery of the run would
// reuse, if its task made the same calls again. The totals cover the whole run; it checks for outputs only for the
// actions of the page.
func (v *Previewer) PreviewRecovery(ctx context.Context, request *insightv1.PreviewRecoveryRequest) (*insightv1.PreviewRecoveryResponse, error) {
	limit := int64(request.GetLimit())
	switch {
	case limit == 0:
		limit = defaultPreview
	case limit > maxPreview:
		return nil, rpc.InvalidArgument("limit", "must be at most %d, got %d", maxPreview, limit)
	}
	// The token is how many actions the pages before had. Actions of a run are never deleted one by one, so the number stays right.
	skip, err := listquery.Number(request.GetToken())
	if err != nil {
		return nil, err
	}
	run := ident.RunOf(request.GetRunId())
	source, err := v.Recoveries.from(ctx, run, notCreated, request.GetForceRerunActions())
	if err != nil {
		return nil, err
	}
	if source == nil {
		return nil, rpc.NotFound("run %s does not exist", run)
	}
	p := preview{recovery: source, skip: skip, limit: limit, above: map[string]string{}, response: &insightv1.PreviewRecoveryResponse{}}
	if err := v.Actions.EachAction(ctx, source.sources[0].runID, p.add); err != nil {
		return nil, err
	}
	if p.seen > skip+limit {
		p.response.Token = listquery.NumberToken(skip + limit)
	}
	return p.response, v.lookForOutputs(ctx, &p)
}

// preview walks the actions of a run, parents first.
type preview struct {
	recovery    *recovery
	skip, limit int64
	seen        int64
	above       map[string]string        // by action: the reused action whose result represents it too
	page        []*lists.PreviewedAction // those of the response
	response    *insightv1.PreviewRecoveryResponse
}

func (p *preview) add(a *lists.PreviewedAction) error {
	planned := &insightv1.PlannedAction{Name: a.Name, Phase: common.ActionPhase(a.Phase), Reason: p.reason(a)}
	planned.Reused = planned.GetReason() == ""
	var covered string
	if a.ParentName != nil {
		covered = p.above[*a.ParentName]
	}
	switch {
	case planned.GetReused():
		p.response.Reused++
		p.above[a.Name] = cmp.Or(covered, a.Name)
	case covered != "":
		p.above[a.Name] = covered
		planned.Reason += "; not needed, since " + covered + " is reused"
	default:
		p.response.Rerun++
	}
	if p.seen >= p.skip && int64(len(p.response.GetActions())) < p.limit {
		p.response.Actions = append(p.response.Actions, planned)
		p.page = append(p.page, a)
	}
	p.seen++
	return nil
}

// reason says why an action's own result would not be reused; empty when it would.
func (p *preview) reason(a *lists.PreviewedAction) string {
	trace := workflow.ActionType(a.ActionType) == workflow.ActionType_ACTION_TYPE_TRACE
	switch {
	case p.recovery.listed[a.Name]:
		return reasonRequested
	case trace && a.ParentName != nil && p.recovery.listed[*a.ParentName]:
		return reasonTraced
	case !good(a.Phase):
		return phaseWords(a.Phase)
	case p.recovery.again[a.Name]:
		return reasonBelow
	case trace && a.OutputURI == "":
		return "it has no outputs"
	}
	return ""
}

// phaseWords is a phase as people read it, such as "Timed out".
func phaseWords(phase state.Phase) string {
	words := strings.ReplaceAll(strings.ToLower(state.Name(phase)), "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// lookForOutputs corrects the page for actions whose outputs are gone. A task without outputs may have written none.
func (v *Previewer) lookForOutputs(ctx context.Context, p *preview) error {
	gone := make([]bool, len(p.page))
	looks, looking := errgroup.WithContext(ctx)
	looks.SetLimit(tracesAtOnce)
	for i, a := range p.page {
		uri := protomap.OutputsURI(&schema.Action{ActionType: a.ActionType, Phase: a.Phase, OutputURI: a.OutputURI})
		if uri == "" || !p.response.GetActions()[i].GetReused() {
			continue
		}
		looks.Go(func() error {
			there, err := v.Recoveries.there(looking, uri)
			gone[i] = !there
			return err
		})
	}
	if err := looks.Wait(); err != nil {
		return err
	}
	for i, a := range p.page {
		if !gone[i] {
			continue
		}
		has, err := v.hasOutputs(ctx, a)
		if err != nil {
			return err
		}
		if has {
			planned := p.response.GetActions()[i]
			planned.Reused, planned.Reason = false, reasonGone
			p.response.Reused--
			p.response.Rerun++
		}
	}
	return nil
}

// hasOutputs reports whether a succeeded action must have outputs.
func (v *Previewer) hasOutputs(ctx context.Context, a *lists.PreviewedAction) (bool, error) {
	if workflow.ActionType(a.ActionType) != workflow.ActionType_ACTION_TYPE_TASK || len(a.SpecDigest) == 0 {
		return true, nil
	}
	body, err := v.Actions.Spec(ctx, a.SpecDigest)
	if err != nil {
		return false, err
	}
	var spec task.TaskSpec
	if err := proto.Unmarshal(body, &spec); err != nil {
		return false, rpc.DataLoss(err, "the stored spec of action %s cannot be read", a.Name)
	}
	return declaresOutputs(&spec), nil
}
