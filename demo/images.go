package demo

import (
	"context"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild"
	"github.com/flyte-binary/flyte-binary/demo/node"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/images"
)

// builderEnv are the variables of this process that builds inherit, besides those that every container does: people
// configure package indexes with them, and with files in their home directory.
var builderEnv = []string{"HOME", "UV", "UV_*", "NETRC", "XDG_CONFIG_HOME", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"} //nolint:gochecknoglobals // a table

// imageBuilder is the task that makes an environment: this program, as a process of the local node.
func (d *demo) imageBuilder() images.Builder {
	return images.Builder{
		Image: ownImage, Command: []string{"flyte-binary"}, CPU: "500m", Memory: "1Gi",
		Args: []string{
			imagebuild.Name, "--spec={{.inputs.spec}}", "--context={{.inputs.context}}", "--target={{.inputs.target_image}}",
			"--output=" + images.OutputDir + "/image", "--secrets=/etc/flyte/secrets",
			"--blobs=" + d.dir.Blobs(), "--environments=" + d.dir.Environments(),
		},
	}
}

// machineImages is the catalog of the images that exist on this machine.
type machineImages struct {
	store *environments.Store
	node  node.Config // with the environments that users have mapped
}

var _ images.Catalog = machineImages{}

// Find implements images.Catalog. An environment that is broken does not exist, so that clients have it built again.
func (m machineImages) Find(_ context.Context, project, domain, name string) (*images.Built, error) {
	if m.node.Mapped(name) {
		return &images.Built{Reference: name}, nil
	}
	found, err := m.store.SoundImage(environments.Image{Project: project, Domain: domain, Name: name})
	if err != nil || found == nil {
		return nil, err
	}
	built := &images.Built{Reference: name}
	if found.Run != "" {
		built.Run = &common.RunIdentifier{Project: found.Project, Domain: found.Domain, Name: found.Run}
	}
	return built, nil
}
