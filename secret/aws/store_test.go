package aws_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/test/mototest"
	"github.com/flyte-binary/flyte-binary/secret/aws"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

func open(t *testing.T, endpoint string) *aws.Store {
	t.Helper()
	config := aws.DefaultConfig()
	config.Region, config.Endpoint, config.AccessKeyID, config.SecretAccessKey = "eu-west-1", endpoint, "test", "test"
	store, err := aws.New(t.Context(), config)
	require.NoError(t, err)
	return store
}

func TestContract(t *testing.T) {
	backendtest.Contract(t, open(t, mototest.Start(t)), backendtest.Options{MaxValue: 64 << 10, AnyPageSize: true})
}

func TestAnOutage(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	store := open(t, "http://"+listener.Addr().String())
	var unavailable *entry.UnavailableError
	err = store.Create(ctx, backendtest.ID("p", "d", "key"), backendtest.Text("hidden"))
	require.ErrorAs(t, err, &unavailable)
	require.NotContains(t, err.Error(), "hidden")
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*aws.Config){
		"region":      func(c *aws.Config) { c.Region = "" },
		"prefix":      func(c *aws.Config) { c.Prefix = "flyte/" },
		"accessKeyID": func(c *aws.Config) { c.AccessKeyID = "x" },
	} {
		config := aws.DefaultConfig()
		config.Region = "eu-west-1"
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
