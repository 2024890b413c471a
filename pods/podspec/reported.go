package podspec

import (
	"encoding/json"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// MostReported is the length in bytes of the longest report of a policy.
const MostReported = 32 << 10

// reported is the report of a cluster about its policy: what a Reviewer needs of the section executor.pod. Fields that a later version
// adds are not read; since every one of them widens the policy, a pod that needs one is refused.
type reported struct {
	Policy                reportedPolicy `json:"policy"`
	DefaultServiceAccount string         `json:"defaultServiceAccount,omitempty"`
}

// reportedPolicy has the fields of podpolicy.Config.
type reportedPolicy struct {
	PodSecurity     string   `json:"podSecurity"`
	Exceptions      []string `json:"exceptions,omitempty"`
	Capabilities    []string `json:"capabilities,omitempty"`
	Volumes         []string `json:"volumes,omitempty"`
	Fields          []string `json:"fields,omitempty"`
	ServiceAccounts []string `json:"serviceAccounts,omitempty"`
	Secrets         []string `json:"secrets,omitempty"`
	PriorityClasses []string `json:"priorityClasses,omitempty"`
	RuntimeClasses  []string `json:"runtimeClasses,omitempty"`
}

// ReportPolicy is what a cluster says about the policy of its pods, as JSON. A report may be longer than MostReported.
func ReportPolicy(config Config) (string, error) {
	body, err := json.Marshal(reported{Policy: reportedPolicy(config.Policy), DefaultServiceAccount: config.DefaultServiceAccount})
	if err != nil {
		return "", fmt.Errorf("report of the policy of pods: %w", err)
	}
	return string(body), nil
}

// CheckReport returns an error in words for a text that is not the report of a policy.
func CheckReport(text string) error {
	_, err := readReport(text)
	return err
}

func readReport(text string) (Config, error) {
	if len(text) > MostReported {
		return Config{}, fmt.Errorf("the policy of pods has %d bytes, more than %d", len(text), MostReported)
	}
	var report reported
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return Config{}, fmt.Errorf("the policy of pods cannot be read: %w", err)
	}
	return Config{Policy: podpolicy.Config(report.Policy), DefaultServiceAccount: report.DefaultServiceAccount}, nil
}

// maxReviewers bounds the policies that are kept as reviewers.
const maxReviewers = 256

// Reviewers judge pods by the policies that clusters report. They are safe for concurrent use.
type Reviewers struct {
	own      *Reviewer
	reported *lru.Cache[string, *Reviewer] // by the report
}

// NewReviewers returns reviewers that judge by a valid configuration where a cluster has not reported its policy.
func NewReviewers(own Config) *Reviewers {
	known, err := lru.New[string, *Reviewer](maxReviewers)
	if err != nil {
		panic(err) // only a size that is not positive is refused
	}
	return &Reviewers{own: NewReviewer(own), reported: known}
}

// Review judges as Reviewer.Review does, by the report of a cluster. An empty report, or one that cannot be read, means the policy of
// this installation.
func (r *Reviewers) Review(report string, template *core.TaskTemplate, run *task.RunSpec) (field, words string) {
	return r.by(report).Review(template, run)
}

// Read returns how to judge a task again, for any report and run; nil for one that no policy judges.
func (r *Reviewers) Read(template *core.TaskTemplate) func(report string, run *task.RunSpec) (words string) {
	asked := declared(template)
	if asked == nil {
		return nil
	}
	return func(report string, run *task.RunSpec) string {
		_, words := r.by(report).judge(asked, run)
		return words
	}
}

func (r *Reviewers) by(report string) *Reviewer {
	if report == "" {
		return r.own
	}
	if known, ok := r.reported.Get(report); ok {
		return known
	}
	reviewer := r.own
	if config, err := readReport(report); err == nil {
		reviewer = NewReviewer(config)
	}
	r.reported.Add(report, reviewer)
	return reviewer
}
