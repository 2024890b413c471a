package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The prefixes of fields that are labels.
const (
	partitionPrefix = "partition."
	metadataPrefix  = "user_metadata."
)

// versionFields are the fields of ListArtifacts other than labels and the name. order has the columns that the pages follow.
func versionFields(order string) listquery.Schema {
	id := order + "id"
	if order == "l." {
		id = "l.version_id"
	}
	return listquery.Schema{
		Fields: map[string]listquery.Field{
			"id":                  {Expr: id, Type: listquery.BigInt},
			"created_at":          {Expr: order + "created_at", Type: listquery.Time},
			"version":             {Expr: "v.version", Type: listquery.Text, NoSort: true},
			"time_partition":      {Expr: "v.time_partition", Type: listquery.Time, Nullable: true},
			"source_run":          {Expr: "v.source_run", Type: listquery.Text, NoSort: true},
			"source_action":       {Expr: "v.source_action", Type: listquery.Text, NoSort: true},
			"source_external_ref": {Expr: "v.source_external_ref", Type: listquery.Text, NoSort: true},
		},
		ID: "id", Default: []listquery.Order{{Field: "created_at", Desc: true}},
		DefaultLimit: 50, MaxLimit: 200, Prefix: "request.",
	}
}

// nameFields are the fields by which names are filtered.
var nameFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "n.id", Type: listquery.BigInt},
		"name":       {Expr: "n.name", Type: listquery.Text, NoSort: true},
		"created_at": {Expr: "n.latest_at", Type: listquery.Time},
	},
	ID: "id", Default: []listquery.Order{{Field: "created_at", Desc: true}},
	DefaultLimit: 50, MaxLimit: 200, Prefix: "request.",
}

// Place is a project and domain.
type Place struct{ Project, Domain string }

// ListScope says which versions a list has.
type ListScope struct {
	Place
	// Name is empty for all names.
	Name string
	// LatestPerPartition leaves only the newest version of each name and partition.
	LatestPerPartition bool
}

