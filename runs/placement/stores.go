package placement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// Store is a part of the object store that only some clusters reach.
type Store struct {
	// Prefix is what the URIs of its objects begin with, as "s3://east/flyte". Of several that contain an object, the longest counts.
	Prefix string `config:"prefix"`
	// Clusters are the ids of the clusters that reach it.
	Clusters []string `config:"clusters"`
	// Where are labels of further clusters that reach it, as "key=value"; a cluster needs all of them.
	Where []string `config:"where"`
	// Base makes it the base directory of runs that may go only to clusters which reach it, by their queue, their pool or a rule, and that
	// name no base directory. It must be in storage.url or in storage.extraPrefixes of the API.
	Base bool `config:"base"`
}

// Validate lists the fields that are wrong.
func (s Store) Validate() error {
	var found invalid.Fields
	found.If(!strings.HasPrefix(s.Prefix, "/") && !strings.Contains(s.Prefix, "://"), "prefix: must be a URL or an absolute path, got %q", s.Prefix)
	found.If(strings.ContainsAny(s.Prefix, " \t\n"), "prefix: must have no spaces, got %q", s.Prefix)
	found.If(len(s.Clusters) == 0 && len(s.Where) == 0, "clusters: a store requires clusters or where")
	for i, name := range s.Clusters {
		found.If(!ident.IsCluster(name), "clusters[%d]: %s, got %q", i, ident.ClusterRule, name)
	}
	for i, pair := range s.Where {
		key, _, ok := strings.Cut(pair, "=")
		found.If(!ok || key == "", "where[%d]: must be key=value, got %q", i, pair)
	}
	return found.Err()
}

// UnmarshalText reads a store in one line, as in "prefix=s3://east clusters=east;east2". It is the form of the environment and of
// overrides; lists are separated by semicolons there.
func (s *Store) UnmarshalText(text []byte) error {
	*s = Store{}
	return words(text, func(field, value string) error {
		switch field {
		case "prefix":
			s.Prefix = value
		case "clusters":
			s.Clusters = strings.Split(value, ";")
		case "where":
			s.Where = strings.Split(value, ";")
		case "base":
			base, err := strconv.ParseBool(value)
			s.Base = base
			return err //nolint:wrapcheck // it says what is wrong
		default:
			return fmt.Errorf("a store has no field %q", field)
		}
		return nil
	})
}

func (s *Store) reachedBy(c *Cluster) bool {
	return slices.Contains(s.Clusters, c.Name) || len(s.Where) > 0 && has(c.Labels, s.Where)
}

// plain is a URI in the one form in which prefixes are compared: directories as paths, without a slash at the end.
func plain(uri string) string {
	uri = strings.TrimPrefix(uri, "file://")
	if rest, ok := strings.CutPrefix(uri, "abfss://"); ok {
		uri = "abfs://" + rest
	}
	return strings.TrimRight(uri, "/")
}

// storeOf is the store that has the object of a URI; nil if every cluster reaches it.
func (p *Policy) storeOf(uri string) (of *Store) {
	uri = plain(uri)
	for i := range p.stores {
		s := &p.stores[i]
		if (uri == s.Prefix || strings.HasPrefix(uri, s.Prefix+"/")) && (of == nil || len(s.Prefix) > len(of.Prefix)) {
			of = s
		}
	}
	return of
}

// far is the first store with data of a request that a cluster does not reach; empty if it reaches all.
func (p *Policy) far(c *Cluster, r *Request) string {
	if len(p.stores) == 0 {
		return ""
	}
	for _, uri := range r.Data {
		if s := p.storeOf(uri); s != nil && !s.reachedBy(c) {
			return s.Prefix
		}
	}
	return ""
}

// farFromSome is a store with data of a request that one of the clusters does not reach; empty for none.
func (p *Policy) farFromSome(clusters []*Seat, r *Request) string {
	for _, s := range clusters {
		if far := p.far(s.Cluster, r); far != "" {
			return far
		}
	}
	return ""
}

// unfit says what keeps a cluster from ever running a request, as in "cannot reach s3://east"; empty if it can run it, now or later.
func (p *Policy) unfit(c *Cluster, r *Request) string {
	if lacked := c.lacks(r); lacked != "" {
		return sentence.Say("does not offer %s", lacked)
	}
	if far := p.far(c, r); far != "" {
		return sentence.Say("cannot reach %s", far)
	}
	if words := c.refuses(r); words != "" {
		return disallows(words)
	}
	return ""
}

// StoresOf are the prefixes of the stores that have objects, each once, in the order of the configuration. Objects that all clusters
// reach are in none.
func (p *Policy) StoresOf(uris []string) (prefixes []string) {
	found := map[*Store]bool{}
	for _, uri := range uris {
		found[p.storeOf(uri)] = true
	}
	for i := range p.stores {
		if found[&p.stores[i]] {
			prefixes = append(prefixes, p.stores[i].Prefix)
		}
	}
	return prefixes
}

// Divided reports whether there are stores that not all clusters reach.
func (p *Policy) Divided() bool { return len(p.stores) > 0 }

// Base is the base directory of a run that names none: the first store for that purpose which every cluster reaches that the run may go
// to. It is empty if the run may go to all clusters, or if there is no such store.
func (p *Policy) Base(r *Request, clusters []Cluster) string {
	if !slices.ContainsFunc(p.stores, func(s Store) bool { return s.Base }) {
		return ""
	}
	seats := make([]Seat, len(clusters))
	for i := range clusters {
		seats[i].Cluster = &clusters[i]
	}
	wish := p.wish(r, seats)
	matching := wish.matching(seats)
	if len(matching) == 0 && wish.cluster != "" {
		matching = []*Seat{{Cluster: &Cluster{Name: wish.cluster}}}
	}
	if wish.from == "" || wish.pool == anyPool || len(matching) == 0 {
		return ""
	}
	for i := range p.stores {
		s := &p.stores[i]
		if s.Base && !slices.ContainsFunc(matching, func(m *Seat) bool { return !s.reachedBy(m.Cluster) }) {
			return s.Prefix
		}
	}
	return ""
}

// Stores are the prefixes of runs.placement.stores that a cluster reaches, in the order of the configuration.
func (p *Policy) Stores(name string, labels map[string]string) (prefixes []string) {
	cluster := &Cluster{Name: name, Labels: labels}
	for i := range p.stores {
		if p.stores[i].reachedBy(cluster) {
			prefixes = append(prefixes, p.stores[i].Prefix)
		}
	}
	return prefixes
}
