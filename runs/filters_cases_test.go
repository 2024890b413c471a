package runs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// page is how many rows the console asks for.
const page = 100

func (f *filtering) cases() (cases []filterCase) {
	cases = append(cases, f.queryCases()...)
	cases = append(cases, f.listCases()...)
	cases = append(cases, f.taskCases()...)
	return append(cases, f.overviewCases()...)
}

func (f *filtering) place() *common.ProjectIdentifier {
	return &common.ProjectIdentifier{Name: f.Project, Domain: f.Domain}
}

// at is a moment of the runs, from 0 to 1.
func (f *filtering) at(share float64) time.Time {
	return f.Start.Add(time.Duration(share * float64(f.Span))).Truncate(time.Second)
}

// one is the value of a call: the first ones in turn, which may have its number.
func one(n int, values ...string) string {
	value := values[n%len(values)]
	if strings.Contains(value, "%") {
		value = fmt.Sprintf(value, n)
	}
	return value
}

// queries are queries of the language, by what they filter by.
func (f *filtering) queries() map[string][]string {
	name := storetest.VariedName
	day := func(share float64) string { return f.at(share).Format(time.DateOnly) }
	return map[string][]string{
		"text":      {"flow_%d", "nightly", "nothing-has-this"},
		"name":      {"name:a%d", "name:train", "name=" + name(f.Runs/2), "name=none", "name:none"},
		"task":      {"task=pkg.flow_%d", "task:flow_29", "task=none", "task:none"},
		"version":   {fmt.Sprintf("version:v%d", f.Runs/2/storetest.VariedVersion), "version:v1", "version:none", "version:v1,v2"},
		"phase":     {"phase:failed", "phase:timed-out", "phase:succeeded", "phase:running,queued", "phase:failed,timed-out,aborted", "-phase:succeeded", "phase:paused"},
		"is":        {"is:active", "is:paused", "is:ended", "-is:ended"},
		"source":    {"source:web", "source:cli,schedule", "source:artifact", "source:tracked"},
		"trigger":   {"trigger:trigger-0", "trigger:trigger-59", "trigger:none"},
		"error":     {"error:KeyError", "error:" + storetest.RareError, "error:nothing-has-this", `error:"column 7 of"`},
		"owner":     {"owner:user-0", "owner:user-%d", "owner:nobody", "owner:me", "owner:user-1,user-399"},
		"label":     {"label:team=t0", "label:team=t11", "label:ticket=T-998", "label:experiment=e%d", "label:env=dev", "label:team=nobody"},
		"label key": {"label:team", "label:ticket", "label:nothing"},
		"cluster":   {"cluster:east", "cluster:west", "cluster:default", "cluster:none"},
		"queue":     {"queue:gpu", "queue:none"},
		"duration":  {"duration>5m", "duration>2d", "duration<5s", "duration<1s"},
		"created":   {"created>24h", "created:" + day(0.5), "until:" + day(0.01), "since:" + day(0.4) + " until:" + day(0.5), "until:2025-01-01"},
		"started":   {"started>24h", "started<" + day(0.3), "started<2025-01-01"},
		"ended":     {"ended>24h", "ended<" + day(0.3), "ended<2025-01-01"},
		"updated":   {"updated>24h", "updated<" + day(0.3), "updated<2025-01-01"},
		"input":     {"shard:%d", "shard:none", "shard=7 phase:failed"},
		"several": {
			"owner:user-3 phase:failed", "label:team=t1 nothing-has-this", "label:team nothing-has-this", "phase:failed -label:team=t3 or owner:user-%d",
			"(phase:failed or phase:aborted) task:flow_7 duration>1h", "label:experiment=e%d phase:failed", "-label:team=t0 -source:cli", "label:env=prod owner:nobody",
			"task=pkg.flow_0 error:nothing-has-this", "trigger:trigger-0 phase:timed-out", "label:team=t2 label:experiment=e9",
		},
	}
}

