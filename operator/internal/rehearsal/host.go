package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve"
)

// resource is an entry of GET /cluster/resources.
type resource struct {
	Type     string `json:"type"`
	VMID     int    `json:"vmid"`
	Name     string `json:"name"`
	Node     string `json:"node"`
	Storage  string `json:"storage"`
	Status   string `json:"status"`
	Template int    `json:"template"`
	Shared   int    `json:"shared"`
}

// LookAt returns the machines and files of the host at a connection.
func LookAt(ctx context.Context, connection pve.Connection) (Host, error) {
	var host Host
	client, err := connection.Client()
	if err != nil {
		return host, err
	}
	var resources []resource
	if err := client.Get(ctx, "/cluster/resources", &resources); err != nil {
		return host, fmt.Errorf("look at the host: %w", err)
	}
	seen := map[string]bool{}
	for _, r := range resources {
		switch {
		case r.Type == "qemu":
			host.Machines = append(host.Machines, Machine{
				VMID: r.VMID, Name: r.Name, Node: r.Node, Running: r.Status == "running", Template: r.Template == 1,
			})
		case r.Type == "storage" && (r.Shared != 1 || !seen[r.Storage]):
			seen[r.Storage] = true
			files, err := content(ctx, client, r)
			if err != nil {
				return host, err
			}
			host.Files = append(host.Files, files...)
		}
	}
	slices.SortFunc(host.Machines, func(a, b Machine) int { return cmp.Compare(a.VMID, b.VMID) })
	slices.SortFunc(host.Files, func(a, b File) int { return cmp.Compare(a.ID, b.ID) })
	return host, nil
}

func content(ctx context.Context, client *proxmox.Client, storage resource) ([]File, error) {
	var volumes []struct {
		ID      string `json:"volid"`
		Content string `json:"content"`
	}
	if err := client.Get(ctx, fmt.Sprintf("/nodes/%s/storage/%s/content", storage.Node, storage.Storage), &volumes); err != nil {
		return nil, fmt.Errorf("look at storage %s of %s: %w", storage.Storage, storage.Node, err)
	}
	files := make([]File, len(volumes))
	for i, volume := range volumes {
		files[i] = File{ID: volume.ID, ISO: volume.Content == "iso"}
	}
	return files, nil
}
