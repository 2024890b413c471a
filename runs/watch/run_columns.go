package watch

import (
	"math"
	"strings"
	"time"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// runColumns encodes actions of one run in columns. It assigns the same string indexes as the client, and stores the
// numbers of actions that have children.
type runColumns struct {
	rootID  int64
	created time.Time         // of the run
	numbers map[string]uint32 // of parents, by name
	texts   map[string]uint32 // by text: the index that the client has given it
	next    uint32            // the index of the next text
}

// maxTexts bounds the string table. When it is full the table is cleared, and strings are sent again when they recur.
const maxTexts = 20_000

// newRunColumns returns columns for a client that already has a number of strings.
func newRunColumns(at watches.Located, texts uint32) *runColumns {
	return &runColumns{
		rootID: at.RunID, created: at.RunCreatedAt, next: texts,
		numbers: map[string]uint32{}, texts: map[string]uint32{},
	}
}

// number is an action's id relative to the root's. Ids are assigned under the lock of the run, so it is never
// negative.
func (c *runColumns) number(id int64) uint32 {
	return uint32(id - c.rootID) //nolint:gosec // fewer actions are made while a run continues
}

// unknownParents names the parents whose numbers are known neither from before nor from these actions.
func (c *runColumns) unknownParents(briefs []schema.Brief) []string {
	wanted := map[string]struct{}{}
	for i := range briefs {
		parent := briefs[i].ParentName
		if parent == nil {
			continue
		}
		if _, known := c.numbers[*parent]; !known {
			wanted[*parent] = struct{}{}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	c.learn(briefs, wanted)
	names := make([]string, 0, len(wanted))
	for name := range wanted {
		names = append(names, name)
	}
	return names
}

// learn takes the numbers of wanted parents from rows and removes these parents from the wanted ones.
func (c *runColumns) learn(briefs []schema.Brief, wanted map[string]struct{}) {
	for i := range briefs {
		if _, want := wanted[briefs[i].Name]; want {
			c.numbers[briefs[i].Name] = c.number(briefs[i].ID)
			delete(wanted, briefs[i].Name)
		}
	}
}

// message encodes some actions, whose parents are all known.
func (c *runColumns) message(briefs []schema.Brief) *insightv1.WatchRunActionsResponse {
	n := len(briefs)
	out := &insightv1.ActionColumns{
		Numbers: make([]uint32, n), Names: make([]string, n), Parents: make([]uint32, n), Groups: make([]uint32, n),
		Titles: make([]uint32, n), Types: make([]uint32, n), Phases: make([]uint32, n), Attempts: make([]uint32, n),
		Created: make([]uint32, n), Started: make([]uint32, n), Ended: make([]uint32, n), Flags: make([]uint32, n),
	}
	if c.next == 0 {
		out.Strings, c.next = []string{""}, 1
	}
	for i := range briefs {
		b := &briefs[i]
		out.Numbers[i], out.Names[i] = c.number(b.ID), b.Name
		out.Parents[i] = out.GetNumbers()[i]
		if b.ParentName != nil {
			out.Parents[i] = c.numbers[*b.ParentName]
		}
		out.Groups[i], out.Titles[i] = c.text(out, b.ActionGroup), c.text(out, title(b))
		out.Types[i], out.Phases[i] = uint32(b.ActionType), uint32(b.Phase) //nolint:gosec // enumerations
		out.Attempts[i] = uint32(max(b.Attempt, 1))
		out.Created[i] = c.offset(b.CreatedAt)
		out.Started[i], out.Ended[i] = c.offsetPlusOne(b.StartedAt), c.offsetPlusOne(b.EndedAt)
		if core.CatalogCacheStatus(b.CacheStatus) == core.CatalogCacheStatus_CACHE_HIT {
			out.Flags[i] = flagCached
		}
		if b.Cluster != "" && b.Cluster != ident.DefaultCluster {
			if out.Clusters == nil {
				out.Clusters = make([]uint32, n)
			}
			out.Clusters[i] = c.text(out, b.Cluster)
		}
	}
	return &insightv1.WatchRunActionsResponse{Part: &insightv1.WatchRunActionsResponse_Actions{Actions: out}}
}

const flagCached = 1

// title is the short name of an action: that of its task, or the name of a trace or condition. Empty means the
// action's name.
func title(b *schema.Brief) string {
	if b.ShortName != "" {
		return b.ShortName
	}
	return b.TaskName[strings.LastIndexByte(b.TaskName, '.')+1:]
}

// text is the index of a string, which is sent along when the client does not have it.
func (c *runColumns) text(out *insightv1.ActionColumns, text string) uint32 {
	if text == "" {
		return 0
	}
	if index, known := c.texts[text]; known {
		return index
	}
	if len(c.texts) >= maxTexts {
		clear(c.texts)
	}
	index := c.next
	c.texts[text] = index
	c.next++
	out.Strings = append(out.Strings, text)
	return index
}

// offset is a time in milliseconds after the run was created, clamped to the range of the column.
func (c *runColumns) offset(at time.Time) uint32 {
	return uint32(min(max(at.Sub(c.created).Milliseconds(), 0), math.MaxUint32-1))
}

func (c *runColumns) offsetPlusOne(at *time.Time) uint32 {
	if at == nil {
		return 0
	}
	return c.offset(*at) + 1
}
