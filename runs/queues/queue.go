// Package queues defines the queues of an installation and their limits. It has no access to the database: the
// store's writer and admission share it, so that both interpret a queue name in the same way.
package queues

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Default is the name of the queue for runs and actions that name none. It always exists, and has limits only if it
// is configured.
const Default = "default"

// Queue is a queue as it is configured. A limit of 0 is none.
type Queue struct {
	// Name is what RunSpec.queue and TaskAction.queue say.
	Name string `config:"name"`
	// MaxActions is how many actions of the queue may be live at once. Parents that wait for children do not count.
	MaxActions int `config:"maxActions"`
	// MaxRuns is how many runs of the queue may be live at once, from the admission of the root action to its end.
	MaxRuns int `config:"maxRuns"`
	// MaxDepth is how many actions may wait in the queue; beyond it new ones are refused with resource_exhausted.
	MaxDepth int `config:"maxDepth"`
	// Priority says which queue goes first where they compete for places of the installation; higher goes first.
	Priority int `config:"priority"`
	// MinActions is how many live actions the queue may have before priorities of queues count; 0 means 1.
	MinActions int `config:"minActions"`
	// Projects are those that may use the queue, as "project" or "project/domain"; empty means all.
	Projects []string `config:"projects"`
	// Cluster is the id of the cluster that runs the actions of the queue; empty means default. It is
	// chosen when an action is admitted: what waits in the queue follows a change, what is live stays where it runs.
	Cluster string `config:"cluster"`
}

var queueName = regexp.MustCompile(`^[A-Za-z0-9]([-._/A-Za-z0-9]*[A-Za-z0-9])?$`)

// Validate lists the fields that are wrong.
func (q Queue) Validate() error {
	var found invalid.Fields
	found.If(len(q.Name) > 63 || !queueName.MatchString(q.Name),
		"name: has 1 to 63 letters, digits and -._/ between them, got %q", q.Name)
	for _, field := range []struct {
		name  string
		value int
	}{{"maxActions", q.MaxActions}, {"maxRuns", q.MaxRuns}, {"maxDepth", q.MaxDepth}, {"minActions", q.MinActions}} {
		found.If(field.value < 0, "%s: must not be negative, got %d", field.name, field.value)
	}
	found.If(q.Priority < -1_000_000 || q.Priority > 1_000_000, "priority: must be from -1000000 to 1000000, got %d", q.Priority)
	found.If(q.MaxActions > 0 && q.MinActions > q.MaxActions,
		"minActions: must not exceed maxActions, %d, got %d", q.MaxActions, q.MinActions)
	found.If(q.Cluster != "" && !ident.IsCluster(q.Cluster), "cluster: %s, got %q", ident.ClusterRule, q.Cluster)
	if i := slices.Index(q.Projects, ""); i >= 0 {
		found.Add("projects[%d]: must not be empty", i)
	}
	return found.Err()
}

// UnmarshalText reads a queue in one line: its name, then fields, as in "gpu maxActions=4 priority=10". It is the form
// of the environment and of overrides; projects are separated by semicolons there.
func (q *Queue) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	if len(words) == 0 {
		return fmt.Errorf("a queue requires a name")
	}
	*q = Queue{Name: words[0]}
	numbers := map[string]*int{
		"maxActions": &q.MaxActions, "maxRuns": &q.MaxRuns, "maxDepth": &q.MaxDepth, "priority": &q.Priority, "minActions": &q.MinActions,
	}
	var problems []error
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		switch field {
		case "projects":
			q.Projects = strings.Split(value, ";")
			continue
		case "cluster":
			q.Cluster = value
			continue
		}
		number := numbers[field]
		if number == nil {
			problems = append(problems, fmt.Errorf("it has no field %q", field))
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s is a number, got %q", field, value))
			continue
		}
		*number = n
	}
	if len(problems) > 0 {
		words := strings.ReplaceAll(errors.Join(problems...).Error(), "\n", "; ")
		return fmt.Errorf("queue %s: %s", q.Name, words)
	}
	return nil
}

// RunsIn is the id of the cluster that runs the actions of the queue.
func (q *Queue) RunsIn() string { return cmp.Or(q.Cluster, ident.DefaultCluster) }

// Direct reports whether an action of the queue may be admitted without counting the live actions of the queue.
func (q *Queue) Direct(root bool) bool {
	return q.MaxActions == 0 && (!root || q.MaxRuns == 0)
}

// Guaranteed is how many live actions the queue may have before priorities of queues count.
func (q *Queue) Guaranteed() int { return max(1, q.MinActions) }

// Serves reports whether a project and domain may use the queue.
func (q *Queue) Serves(project, domain string) bool {
	return len(q.Projects) == 0 || slices.Contains(q.Projects, project) || slices.Contains(q.Projects, project+"/"+domain)
}

// Validate checks a list of queues and lists the fields that are wrong.
func Validate(list []Queue) error {
	var found invalid.Fields
	seen := map[string]bool{}
	for i, q := range list {
		found.Section(fmt.Sprintf("[%d]", i), q.Validate())
		found.If(seen[q.Name], "[%d].name: there are two queues %s", i, q.Name)
		seen[q.Name] = true
	}
	return found.Err()
}