// queryCases ask for runs by the query language.
func (f *filtering) queryCases() (cases []filterCase) {
	client := insightv1connect.NewRunQueryServiceClient(f.client, f.url)
	query := func(ctx context.Context, text string, order insightv1.RunOrder, token string) (string, int, error) {
		response, err := client.QueryRuns(ctx, &insightv1.QueryRunsRequest{ProjectId: f.place(), Query: text, Order: order, Limit: page, Token: token})
		return response.GetToken(), len(response.GetRuns()), err
	}
	queries := f.queries()
	for _, key := range slices.Sorted(maps.Keys(queries)) {
		filter, texts := "query: "+key, queries[key]
		deep := map[string]string{}
		cases = append(cases,
			filterCase{filter, "newest", func(ctx context.Context, n int) (asked string, found int, err error) {
				asked = one(n, texts...)
				_, found, err = query(ctx, asked, insightv1.RunOrder_RUN_ORDER_UNSPECIFIED, "")
				return asked, found, err
			}},
			filterCase{filter, "tenth page", func(ctx context.Context, n int) (asked string, found int, err error) {
				asked = one(n%len(texts), texts...)
				token, known := deep[asked]
				for range 9 {
					if !known {
						before := token
						if token, _, err = query(ctx, asked, insightv1.RunOrder_RUN_ORDER_UNSPECIFIED, token); err != nil {
							return asked, 0, err
						}
						if token == "" {
							token, known = before, true // the last page
						}
					}
				}
				deep[asked] = token
				_, found, err = query(ctx, asked, insightv1.RunOrder_RUN_ORDER_UNSPECIFIED, token)
				return asked, found, err
			}},
			filterCase{filter, "other orders", func(ctx context.Context, n int) (asked string, found int, err error) {
				asked = one(n/4, texts...)
				order := insightv1.RunOrder(1 + n%4)
				_, found, err = query(ctx, asked, order, "")
				return asked + " by " + order.String(), found, err
			}},
			filterCase{filter, "count", func(ctx context.Context, n int) (asked string, found int, err error) {
				asked = one(n, texts...)
				response, err := client.CountRuns(ctx, &insightv1.CountRunsRequest{ProjectId: f.place(), Query: asked})
				return asked, int(response.GetCount()), err
			}},
			filterCase{filter, "folded by trigger", func(ctx context.Context, n int) (asked string, found int, err error) {
				asked = one(n, texts...)
				if filter == "query: input" {
					return asked, 0, nil // cannot be folded
				}
				response, err := insightv1connect.NewInsightServiceClient(f.client, f.url).FoldRuns(ctx, &insightv1.FoldRunsRequest{ProjectId: f.place(), Query: asked})
				return asked, len(response.GetFolds()), err
			}})
	}
	return append(cases, filterCase{"query: suggested values", "all keys", func(ctx context.Context, n int) (asked string, found int, err error) {
		asked = one(n, "task", "version", "trigger", "owner", "cluster", "queue", "label")
		response, err := client.SuggestValues(ctx, &insightv1.SuggestValuesRequest{ProjectId: f.place(), Key: asked, Part: one(n/7, "", "1", "none")})
		return asked, len(response.GetValues()), err
	}})
}

func equal(field string, values ...string) []*common.Filter {
	return []*common.Filter{{Function: common.Filter_EQUAL, Field: field, Values: values}}
}

func with(function common.Filter_Function, field string, values ...string) []*common.Filter {
	return []*common.Filter{{Function: function, Field: field, Values: values}}
}

