package watch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// treeFilter says which actions of a run a client wants to see. The zero value passes all.
type treeFilter struct {
	phases *[phases]bool // nil: any
	names  []string      // all must be part of the name; lower case
}

// phases is the number of phase numbers, the unspecified one included.
const phases = 11

// parseTreeFilter accepts PHASE with VALUE_IN or EQUAL, by number or name, and NAME with CONTAINS_CASE_INSENSITIVE.
// All filters must match.
func parseTreeFilter(filters []*common.Filter) (treeFilter, error) {
	var out treeFilter
	for i, filter := range filters {
		field := fmt.Sprintf("filter[%d]", i)
		switch strings.ToUpper(filter.GetField()) {
		case "PHASE":
			if f := filter.GetFunction(); f != common.Filter_VALUE_IN && f != common.Filter_EQUAL {
				return treeFilter{}, rpc.InvalidArgument(field+".function", "PHASE takes VALUE_IN, not %s", f)
			}
			allowed, err := parsePhases(field+".values", filter.GetValues())
			if err != nil {
				return treeFilter{}, err
			}
			if out.phases != nil {
				for phase := range allowed {
					allowed[phase] = allowed[phase] && out.phases[phase]
				}
			}
			out.phases = allowed
		case "NAME":
			if f := filter.GetFunction(); f != common.Filter_CONTAINS_CASE_INSENSITIVE {
				return treeFilter{}, rpc.InvalidArgument(field+".function", "NAME takes CONTAINS_CASE_INSENSITIVE, not %s", f)
			}
			if len(filter.GetValues()) != 1 {
				return treeFilter{}, rpc.InvalidArgument(field+".values", "NAME takes one value, not %d", len(filter.GetValues()))
			}
			if name := strings.ToLower(filter.GetValues()[0]); name != "" {
				out.names = append(out.names, name)
			}
		default:
			return treeFilter{}, rpc.InvalidArgument(field+".field", "unknown field %q; use PHASE or NAME", filter.GetField())
		}
	}
	return out, nil
}

func parsePhases(field string, values []string) (*[phases]bool, error) {
	if len(values) == 0 {
		return nil, rpc.InvalidArgument(field, "at least one phase is required")
	}
	var allowed [phases]bool
	for _, value := range values {
		number, err := strconv.Atoi(value)
		if err != nil {
			named, known := phase.Named(strings.ToUpper(value))
			if !known {
				return nil, rpc.InvalidArgument(field, "%q is not a phase", value)
			}
			number = int(named)
		}
		if number < 0 || number >= phases {
			return nil, rpc.InvalidArgument(field, "%q is not a phase", value)
		}
		allowed[number] = true
	}
	return &allowed, nil
}

// all reports whether nothing is filtered.
func (f treeFilter) all() bool { return f.phases == nil && len(f.names) == 0 }

// named reports whether an action's name passes: the last part of its task's name, its short name, or its own name
// when it has neither.
func (f treeFilter) named(a *schema.Action) bool {
	if len(f.names) == 0 {
		return true
	}
	full := strings.ToLower(a.TaskName[strings.LastIndexByte(a.TaskName, '.')+1:])
	short := strings.ToLower(a.ShortName)
	if full == "" && short == "" {
		full = strings.ToLower(a.Name)
	}
	for _, name := range f.names {
		if !strings.Contains(full, name) && !strings.Contains(short, name) {
			return false
		}
	}
	return true
}

func (f treeFilter) phased(phase int16) bool {
	return f.phases == nil || phase >= 0 && phase < phases && f.phases[phase]
}
