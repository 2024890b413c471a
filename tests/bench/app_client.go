package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/tests/bench/answers"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// calm is how long the apps that sleep stay awake without requests: short, since each cold start waits for it.
const calm = time.Second

// appClient deploys apps at a server and sends them requests.
type appClient struct {
	url  string
	api  appconnect.AppServiceClient
	http *http.Client
}

func newAppClient(url string) *appClient {
	// HTTP/1.1 over kept connections, as most clients of apps do.
	over := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	return &appClient{url: url, api: appconnect.NewAppServiceClient(over, url), http: over}
}

func (c *appClient) close() { c.http.CloseIdleConnections() }

func appID(name string) *app.Identifier {
	return &app.Identifier{Project: stack.Project, Domain: stack.Domain, Name: name}
}

// address is where the server's gateway has an app.
func (c *appClient) address(name string) string {
	return fmt.Sprintf("%s/apps/%s/%s/%s/", c.url, stack.Project, stack.Domain, name)
}

// deploy creates an app that listens on a port. With least 0 it sleeps when it gets no requests.
func (c *appClient) deploy(ctx context.Context, name string, port int, command []string, least uint32) error {
	_, err := c.api.Create(ctx, &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: appID(name)},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{
				Image: "registry.example/bench/app:1", Command: command, Env: []*core.KeyValuePair{{Key: answers.Env, Value: "1"}},
				Ports:     []*core.ContainerPort{{ContainerPort: uint32(port)}},
				Resources: &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "10m"}}},
			}},
			Autoscaling: &app.AutoscalingConfig{
				Replicas: &app.Replicas{Min: least, Max: 1}, ScaledownPeriod: durationpb.New(calm),
			},
			SecurityContext: &app.SecurityContext{AllowAnonymous: true}, DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
		},
	}})
	if err != nil {
		return fmt.Errorf("deploy the app %s: %w", name, err)
	}
	return nil
}

// answering is the command of an app that answers at a port.
func answering(port int) ([]string, error) {
	self, err := os.Executable()
	return []string{self, answers.Command, "127.0.0.1:" + strconv.Itoa(port)}, err
}

// await waits until an app is active, either with a replica or asleep without any.
func (c *appClient) await(ctx context.Context, name string, asleep bool) error {
	for {
		got, err := c.api.Get(ctx, &app.GetRequest{Identifier: &app.GetRequest_AppId{AppId: appID(name)}})
		if err != nil {
			return fmt.Errorf("read the app %s: %w", name, err)
		}
		var last *app.Condition
		if all := got.GetApp().GetStatus().GetConditions(); len(all) > 0 {
			last = all[len(all)-1]
		}
		switch last.GetDeploymentStatus() {
		case app.Status_DEPLOYMENT_STATUS_ACTIVE:
			sleeps := last.GetSubstate() == app.Status_SCALED_TO_ZERO
			if sleeps == asleep && (got.GetApp().GetStatus().GetCurrentReplicas() == 0) == asleep {
				return nil
			}
		case app.Status_DEPLOYMENT_STATUS_FAILED:
			return fmt.Errorf("the app %s failed: %s", name, last.GetMessage())
		default:
		}
		if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("the app %s is %s (%s): %w", name, last.GetDeploymentStatus(), last.GetMessage(), err)
		}
	}
}

func (c *appClient) delete(ctx context.Context, name string) error {
	_, err := c.api.Delete(ctx, &app.DeleteRequest{AppId: appID(name)})
	if err != nil {
		return fmt.Errorf("delete the app %s: %w", name, err)
	}
	return nil
}

// get sends a GET and reads the answer.
func (c *appClient) get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, body)
	}
	return err
}
