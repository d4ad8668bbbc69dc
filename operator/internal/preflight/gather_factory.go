package preflight

import (
	"context"
	"net/http"
	"time"

	"github.com/siderolabs/image-factory/pkg/client"
)

const factoryTimeout = 10 * time.Second

// factory starts asking the Image Factory what it can build.
func (g *gatherer) factory(ctx context.Context) {
	factory, err := client.New(g.found.Factory.URL, client.WithClient(http.Client{Timeout: factoryTimeout}))
	if err != nil {
		g.found.Factory.Versions.Err = err
		return
	}
	read(g, func() ([]string, error) { return factory.Versions(ctx) },
		func(versions Reading[[]string]) { g.found.Factory.Versions = versions })
	talos := g.subject.Inventory.Cluster.Talos
	if len(g.found.Factory.Needed) == 0 {
		return
	}
	read(g, func() ([]string, error) {
		available, err := factory.ExtensionsVersions(ctx, talos.Version.String())
		names := make([]string, len(available))
		for i, extension := range available {
			names[i] = extension.Name
		}
		return names, err
	}, func(names Reading[[]string]) { g.found.Factory.Extensions = names })
}
