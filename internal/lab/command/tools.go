package command

import (
	"context"
	"io"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// Tools installs the programs that the lab runs. The first call takes minutes, later ones no time.
func Tools(ctx context.Context, progress io.Writer) (kubernetes.Tools, error) {
	var tools kubernetes.Tools
	for _, program := range []struct {
		name string
		path *string
	}{{"controlplane", &tools.ControlPlane}, {"kwok", &tools.Kwok}} {
		installed, err := toolchain.Install(ctx, toolchain.Options{Names: []string{program.name}, Progress: progress})
		if err != nil {
			return tools, err
		}
		*program.path = installed.Tools[0].Path
	}
	return tools, nil
}