// List reads a page of versions, newest first unless the request has another order.
//
// A filter by one value of a label reads the index of that value, which has the order of the list. So the page costs the
// same whether the value is common or rare, which the planner cannot know: it has no statistics of pairs.
func (s *Store) List(ctx context.Context, scope ListScope, request *common.ListRequest) ([]Version, string, error) {
	var b listquery.Builder
	name, found, err := s.scopeTo(ctx, &b, scope)
	if err != nil || !found {
		return nil, "", err
	}
	from, order := "artifact_versions v", "v."
	lead, err := s.rarest(ctx, scope.Place, name, leaders(name, request))
	if err != nil {
		return nil, "", err
	}
	if lead != nil {
		from = "artifact_labels l JOIN artifact_versions v ON v.id = l.version_id"
		order = "l."
		follow(&b, scope.Place, name, lead)
	}
	schema := versionFields(order)
	schema.Extra = func(b *listquery.Builder, at string, filter *common.Filter) (bool, error) {
		if filter == lead {
			return true, nil
		}
		return ofVersion(b, at, labelScope{scope.Place, name, lead != nil || name != 0 && ofOneTime(request.GetFilters())}, filter)
	}
	query, err := schema.Compile(b, []string{"artifacts", scope.Project, scope.Domain, scope.Name, fmt.Sprint(scope.LatestPerPartition)}, request)
	if err != nil {
		return nil, "", err
	}
	type keyed struct {
		Version
		keys []string
	}
	rows, err := s.pool.Query(ctx, "SELECT "+versionColumns+", "+query.Keys()+" FROM "+from+query.Tail(), query.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list artifacts: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (keyed, error) {
		var k keyed
		return k, row.Scan(append(k.targets(), &k.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list artifacts: %w", err)
	}
	page, token := listquery.Page(query, list, func(k keyed) []string { return k.keys })
	return column(page, func(k keyed) Version { return k.Version }), token, nil
}

// scopeTo adds the conditions of the scope. It returns the id of the name; 0 for all names.
func (s *Store) scopeTo(ctx context.Context, b *listquery.Builder, scope ListScope) (id int64, found bool, err error) {
	if scope.LatestPerPartition {
		b.Where("v.newest")
	}
	if scope.Name == "" {
		b.Equal("v.project", scope.Project)
		b.Equal("v.domain", scope.Domain)
		return 0, true, nil
	}
	id, err = nameID(ctx, s.pool, Name{scope.Project, scope.Domain, scope.Name}, "")
	switch {
	case isNone(err):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("list artifacts: %w", err)
	}
	b.Where("v.name_id = " + b.Arg(id, "bigint"))
	return id, true, nil
}

// leaders are the filters by exactly one value of a label, if the list has its usual order. A filter by the time partition of one name selects more than a label does, and has an index of its own.
func leaders(name int64, request *common.ListRequest) (found []*common.Filter) {
	if len(request.GetSortByFields()) > 0 || request.GetSortBy().GetKey() != "" { //nolint:staticcheck // the Python client sends this one only
		return nil
	}
	byTime := func(filter *common.Filter) bool { return filter.GetField() == "time_partition" }
	if name != 0 && slices.ContainsFunc(request.GetFilters(), byTime) {
		return nil
	}
	for _, filter := range request.GetFilters() {
		exact := filter.GetFunction() == common.Filter_EQUAL || filter.GetFunction() == common.Filter_VALUE_IN
		kind, key := labelOf(filter.GetField())
		if exact && kind != 0 && key != "" && len(filter.GetValues()) == 1 && !strings.ContainsRune(key+filter.GetValues()[0], 0) {
			found = append(found, filter)
		}
	}
	return found
}

// counted is how far the versions with a label are counted.
const counted = 2000

// rarest is the filter that the fewest versions pass, as far as they are counted; nil when there are no filters.
func (s *Store) rarest(ctx context.Context, place Place, name int64, filters []*common.Filter) (lead *common.Filter, err error) {
	if len(filters) == 1 {
		return filters[0], nil
	}
	fewest := counted + 1
	for _, filter := range filters {
		var b listquery.Builder
		follow(&b, place, name, filter)
		var n int
		err := s.pool.QueryRow(ctx, fmt.Sprintf("SELECT count(*) FROM (SELECT FROM artifact_labels l WHERE %s LIMIT %d) c", b.Conditions(), counted),
			b.Args()...).Scan(&n)
		if err != nil {
			return nil, fmt.Errorf("count labels: %w", err)
		}
		if n < fewest {
			lead, fewest = filter, n
		}
	}
	return lead, nil
}

// follow adds the conditions of the leader, for the index that has the order of lists.
func follow(b *listquery.Builder, place Place, name int64, lead *common.Filter) {
	within(b, "l.", place, name)
	kind, key := labelOf(lead.GetField())
	b.Where("l.kind = " + b.Arg(int16(kind), "smallint"))
	b.Equal("l.key", key)
	b.Equal("l.value", lead.GetValues()[0])
}

// within limits labels to a name, or to a place when the name is 0.
func within(b *listquery.Builder, alias string, place Place, name int64) {
	if name != 0 {
		b.Where(alias + "name_id = " + b.Arg(name, "bigint"))
		return
	}
	b.Equal(alias+"project", place.Project)
	b.Equal(alias+"domain", place.Domain)
}

// labelOf splits the name of a field that is a label; the kind is 0 for other fields.
func labelOf(field string) (kind LabelKind, key string) {
	if key, ok := strings.CutPrefix(field, partitionPrefix); ok {
		return LabelPartition, key
	}
	if key, ok := strings.CutPrefix(field, metadataPrefix); ok {
		return LabelMetadata, key
	}
	return 0, ""
}

// negations are functions that hold for versions without the label, as their opposites.
var negations = map[common.Filter_Function]common.Filter_Function{
	common.Filter_NOT_EQUAL: common.Filter_EQUAL, common.Filter_VALUE_NOT_IN: common.Filter_VALUE_IN, common.Filter_NOT_EXISTS: common.Filter_EXISTS,
	common.Filter_NOT_ENDS_WITH: common.Filter_ENDS_WITH,
}

// ofVersion adds the condition of a filter by a label or by the name; it reports false for other fields.
func ofVersion(b *listquery.Builder, at string, scope labelScope, filter *common.Filter) (bool, error) {
	if filter.GetField() == "name" {
		return true, withNames(b, at, scope.Place, filter)
	}
	if kind, _ := labelOf(filter.GetField()); kind != 0 {
		return true, label(b, at, scope, filter)
	}
	return false, nil
}

// labelScope is where labels are looked for.
type labelScope struct {
	Place
	name int64
	// narrow says that other filters leave few versions. The labels of each are then looked up, which a subquery for one
	// value makes sure of; the planner would rather read all labels with the value.
	narrow bool
}

// ofOneTime reports whether filters select one time partition.
func ofOneTime(filters []*common.Filter) bool {
	return slices.ContainsFunc(filters, func(filter *common.Filter) bool {
		return filter.GetField() == "time_partition" && filter.GetFunction() == common.Filter_EQUAL
	})
}

// label adds a condition on a label of each version.
func label(b *listquery.Builder, at string, scope labelScope, filter *common.Filter) error {
	kind, key := labelOf(filter.GetField())
	if key == "" || strings.ContainsRune(key, 0) {
		return rpc.InvalidArgument(at+".field", "%q does not name a partition key", filter.GetField())
	}
	function, not := filter.GetFunction(), ""
	if opposite, ok := negations[function]; ok {
		function, not = opposite, "NOT "
	}
	var value listquery.Builder
	value.Continue(b)
	value.Where("m.version_id = v.id")
	if !scope.narrow {
		within(&value, "m.", scope.Place, scope.name) // for the index of the value
	}
	value.Where("m.kind = " + value.Arg(int16(kind), "smallint"))
	value.Equal("m.key", key)
	// A label that exists is not NULL, which is what this function asks of a nullable field.
	field := listquery.Field{Expr: "m.value", Type: listquery.Text, Nullable: function == common.Filter_EXISTS}
	if scope.narrow {
		field.Expr = "(SELECT m.value FROM artifact_labels m WHERE " + value.Conditions() + ")"
		of := value
		value = listquery.Builder{}
		value.Continue(&of)
	}
	same := &common.Filter{Function: function, Field: filter.GetField(), Values: filter.GetValues()}
	if err := listquery.Compare(&value, at, field, same); err != nil {
		return err
	}
	b.TakeArgs(&value)
	if scope.narrow {
		b.Where(not + "coalesce(" + value.Conditions() + ", false)")
		return nil
	}
	b.Where(not + "EXISTS (SELECT FROM artifact_labels m WHERE " + value.Conditions() + ")")
	return nil
}

// withNames narrows a list to the names that a filter selects. There are far fewer names than versions.
func withNames(b *listquery.Builder, at string, place Place, filter *common.Filter) error {
	var names listquery.Builder
	names.Continue(b)
	names.Equal("n.project", place.Project)
	names.Equal("n.domain", place.Domain)
	if err := listquery.Compare(&names, at, nameFields.Fields["name"], filter); err != nil {
		return err
	}
	b.TakeArgs(&names)
	b.Where("v.name_id = ANY(ARRAY(SELECT n.id FROM artifact_names n WHERE " + names.Conditions() + "))")
	return nil
}
