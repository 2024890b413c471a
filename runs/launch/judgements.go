package launch

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// maxJudgements bounds the memory of judgements: most installations have fewer tasks in use at a time.
const maxJudgements = 4096

// judgements are those of the specs of tasks. A spec is judged once, since all actions of a task share its spec and a
// judgement walks all of it. It is safe for concurrent use.
type judgements struct {
	types  tasktype.Set
	recent *lru.Cache[string, judgement] // by the spec's digest
}

type judgement struct {
	notes   []protomap.Note
	refusal *declared.Refusal
}

func newJudgements(types tasktype.Set) *judgements {
	recent, err := lru.New[string, judgement](maxJudgements)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	return &judgements{types: types, recent: recent}
}

func (j *judgements) of(planned *plannedTask) judgement {
	digest := string(planned.digest)
	if known, ok := j.recent.Get(digest); ok {
		return known
	}
	notes, refusal := declared.Task(planned.spec, j.types)
	judged := judgement{notes: notes, refusal: refusal}
	j.recent.Add(digest, judged)
	return judged
}
