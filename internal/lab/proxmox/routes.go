package proxmox

import (
	"net/http"
	"slices"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// row is one method that the lab serves. Its parameters, permissions and returns are those of the embedded API
// description.
type row struct {
	Verb, Path string
	// since is the release that brought the method; empty for those of all releases.
	since schema.Release
	serve func(*Server, *call) (any, error)
}

func (r *row) known(release schema.Release) bool { return r.since == "" || release >= r.since }

// routes is everything that the lab serves.
func routes() []row {
	return slices.Concat(
		clusterRows(),
		nodeRows(),
		taskRows(),
		storageRows(),
		networkRows(),
		vmRows(),
		rrdRows(),
		snapshotRows(),
		mappingHandlers{kind: "pci"}.rows(),
		mappingHandlers{kind: "usb"}.rows(),
		poolRows(),
		haRows(),
		accessRows(),
	)
}

// Endpoints lists the methods that the lab serves.
func Endpoints() []Endpoint {
	rows := routes()

	endpoints := make([]Endpoint, len(rows))
	for i, r := range rows {
		endpoints[i] = Endpoint{Verb: r.Verb, Path: r.Path}
	}

	return endpoints
}

func clusterRows() []row {
	return []row{
		{Verb: http.MethodGet, Path: "/cluster/resources", serve: (*Server).listResources},
		{Verb: http.MethodGet, Path: "/cluster/nextid", serve: (*Server).nextID},
		{Verb: http.MethodGet, Path: "/cluster/status", serve: (*Server).clusterStatus},
		{Verb: http.MethodGet, Path: "/cluster/options", serve: (*Server).clusterOptions},
		{Verb: http.MethodPut, Path: "/cluster/options", serve: (*Server).setClusterOptions},
	}
}

func vmRows() []row {
	const (
		list = "/nodes/{node}/qemu"
		one  = list + "/{vmid}"
	)

	return []row{
		{Verb: http.MethodGet, Path: list, serve: (*Server).listVMs},
		{Verb: http.MethodPost, Path: list, serve: (*Server).createVM},
		{Verb: http.MethodGet, Path: one, serve: (*Server).vmIndex},
		{Verb: http.MethodDelete, Path: one, serve: (*Server).destroyVM},
		{Verb: http.MethodGet, Path: one + "/config", serve: (*Server).getConfig},
		{Verb: http.MethodPut, Path: one + "/config", serve: (*Server).updateVM},
		{Verb: http.MethodPost, Path: one + "/config", serve: (*Server).updateVMAsync},
		{Verb: http.MethodGet, Path: one + "/pending", serve: (*Server).getPending},
		{Verb: http.MethodGet, Path: one + "/status/current", serve: (*Server).currentStatus},
		{Verb: http.MethodPost, Path: one + "/status/start", serve: (*Server).startTask},
		{Verb: http.MethodPost, Path: one + "/status/stop", serve: (*Server).stopTask},
		{Verb: http.MethodPost, Path: one + "/status/shutdown", serve: (*Server).shutdownTask},
		{Verb: http.MethodPost, Path: one + "/status/reboot", serve: (*Server).rebootTask},
		{Verb: http.MethodPost, Path: one + "/clone", serve: (*Server).cloneVM},
		{Verb: http.MethodPut, Path: one + "/resize", serve: (*Server).resizeDisk},
		{Verb: http.MethodPost, Path: one + "/move_disk", serve: (*Server).moveDisk},
		{Verb: http.MethodPost, Path: one + "/migrate", serve: (*Server).migrateVM},
		{Verb: http.MethodPut, Path: one + "/unlink", serve: (*Server).unlinkDisks},
		{Verb: http.MethodPost, Path: one + "/template", serve: (*Server).makeTemplate},
		{Verb: http.MethodPost, Path: one + "/agent/ping", serve: agentCommand("ping")},
		{Verb: http.MethodGet, Path: one + "/agent/get-host-name", serve: agentCommand("get-host-name")},
		{Verb: http.MethodGet, Path: one + "/agent/get-osinfo", serve: agentCommand("get-osinfo")},
		{Verb: http.MethodGet, Path: one + "/agent/network-get-interfaces", serve: agentCommand("network-get-interfaces")},
	}
}