// lists are filters of the list of the contract, by what they filter by.
func (f *filtering) lists() map[string][][]*common.Filter {
	moment := func(share float64) string { return f.at(share).Format(time.RFC3339) }
	since := func(field string, share float64) []*common.Filter {
		return with(common.Filter_GREATER_THAN_OR_EQUAL, field, moment(share))
	}
	until := func(field string, share float64) []*common.Filter {
		return with(common.Filter_LESS_THAN, field, moment(share))
	}
	name, in, contains := storetest.VariedName(f.Runs/3), common.Filter_VALUE_IN, common.Filter_CONTAINS_CASE_INSENSITIVE
	times := func(field string) [][]*common.Filter {
		return [][]*common.Filter{since(field, 0.999), until(field, 0.01), append(since(field, 0.4), until(field, 0.5)...), since(field, 1.5), until(field, -1)}
	}
	return map[string][][]*common.Filter{
		"nothing":   {nil},
		"phase":     {equal("phase", "6"), equal("phase", "8"), equal("phase", "4"), with(in, "phase", "6", "8"), with(in, "phase", "1", "4"), equal("phase", "9")},
		"task":      {equal("task_name", "pkg.flow_0"), equal("task_name", "pkg.flow_299"), equal("task_name", "none")},
		"version":   {equal("task_version", "v1"), equal("task_version", "none")},
		"owner":     {equal("created_by", "user-0"), equal("created_by", "user-399"), equal("created_by", "nobody")},
		"name":      {equal("name", name), equal("name", "none")},
		"created":   times("created_at"),
		"updated":   times("updated_at"),
		"label":     {equal("labels.team", "t0"), equal("labels.team", "t11"), equal("labels.experiment", "e7"), equal("labels.team", "nobody")},
		"label key": {with(common.Filter_EXISTS, "labels.team"), with(common.Filter_EXISTS, "labels.ticket"), with(common.Filter_EXISTS, "labels.nothing")},
		"cluster":   {equal("cluster", "east"), equal("cluster", "west"), equal("cluster", "default"), equal("cluster", "none"), with(in, "cluster", "west", "none")},
		"trigger":   {equal("trigger_name", "trigger-0"), equal("trigger_name", "trigger-59"), equal("trigger_name", "none"), append(equal("trigger_name", ""), equal("trigger_task_name", "")...)},
		"relation":  {equal("related_to", name), equal("related_to", storetest.VariedName(97*9-50))},
		"several of the SDK": {
			append(equal("task_name", "pkg.flow_0"), equal("phase", "8")...), append(equal("task_name", "pkg.flow_0"), equal("phase", "9")...),
			append(equal("created_by", "user-0"), equal("phase", "8")...), append(equal("created_by", "user-0"), equal("task_name", "none")...),
			append(equal("phase", "6"), since("created_at", 0.99)...), append(equal("labels.team", "t0"), equal("created_by", "nobody")...),
			append(equal("task_name", "pkg.flow_0"), equal("task_version", "v1")...), append(equal("phase", "6"), equal("labels.experiment", "e7")...),
		},
		"a part of a name, without an index": {with(contains, "name", "nightly"), with(contains, "task_name", "flow_29"), with(contains, "name_or_task", "nothing-has-this")},
		"started, ended or duration, without an index": {
			since("started_at", 0.999), since("ended_at", 0.999), until("ended_at", 0.01), since("ended_at", 1.5), with(common.Filter_GREATER_THAN, "duration_ms", "300000"),
			with(common.Filter_GREATER_THAN, "duration_ms", "900000000"),
		},
		"other columns without an index": {
			equal("source", "4"), equal("source", "5"), equal("function_name", "none"), equal("environment_name", "none"), equal("attempts", "3"),
			with(common.Filter_NOT_EQUAL, "phase", "5"),
		},
	}
}

