package mcp

import (
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// place is a project and domain.
type place struct {
	Project string `json:"project" jsonschema:"the project"`
	Domain  string `json:"domain" jsonschema:"the domain of the project, such as development"`
}

func (p place) id() *common.ProjectIdentifier {
	return &common.ProjectIdentifier{Name: p.Project, Domain: p.Domain}
}

// runName is the name of a run.
type runName struct {
	place
	Run string `json:"run" jsonschema:"the name of the run"`
}

func (r runName) id() *common.RunIdentifier {
	return &common.RunIdentifier{Project: r.Project, Domain: r.Domain, Name: r.Run}
}

func (r runName) action(name string) *common.ActionIdentifier {
	if name == "" {
		name = rootAction
	}
	return &common.ActionIdentifier{Run: r.id(), Name: name}
}

// rootAction is the action of the run's own task.
const rootAction = "a0"

// actionName is the name of an action.
type actionName struct {
	runName
	Action string `json:"action,omitempty" jsonschema:"the name of the action; the run's own task, a0, by default"`
}

func (a actionName) id() *common.ActionIdentifier { return a.action(a.Action) }

// link is where people see a run.
func (s *session) link(run *common.RunIdentifier) string {
	if s.url == "" {
		return ""
	}
	return s.url + "/v2/domain/" + run.GetDomain() + "/project/" + run.GetProject() + "/runs/" + run.GetName()
}

const phasePrefix = "ACTION_PHASE_"

// phaseName is a phase as people write it, such as timed_out.
func phaseName(phase common.ActionPhase) string {
	return strings.ToLower(strings.TrimPrefix(phase.String(), phasePrefix))
}

// phasesOf reads the names of phases.
func phasesOf(field string, names []string) ([]string, error) {
	values := make([]string, 0, len(names))
	for _, name := range names {
		value := strings.ToUpper(strings.TrimSpace(name))
		if number, known := common.ActionPhase_value[phasePrefix+value]; !known || number == 0 {
			return nil, rpc.InvalidArgument(field, "there is no phase %q; the phases are %s", name, strings.Join(phaseNames(), ", "))
		}
		values = append(values, value)
	}
	return values, nil
}

func phaseNames() []string {
	var names []string
	for _, number := range slices.Sorted(maps.Keys(common.ActionPhase_name)) {
		if number > 0 {
			names = append(names, phaseName(common.ActionPhase(number)))
		}
	}
	return names
}

// terminal reports whether a phase is the last.
func terminal(phase common.ActionPhase) bool {
	switch phase {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_ABORTED,
		common.ActionPhase_ACTION_PHASE_TIMED_OUT, common.ActionPhase_ACTION_PHASE_RECOVERED:
		return true
	default:
		return false
	}
}

// moment is a time in RFC 3339, in UTC; empty for none.
func moment(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().UTC().Format(time.RFC3339)
}

// person is who an identity is.
func person(identity *common.EnrichedIdentity) string {
	if user := identity.GetUser(); user != nil {
		for _, name := range []string{user.GetSpec().GetEmail(), user.GetSpec().GetUserHandle(), user.GetId().GetSubject()} {
			if name != "" {
				return name
			}
		}
	}
	if app := identity.GetApplication(); app != nil {
		if name := app.GetSpec().GetName(); name != "" {
			return name
		}
		return app.GetId().GetSubject()
	}
	return ""
}

// bounded is a limit of a list: what was asked for, or a default, up to a maximum.
func bounded(asked, byDefault, most int) uint32 {
	if asked <= 0 {
		asked = byDefault
	}
	return uint32(min(asked, most)) //nolint:gosec // positive and small
}

// cut shortens a text at a rune to at most n bytes, and says so.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + " … (cut)"
}
