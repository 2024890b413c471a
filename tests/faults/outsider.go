package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// outsider does what clients and administrators may do at any time: delete objects, cut database connections, and
// replay old events.
type outsider struct {
	stack  *stack.Stack
	client *client
	seed   uint64
}

func (o *outsider) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return pgx.Connect(ctx, o.stack.DSN())
}

func (o *outsider) terminateBackends(ctx context.Context) error {
	conn, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it served one statement
	_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()`)
	return err
}

// stopPostgres stops all processes of Postgres: connections stay open, and nothing is answered on them or on new ones.
// What it returns lets them continue, also after an error.
func (o *outsider) stopPostgres(ctx context.Context) (thaw func(), err error) {
	var pids []int
	thaw = func() {
		for _, pid := range pids {
			_ = signalPid(pid, syscall.SIGCONT) // it may have ended meanwhile
		}
	}
	conn, err := o.connect(ctx)
	if err != nil {
		return thaw, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it served one statement
	stop := func(pid int) {
		pids = append(pids, pid)
		_ = signalPid(pid, syscall.SIGSTOP) // as above
	}
	stop(o.stack.Postgres.Pid()) // first, so that it starts no more
	rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()`)
	if err != nil {
		return thaw, err
	}
	others, err := pgx.CollectRows(rows, pgx.RowTo[int])
	for _, pid := range others {
		stop(pid)
	}
	return thaw, err
}

// replay sends old events to the server again, some of them twice and out of order.
func (o *outsider) replay(ctx context.Context, n int) error {
	conn, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it served one statement
	rows, err := conn.Query(ctx, `SELECT e.event FROM action_events e JOIN actions a ON a.id = e.run_id
		WHERE a.run_name LIKE $1 AND e.event IS NOT NULL ORDER BY random() LIMIT $2`, runsOf(o.seed), n)
	if err != nil {
		return err
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(bodies) == 0 {
		return err
	}
	request := &workflow.RecordRequest{}
	for _, body := range bodies {
		event := &workflow.ActionEvent{}
		if err := proto.Unmarshal(body, event); err != nil {
			return err
		}
		for range 1 + rand.N(2) {
			request.Events = append(request.Events, event)
		}
	}
	rand.Shuffle(len(request.GetEvents()), func(i, j int) {
		request.Events[i], request.Events[j] = request.Events[j], request.Events[i]
	})
	return insist(ctx, func(ctx context.Context) error {
		_, err := o.client.events.Record(ctx, request)
		return err
	})
}

func (o *outsider) deletePods(ctx context.Context, n int) error {
	pods, err := o.stack.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range some(len(pods.Items), n) {
		err := o.stack.Client.CoreV1().Pods(pods.Items[i].Namespace).Delete(ctx, pods.Items[i].Name, metav1.DeleteOptions{})
		errs = append(errs, unlessGone(err))
	}
	return errors.Join(errs...)
}

func (o *outsider) deleteTaskActions(ctx context.Context, n int) error {
	found, err := o.stack.Metadata.Resource(v1.Resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var errs []error
	for _, i := range some(len(found.Items), n) {
		err := o.stack.Metadata.Resource(v1.Resource).Namespace(found.Items[i].Namespace).Delete(ctx, found.Items[i].Name, metav1.DeleteOptions{})
		errs = append(errs, unlessGone(err))
	}
	return errors.Join(errs...)
}

// deleteObjects deletes Jobs and the objects of operators.
func (o *outsider) deleteObjects(ctx context.Context, n int) error {
	objects, err := o.stack.Objects(ctx, metav1.ListOptions{})
	errs := []error{err}
	for _, i := range some(len(objects), n) {
		one, behind := objects[i], metav1.DeletePropagationBackground
		err := o.stack.Metadata.Resource(one.Resource).Namespace(one.Namespace).Delete(ctx, one.Name, metav1.DeleteOptions{PropagationPolicy: &behind})
		errs = append(errs, unlessGone(err))
	}
	return errors.Join(errs...)
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// some picks up to n indexes below a limit.
func some(limit, n int) []int {
	picked := rand.Perm(limit)
	return slices.Clone(picked[:min(n, limit)])
}

// runsOf is the pattern of the names of a seed's runs.
func runsOf(seed uint64) string { return fmt.Sprintf("s%d-%%", seed) }