// listCases ask for runs by the list of the contract, as the SDK and parts of the console do.
func (f *filtering) listCases() (cases []filterCase) {
	client := workflowconnect.NewRunServiceClient(f.client, f.url)
	list := func(ctx context.Context, request *workflow.ListRunsRequest, n int, filters [][]*common.Filter, key string, direction common.Sort_Direction) (string, int, error) {
		some := filters[n%len(filters)]
		request.Request = &common.ListRequest{Limit: page, Filters: some, SortByFields: []*common.Sort{{Key: key, Direction: direction}}}
		if request.GetScopeBy() == nil {
			request.ScopeBy = &workflow.ListRunsRequest_ProjectId{ProjectId: f.place()}
		}
		response, err := client.ListRuns(ctx, request)
		return fmt.Sprint(some), len(response.GetRuns()), err
	}
	lists := f.lists()
	for _, key := range slices.Sorted(maps.Keys(lists)) {
		filter, filters := "ListRuns: "+key, lists[key]
		for _, sort := range []*common.Sort{{Key: "created_at"}, {Key: "created_at", Direction: common.Sort_ASCENDING}, {Key: "updated_at"}} {
			name := strings.TrimSuffix("by "+sort.GetKey()+" "+strings.ToLower(sort.GetDirection().String()), " descending")
			cases = append(cases, filterCase{filter, name, func(ctx context.Context, n int) (string, int, error) {
				return list(ctx, &workflow.ListRunsRequest{}, n, filters, sort.GetKey(), sort.GetDirection())
			}})
		}
	}
	for _, key := range []string{"phase", "name", "task_name", "created_by", "duration_ms"} {
		cases = append(cases, filterCase{"ListRuns: order by " + key, "both directions", func(ctx context.Context, n int) (string, int, error) {
			return list(ctx, &workflow.ListRunsRequest{}, n, [][]*common.Filter{nil}, key, common.Sort_Direction(n%2))
		}})
	}
	rare := equal("function_name", "none")
	cases = append(cases, filterCase{"ListRuns: order by duration_ms", "without an index", func(ctx context.Context, n int) (string, int, error) {
		return list(ctx, &workflow.ListRunsRequest{}, n, [][]*common.Filter{rare, equal("source", "4")}, "duration_ms", common.Sort_Direction(n%2))
	}})
	alerts := with(common.Filter_VALUE_IN, "phase", "6", "8")
	alerts = append(alerts, with(common.Filter_GREATER_THAN_OR_EQUAL, "ended_at", f.at(0.9999).Format(time.RFC3339))...)
	everywhere := [][]*common.Filter{nil, equal("phase", "6"), equal("name", storetest.VariedName(7)), append(alerts, equal("created_by", "nobody")...)}
	return append(
		cases,
		filterCase{"ListRuns: across all projects", "updated", func(ctx context.Context, n int) (string, int, error) {
			return list(ctx, &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_Org{Org: "flyte"}}, n, everywhere, "updated_at", common.Sort_DESCENDING)
		}},
		filterCase{"ListRuns: with a paused action", "newest", func(ctx context.Context, n int) (string, int, error) {
			return list(ctx, &workflow.ListRunsRequest{PausedActionsOnly: true}, n, [][]*common.Filter{nil}, "created_at", common.Sort_DESCENDING)
		}},
	)
}

