package launch

import (
	"context"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// maxJudgements bounds the memory of judgements: most installations have fewer tasks in use at a time.
const maxJudgements = 4096

// judgements are those of the specs of tasks. A spec is judged once, since all actions of a task share its spec and a
// judgement walks all of it. It is safe for concurrent use.
type judgements struct {
	types  declared.Types
	recent *lru.Cache[string, judgement] // by the spec's digest
}

type judgement struct {
	notes   []protomap.Note
	refusal *declared.Refusal
}

func newJudgements(types declared.Types) *judgements {
	recent, err := lru.New[string, judgement](maxJudgements)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	return &judgements{types: types, recent: recent}
}

// of judges a task of a run. What connectors say about its type may change, so a refusal because of that is not kept.
func (j *judgements) of(ctx context.Context, run ident.Run, planned *plannedTask) (judgement, error) {
	types, err := j.types.Of(ctx, run.Project, run.Domain, planned.spec.GetTaskTemplate())
	if err != nil {
		return judgement{}, err
	}
	planned.connector = types.Connector()
	key := string(planned.digest) + planned.connector
	if known, ok := j.recent.Get(key); ok {
		return known, nil
	}
	notes, refusal := declared.Task(planned.spec, types)
	judged := judgement{notes: notes, refusal: refusal}
	if planned.connector != "" || !types.Asks(planned.spec.GetTaskTemplate()) {
		j.recent.Add(key, judged)
	}
	return judged, nil
}
