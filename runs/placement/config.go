package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Config says how actions are distributed among clusters. With one cluster it has no effect.
type Config struct {
	// Rules say which clusters run what. The first rule that matches an action counts. A queue that names a cluster comes before
	// the rules, and so does the cluster_pool of a run.
	Rules []Rule `config:"rules"`
	// Spread makes children of a run independent of the cluster of their parent. By default they run there while it has room.
	Spread bool `config:"spread"`
	// Pending is how many actions each cluster gets beyond its free capacity when no cluster has room, so that it knows that more
	// machines are wanted. All others wait for the first cluster that has room. Default 10.
	Pending int `config:"pending"`
	// Stores are parts of the object store that only some clusters reach. Work whose data is in one of them goes to these clusters only.
	// All clusters reach everything else.
	Stores []Store `config:"stores"`
}

// Rule chooses clusters for the actions that match all of its conditions.
type Rule struct {
	// Projects match the actions of these projects, as "project" or "project/domain"; empty matches all.
	Projects []string `config:"projects"`
	// Queues match the actions of these queues; empty matches all.
	Queues []string `config:"queues"`
	// Labels match the runs that have all of these labels, as "key=value"; empty matches all.
	Labels []string `config:"labels"`
	// Pool is the pool whose clusters run what matches.
	Pool string `config:"pool"`
	// Cluster is the id of the one cluster that runs what matches.
	Cluster string `config:"cluster"`
	// Where are labels of the clusters that run what matches, as "key=value".
	Where []string `config:"where"`
}

// DefaultConfig has no rules.
func DefaultConfig() Config { return Config{Pending: 10} }

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Pending < 0, "pending: must not be negative, got %d", c.Pending)
	for i := range c.Rules {
		found.Section(fmt.Sprintf("rules[%d]", i), c.Rules[i].Validate())
	}
	for i := range c.Stores {
		found.Section(fmt.Sprintf("stores[%d]", i), c.Stores[i].Validate())
		found.If(slices.ContainsFunc(c.Stores[:i], func(s Store) bool { return plain(s.Prefix) == plain(c.Stores[i].Prefix) }),
			"stores[%d].prefix: %s is listed twice", i, c.Stores[i].Prefix)
	}
	return found.Err()
}

// Validate lists the fields that are wrong.
func (r Rule) Validate() error {
	var found invalid.Fields
	found.If(r.Cluster != "" && !ident.IsCluster(r.Cluster), "cluster: %s, got %q", ident.ClusterRule, r.Cluster)
	found.If(r.Cluster != "" && (r.Pool != "" || len(r.Where) > 0), "cluster: cannot be combined with pool or where")
	found.If(r.Cluster == "" && r.Pool == "" && len(r.Where) == 0, "pool: a rule requires pool, cluster or where")
	for name, list := range map[string][]string{"projects": r.Projects, "queues": r.Queues} {
		if i := slices.Index(list, ""); i >= 0 {
			found.Add("%s[%d]: must not be empty", name, i)
		}
	}
	for name, list := range map[string][]string{"labels": r.Labels, "where": r.Where} {
		for i, pair := range list {
			key, _, ok := strings.Cut(pair, "=")
			found.If(!ok || key == "", "%s[%d]: must be key=value, got %q", name, i, pair)
		}
	}
	return found.Err()
}

// UnmarshalText reads a rule in one line, as in "projects=ml;research/production pool=gpu". It is the form of the environment and
// of overrides; lists are separated by semicolons there.
func (r *Rule) UnmarshalText(text []byte) error {
	*r = Rule{}
	return words(text, func(field, value string) error {
		switch field {
		case "projects":
			r.Projects = strings.Split(value, ";")
		case "queues":
			r.Queues = strings.Split(value, ";")
		case "labels":
			r.Labels = strings.Split(value, ";")
		case "where":
			r.Where = strings.Split(value, ";")
		case "pool":
			r.Pool = value
		case "cluster":
			r.Cluster = value
		default:
			return fmt.Errorf("a rule has no field %q", field)
		}
		return nil
	})
}

// words calls set for each field=value of a line, and returns all of its errors.
func words(text []byte, set func(field, value string) error) error {
	var problems []error
	for _, word := range strings.Fields(string(text)) {
		field, value, _ := strings.Cut(word, "=")
		problems = append(problems, set(field, value))
	}
	return errors.Join(problems...)
}

func (r *Rule) matches(of *Request) bool {
	if len(r.Projects) > 0 && !slices.Contains(r.Projects, of.Project) && !slices.Contains(r.Projects, of.Project+"/"+of.Domain) {
		return false
	}
	return (len(r.Queues) == 0 || slices.Contains(r.Queues, of.Queue)) && has(of.Labels, r.Labels)
}

// has reports whether labels have all pairs.
func has(labels map[string]string, pairs []string) bool {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}
