package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// drivenApp is what is known of an app from outside.
type drivenApp struct {
	plannedApp
	done chan struct{} // closed when all that is planned has been asked for

	mu    sync.Mutex
	known check.App // GUARDED_BY(mu)
	over  bool      // GUARDED_BY(mu): the storm is over, and the app may be gone
}

// appVisitEvery is the time between two requests for an app.
const appVisitEvery = 500 * time.Millisecond

// driveApp creates an app, changes and removes it as planned, and asks it all the time.
func (d *driver) driveApp(ctx context.Context, one *drivenApp) {
	var visits sync.WaitGroup
	defer visits.Wait()
	defer close(one.done)
	if !sleep(ctx, one.after) {
		return
	}
	calls := d.users[one.tenant.Mark].apps
	spec := one.tenant.App(one.name, one.tags[0], d.stack.Programs.Task)
	one.asks(one.tags[0])
	err := insist(ctx, func(ctx context.Context) error {
		_, err := calls.Create(ctx, &app.CreateRequest{App: spec})
		return err //nolint:wrapcheck // it names the procedure
	})
	// After an answer that was lost, it exists.
	if err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists {
		d.appProblem(ctx, "create", one, err)
		return
	}
	one.acknowledged()
	visits.Go(func() { d.visit(ctx, one) })
	if one.again > 0 && sleep(ctx, one.again) {
		one.asks(one.tags[1])
		err := insist(ctx, func(ctx context.Context) error {
			_, err := calls.Update(ctx, &app.UpdateRequest{App: one.tenant.App(one.name, one.tags[1], d.stack.Programs.Task)})
			return err //nolint:wrapcheck // it names the procedure
		})
		if err != nil {
			d.appProblem(ctx, "update", one, err)
			return
		}
		one.acknowledged()
	}
	if one.removed > 0 && sleep(ctx, one.removed) {
		one.mu.Lock()
		one.known.Removed = time.Now()
		one.mu.Unlock()
		d.remove(ctx, one)
	}
}

func (d *driver) appProblem(ctx context.Context, what string, one *drivenApp, err error) {
	if ctx.Err() == nil {
		d.problem("%s app %s: %v", what, one.name, err)
	}
}

func (d *driver) remove(ctx context.Context, one *drivenApp) {
	err := insist(ctx, func(ctx context.Context) error {
		_, err := d.users[one.tenant.Mark].apps.Delete(ctx, &app.DeleteRequest{AppId: one.tenant.AppID(one.name)})
		return err //nolint:wrapcheck // it names the procedure
	})
	if err != nil && connect.CodeOf(err) != connect.CodeNotFound {
		d.appProblem(ctx, "remove", one, err)
	}
}

func (a *drivenApp) asks(tag string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known.Deployed = append(a.known.Deployed, check.Deployed{Tag: tag, Asked: time.Now()})
}

func (a *drivenApp) acknowledged() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known.Deployed[len(a.known.Deployed)-1].Done = time.Now()
}

// visit asks an app through the gateway until the context ends.
func (d *driver) visit(ctx context.Context, one *drivenApp) {
	for sleep(ctx, appVisitEvery) {
		answer := d.askApp(ctx, one)
		one.mu.Lock()
		if ctx.Err() != nil || one.over {
			one.mu.Unlock()
			return
		}
		one.known.Answers = append(one.known.Answers, answer)
		one.mu.Unlock()
	}
}

// appPatience is how long a visitor waits for an answer. The gateway holds requests for apps that start.
const appPatience = 15 * time.Second

// askApp asks an app once, as someone without a credential.
func (d *driver) askApp(ctx context.Context, one *drivenApp) (answer check.Answer) {
	ctx, cancel := context.WithTimeout(ctx, appPatience)
	defer cancel()
	answer.Begun = time.Now()
	defer func() { answer.At = time.Now() }()
	url := fmt.Sprintf("%s/apps/%s/%s/%s/", d.stack.URL(), one.tenant.Project(), script.Domain, one.name)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		answer.Text = err.Error()
		return answer
	}
	response, err := d.visitors[0].at[0].transport.RoundTrip(request)
	if err != nil {
		answer.Text = err.Error()
		return answer
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil { // cut off
		answer.Text = err.Error()
		return answer
	}
	answer.Status, answer.Text = response.StatusCode, strings.TrimSpace(string(body))
	if answer.Status == http.StatusOK {
		_ = json.Unmarshal(body, &answer.Said) // what is none is not the app's, which the checker finds
	}
	return answer
}

// settleApps waits until every app runs where it should and answers, or until nothing has changed for long, and removes them.
func (c *collector) settleApps(ctx context.Context) error {
	database := c.stack.Reader()
	defer database.Close()
	for _, one := range c.driver.apps {
		<-one.done
	}
	moved, before := time.Now(), ""
	for len(c.driver.apps) > 0 {
		settled, now, err := c.lookAtApps(ctx, database)
		if err == nil && now != before {
			before, moved = now, time.Now()
		}
		if settled || time.Since(moved) > stuckAfter {
			break
		}
		if !sleep(ctx, lookEvery) {
			return fmt.Errorf("the apps do not settle: %w; %s", ctx.Err(), before)
		}
	}
	for _, one := range c.driver.apps {
		one.mu.Lock()
		one.over = true
		one.mu.Unlock()
		if one.removed == 0 {
			c.driver.remove(ctx, one)
		}
	}
	return nil
}

// lookAtApps reads where the apps are, and asks each once.
func (c *collector) lookAtApps(ctx context.Context, database *stack.Reader) (settled bool, now string, err error) {
	settled = true
	for _, one := range c.driver.apps {
		if one.removed > 0 {
			continue
		}
		var assigned []string
		err := database.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			return conn.QueryRow(ctx, `SELECT array_remove(array_cat(ARRAY[cluster], others), '') || leaving FROM apps WHERE project = $1 AND domain = $2 AND name = $3`,
				one.tenant.Project(), script.Domain, one.name).Scan(&assigned)
		})
		if err != nil {
			return false, "", err
		}
		slices.Sort(assigned)
		having, err := c.stack.AppClusters(ctx, one.tenant.Project(), one.name)
		if err != nil {
			return false, "", err
		}
		last := c.driver.askApp(ctx, one)
		one.mu.Lock()
		one.known.Assigned, one.known.Having, one.known.Last = assigned, having, last
		settled = settled && one.known.Problem() == ""
		one.mu.Unlock()
		now += fmt.Sprint(one.name, assigned, having, last.Status, last.Said, "; ")
	}
	return settled, now, nil
}

// apps is the evidence about apps.
func (c *collector) apps(ctx context.Context, e *check.Evidence) (err error) {
	for _, one := range c.driver.apps {
		one.mu.Lock()
		one.known.Healed = c.healed
		one.known.Hung = slices.ContainsFunc(c.driver.plan.faults, func(f fault) bool { return f.kind == kindHang })
		known := one.known
		known.Answers = slices.Clone(known.Answers)
		one.mu.Unlock()
		e.Apps = append(e.Apps, known)
	}
	e.AppObjects, err = c.stack.AppObjects(ctx)
	return err
}
