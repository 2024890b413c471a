package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/images"
)

func TestGetImage(t *testing.T) {
	r := newReadFixture(t, func(c *runs.Config) {
		c.Images.Mapping = []images.Mapping{{Name: "torch:1", Image: "example.com/torch:one"}, {Name: "torch", Image: "example.com/torch:any"}}
	})
	for name, want := range map[string]string{
		"torch:1": "example.com/torch:one", "torch:2": "example.com/torch:any", "torch": "example.com/torch:any", "other:3": "other:3",
	} {
		response, err := r.images.GetImage(t.Context(), &imagebuilder.GetImageRequest{Id: &imagebuilder.ImageIdentifier{Name: name}})
		require.NoError(t, err)
		require.Equal(t, want, response.GetImage().GetFqin())
		require.Equal(t, name, response.GetImage().GetId().GetName())
	}
	_, err := r.images.GetImage(t.Context(), &imagebuilder.GetImageRequest{Id: &imagebuilder.ImageIdentifier{}})
	refused(t, err, connect.CodeInvalidArgument, "id.name")

	strict := newReadFixture(t, func(c *runs.Config) { c.Images.Default = "" })
	_, err = strict.images.GetImage(t.Context(), &imagebuilder.GetImageRequest{Id: &imagebuilder.ImageIdentifier{Name: "x"}})
	refused(t, err, connect.CodeNotFound, "image x")
}

func TestImageConfigNamesTheField(t *testing.T) {
	config := runs.DefaultConfig()
	config.Images.Mapping = []images.Mapping{{Name: "a", Image: "b"}, {Name: "a"}}
	require.ErrorContains(t, config.Validate(), "images.mapping[1].image")
}