// taskCases ask for tasks.
func (f *filtering) taskCases() (cases []filterCase) {
	client := insightv1connect.NewTaskHealthServiceClient(f.client, f.url)
	for number := range len(insightv1.TaskHealthOrder_name) {
		order := insightv1.TaskHealthOrder(number)
		name := strings.TrimPrefix(order.String(), "TASK_HEALTH_ORDER_")
		list := func(ctx context.Context, n int, text, token string) (string, string, int, error) {
			response, err := client.ListTaskHealth(ctx, &insightv1.ListTaskHealthRequest{
				ProjectId: f.place(), Text: text, Order: order, Ascending: n%2 == 0, Limit: page, Token: token,
			})
			return text, response.GetToken(), len(response.GetTasks()), err
		}
		cases = append(
			cases,
			filterCase{"tasks: order by " + name, "two pages", func(ctx context.Context, n int) (string, int, error) {
				_, token, _, err := list(ctx, n, "", "")
				if err != nil {
					return "", 0, err
				}
				_, _, found, err := list(ctx, n, "", token)
				return "", found, err
			}},
			filterCase{"tasks: a part of the name", name, func(ctx context.Context, n int) (string, int, error) {
				asked, _, found, err := list(ctx, n, one(n/2, "flow_%d", "FLOW", "none"), "")
				return asked, found, err
			}},
		)
	}
	deployed := taskconnect.NewTaskServiceClient(f.client, f.url)
	return append(
		cases,
		filterCase{"tasks: deployed", "by name", func(ctx context.Context, n int) (string, int, error) {
			request := &common.ListRequest{Limit: page, Filters: with(common.Filter_CONTAINS_CASE_INSENSITIVE, "name", one(n, "flow_%d", "FLOW", "none"))}
			response, err := deployed.ListTasks(ctx, &task.ListTasksRequest{Request: request, ScopeBy: &task.ListTasksRequest_ProjectId{ProjectId: f.place()}})
			return request.String(), len(response.GetTasks()), err
		}},
		filterCase{"tasks: actions of a task", "version and phases", func(ctx context.Context, n int) (string, int, error) {
			request := &insightv1.ListTaskActionsRequest{ProjectId: f.place(), Task: one(n, "pkg.flow_0", "pkg.flow_299", "none"), Version: one(n/3, "", "v1", "none"), Limit: page}
			if n%2 == 0 {
				request.Phases = []common.ActionPhase{common.ActionPhase_ACTION_PHASE_TIMED_OUT}
			}
			response, err := client.ListTaskActions(ctx, request)
			return request.String(), len(response.GetActions()), err
		}},
		filterCase{"tasks: grid of a pipeline", "30 runs", func(ctx context.Context, n int) (string, int, error) {
			request := &insightv1.GetPipelineGridRequest{ProjectId: f.place(), Task: one(n, "pkg.flow_0", "pkg.flow_299", "none")}
			response, err := client.GetPipelineGrid(ctx, request)
			return request.String(), len(response.GetRuns()), err
		}},
	)
}

// overviewCases ask for problems, for what waits, and for what has a name.
func (f *filtering) overviewCases() []filterCase {
	problems := insightv1connect.NewProblemServiceClient(f.client, f.url)
	insight := insightv1connect.NewInsightServiceClient(f.client, f.url)
	return []filterCase{
		{"problems", "task, time and order", func(ctx context.Context, n int) (string, int, error) {
			request := &insightv1.ListProblemsRequest{ProjectId: f.place(), Task: one(n, "", "pkg.flow_7", "none"), Order: insightv1.ProblemOrder(n % 3), Limit: page}
			if n%2 == 0 {
				request.SeenSince = timestamppb.New(f.at(0.99))
			}
			response, err := problems.ListProblems(ctx, request)
			return request.String(), len(response.GetProblems()), err
		}},
		{"waiting", "a place and all", func(ctx context.Context, n int) (string, int, error) {
			request := &insightv1.ListWaitsRequest{Limit: 50}
			if n%2 == 0 {
				request.Project, request.Domain = f.Project, f.Domain
			}
			response, err := insight.ListWaits(ctx, request)
			return request.String(), len(response.GetRuns()), err
		}},
		{"search", "names, tasks and labels", func(ctx context.Context, n int) (string, int, error) {
			asked := one(n, "r", "nightly", storetest.VariedName(n), "pkg", "flow_7", "none", "team=t0", "experiment=e7")
			response, err := insight.Search(ctx, &insightv1.SearchRequest{Query: asked, Limit: 8})
			return asked, len(response.GetFound()), err
		}},
		{"summaries of a page", "newest and oldest", func(ctx context.Context, n int) (string, int, error) {
			names := make([]string, page)
			for i := range names {
				names[i] = storetest.VariedName(n%2*(f.Runs-page) + i)
			}
			response, err := insight.SummarizeRuns(ctx, &insightv1.SummarizeRunsRequest{ProjectId: f.place(), Runs: names})
			return "", len(response.GetRuns()), err
		}},
	}
}
