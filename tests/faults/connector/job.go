package connector

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Job is what is known of a job when the storm is over.
type Job struct {
	Key, Run, Action string
	Attempt          int // from 1
	// Ended means that the system said how it ended, and Succeeded that it did so well.
	Ended, Succeeded bool
	// Deleted means that it was deleted while it ran, and Lost that the system lost it.
	Deleted, Lost bool
	// GivenUp means that the system answered with MaxErrors errors in a row, so that its caller may have given it up.
	GivenUp bool
}

// Why a job stops that has not ended.
const (
	deleted = "deleted"
	lost    = "lost"
)

// job follows a script. The server's lock guards it.
type job struct {
	Job
	node   script.Node
	dir    string // where it writes
	begun  time.Time
	state  *connectorv2.Resource // nil while it runs
	errors int                   // in a row
	notes  *ledger.Writer        // it holds the lock of the attempt while the job lives
}

// begin starts the job of a request.
func (s *Server) begin(key string, r *connectorv2.CreateTaskRequest) (*job, error) {
	labels := r.GetTaskExecutionMetadata().GetLabels()
	attempt, err := strconv.Atoi(labels["flyte.org/attempt"])
	if err != nil || key == "" {
		return nil, fmt.Errorf("key %q, attempt %q", key, labels["flyte.org/attempt"])
	}
	j := &job{Job: Job{Key: key, Run: labels["flyte.org/run"], Action: labels["flyte.org/action"], Attempt: attempt}, dir: r.GetOutputPrefix()}
	if j.node, err = nodeOf(r); err != nil {
		return nil, err
	}
	if err := j.check(r); err != nil {
		return nil, err
	}
	if j.notes, err = ledger.Open(s.ledger, j.Run, j.Action, attempt); err != nil {
		return nil, err
	}
	if secret := r.GetConnection().GetSecrets()[j.node.Secret]; j.node.Secret != "" && secret != j.node.Tenant.SecretValue(j.node.Secret) {
		if err := j.notes.Note(ledger.Line{What: ledger.Secret, Note: fmt.Sprintf("%s is %q", j.node.Secret, secret)}); err != nil {
			return nil, err
		}
	}
	j.begun = time.Now()
	return j, nil
}

func nodeOf(r *connectorv2.CreateTaskRequest) (script.Node, error) {
	body, err := proto.Marshal(r.GetInputs())
	if err != nil {
		return script.Node{}, err
	}
	return script.Decode(body)
}

// check compares the request with what its action is.
func (j *job) check(r *connectorv2.CreateTaskRequest) error {
	metadata, container := r.GetTaskExecutionMetadata(), r.GetTemplate().GetContainer()
	own := j.node.Tenant
	switch {
	case metadata.GetLabels()["flyte.org/project"] != own.Project():
		return fmt.Errorf("work of %s is in the project %s", own.Project(), metadata.GetLabels()["flyte.org/project"])
	case metadata.GetEnvironmentVariables()[script.TenantEnv] != own.Content:
		return fmt.Errorf("%s is %q", script.TenantEnv, metadata.GetEnvironmentVariables()[script.TenantEnv])
	case int(metadata.GetTaskExecutionId().GetRetryAttempt()) != j.Attempt-1:
		return fmt.Errorf("attempt %d has the number %d", j.Attempt, metadata.GetTaskExecutionId().GetRetryAttempt())
	case j.dir == "" || len(container.GetArgs()) != 2 || container.GetArgs()[1] != j.dir:
		return fmt.Errorf("the directory is %q, the arguments are %q", j.dir, container.GetArgs())
	case j.node.Secret == "" && len(r.GetConnection().GetSecrets()) > 0:
		return errors.New("it gets secrets that it did not ask for")
	}
	return nil
}

// live reports whether it runs.
func (j *job) live() bool { return j.state == nil && !j.Deleted && !j.Lost }

// stop ends it before its time.
func (j *job) stop(why string) {
	j.Deleted, j.Lost = why == deleted, why == lost
	j.close()
}

func (j *job) close() { j.notes.Close() }

// look returns how it is. It ends when its time has come, and someone looks: so the end of each job is said, or it is deleted.
func (j *job) look() (*connectorv2.Resource, error) {
	switch {
	case j.Deleted:
		return &connectorv2.Resource{Phase: core.TaskExecution_ABORTED, Message: "it was deleted"}, nil
	case j.state != nil:
		return j.state, nil
	case time.Since(j.begun) < time.Duration(j.node.Millis)*time.Millisecond:
		return running(), nil
	}
	state, err := j.end()
	if err != nil {
		return running(), nil //nolint:nilerr // such as a full disk, which is waited out
	}
	j.state, j.Ended, j.Succeeded = state, true, state.GetPhase() == core.TaskExecution_SUCCEEDED
	j.close()
	return state, nil
}

// end leaves what the script says. Half of the jobs write their outputs or their error themselves, the others leave that to the
// answer.
func (j *job) end() (*connectorv2.Resource, error) {
	earlier, err := j.notes.Failures()
	if err != nil {
		return nil, err
	}
	writes := j.node.Millis%2 == 0
	if j.node.Fatal || earlier < j.node.Failures {
		state := &connectorv2.Resource{Phase: core.TaskExecution_FAILED, Message: "the script of " + j.node.Tenant.Content + " wants it"}
		if !j.node.Fatal && !writes {
			state.Phase = core.TaskExecution_RETRYABLE_FAILED
		}
		if writes {
			err = script.WriteFile(path.Join(j.dir, "error.pb"), j.node.Failure())
		}
		return state, errors.Join(err, j.noted(err, ledger.Failing))
	}
	state := &connectorv2.Resource{Phase: core.TaskExecution_SUCCEEDED}
	if writes {
		err = script.WriteFile(path.Join(j.dir, "outputs.pb"), j.node.Outputs(0))
	} else {
		state.Outputs = j.node.Outputs(0)
	}
	return state, errors.Join(err, j.noted(err, ledger.Done))
}

// noted notes an end once it is complete.
func (j *job) noted(err error, what string) error {
	if err != nil {
		return err
	}
	return j.notes.Note(ledger.Line{What: what})
}

// String is how a violation names it.
func (j Job) String() string {
	text, err := json.Marshal(j)
	if err != nil {
		return j.Key
	}
	return string(text)
}
