package lives_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// byHandInLayers does a manual change of a layer. A change that is impossible now is skipped.
func (f *life) byHandInLayers(m history.Move) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	layer, err := site.HostsLayer, error(nil)
	switch {
	case history.LayerHands[m.What].OfSystem:
		layer, err = site.SystemsLayer, f.handOnSystem(ctx, m)
	case slices.Contains(history.HandsOfTheNAS, m.What):
		layer, err = site.ClusterLayer, f.handOnNAS(ctx, m)
	default:
		err = f.handOnHost(ctx, m)
	}
	if err != nil {
		f.say("  cannot be done: %v", err)
		return
	}
	tallied.count("hands that did something")
	f.isPending(layer)
}

// handOnHost changes what a stack of hosts configures.
func (f *life) handOnHost(ctx context.Context, m history.Move) error {
	f.t.Helper()
	root, network := f.asRoot(), "/nodes/"+site.Host(1)+"/network"
	switch m.What {
	case "bridge-mtu":
		bridge := map[string]string{"type": "bridge", "autostart": "1", "bridge_ports": "eno2", "bridge_vlan_aware": "1", "mtu": fmt.Sprint(m.Number)}
		if err := root.Put(ctx, network+"/eno2", map[string]string{"type": "eth", "mtu": "9000"}, nil); err != nil { // no bridge has a larger MTU than its port
			return err
		}
		if err := root.Put(ctx, network+"/vmbr1", bridge, nil); err != nil {
			return err
		}
		f.layers.leftovers.Staged = false // if something was, it is applied with it
		return root.Put(ctx, network, nil, nil)
	case "stage-bridge":
		err := root.Post(ctx, network, map[string]string{"iface": fmt.Sprintf("vmbr%d", m.Number), "type": "bridge"}, nil)
		f.layers.leftovers.Staged = f.layers.leftovers.Staged || err == nil
		return err
	case "storage-content":
		return root.Put(ctx, "/storage/nas", map[string]string{"content": "iso"}, nil)
	case "delete-storage":
		return root.Delete(ctx, "/storage/nas", nil)
	case "keyboard":
		return root.Put(ctx, "/cluster/options", map[string]string{"keyboard": "it"}, nil)
	case "job-schedule":
		return root.Put(ctx, "/cluster/backup/nightly", map[string]string{"schedule": fmt.Sprintf("04:%02d", m.Number), "all": "1"}, nil)
	case "delete-user":
		users := f.site.Layers.Hosts.UserNames()
		if len(users) == 0 {
			return fmt.Errorf("there is no user")
		}
		return root.Delete(ctx, "/access/users/"+users[0], nil)
	case "foreign-pool":
		name := fmt.Sprintf("pool-%d", m.Number)
		if err := root.Post(ctx, "/pools", map[string]string{"poolid": name}, nil); err != nil {
			return err
		}
		f.layers.pools = append(f.layers.pools, name)
		return nil
	}
	return fmt.Errorf("there is no move %s", m.What)
}

// handOnSystem changes a system.
func (f *life) handOnSystem(ctx context.Context, m history.Move) error {
	f.t.Helper()
	guest, vmid, err := f.guest(m.Node)
	if err != nil {
		return err
	}
	root := f.asRoot()
	switch m.What {
	case "stop-system":
		return f.task(ctx, root, func(id *string) error { return root.Post(ctx, guest+"/status/stop", nil, id) })
	case "delete-system":
		if err := f.task(ctx, root, func(id *string) error { return root.Post(ctx, guest+"/status/stop", nil, id) }); err != nil {
			return err
		}
		if err := f.task(ctx, root, func(id *string) error { return root.Delete(ctx, guest, id) }); err != nil {
			return err
		}
		f.layers.keeper.GiveUp(vmid)
		delete(f.layers.snapshots, m.Node)
		return nil
	case "memory-of-system":
		return root.Put(ctx, guest+"/config", map[string]any{"memory": 2048 + 64*m.Number}, nil)
	case "snapshot-system":
		name := fmt.Sprintf("mine%d", m.Number)
		err := f.task(ctx, root, func(id *string) error { return root.Post(ctx, guest+"/snapshot", map[string]any{"snapname": name}, id) })
		if err == nil {
			f.layers.snapshots[m.Node] = append(f.layers.snapshots[m.Node], name)
		}
		return err
	case "remove-snapshots":
		return f.removeSnapshots(ctx, m.Node, guest)
	}
	return fmt.Errorf("there is no move %s", m.What)
}

// removeSnapshots removes all snapshots of a system, also those of em-infra.
func (f *life) removeSnapshots(ctx context.Context, name, guest string) error {
	f.t.Helper()
	root := f.asRoot()
	var all []struct{ Name string }
	if err := root.Get(ctx, guest+"/snapshot", &all); err != nil {
		return err
	}
	delete(f.layers.snapshots, name)
	for _, one := range all {
		if one.Name == "current" {
			continue
		}
		if err := f.task(ctx, root, func(id *string) error { return root.Delete(ctx, guest+"/snapshot/"+one.Name, id) }); err != nil {
			return err
		}
	}
	return nil
}

// guest returns the path of a system in the API.
func (f *life) guest(name string) (path string, vmid int, err error) {
	f.t.Helper()
	for _, m := range f.see().Systems {
		if m.Name == name {
			kind := "qemu"
			if (site.System{Name: name}).IsContainer() {
				kind = "lxc"
			}
			return fmt.Sprintf("/nodes/%s/%s/%d", m.Host, kind, m.VMID), m.VMID, nil
		}
	}
	return "", 0, fmt.Errorf("there is no system %s", name)
}

// task waits for the task that a call starts.
func (f *life) task(ctx context.Context, api *proxmox.Client, start func(id *string) error) error {
	f.t.Helper()
	var id string
	if err := start(&id); err != nil {
		return err
	}
	task := proxmox.NewTask(proxmox.UPID(id), api)
	if err := task.Wait(ctx, 50*time.Millisecond, time.Minute); err != nil {
		return err
	}
	if task.IsFailed {
		return fmt.Errorf("the task failed: %s", task.ExitStatus)
	}
	return nil
}

// handOnNAS changes what the cluster has on the box.
func (f *life) handOnNAS(ctx context.Context, m history.Move) error {
	f.t.Helper()
	if f.gone {
		return fmt.Errorf("there is no cluster")
	}
	return f.box(ctx, func(ctx context.Context, c *truenas.Client) error {
		switch m.What {
		case "dataset-quota":
			return c.Call(ctx, nil, "pool.dataset.update", "tank/k8s", map[string]any{"quota": int64(1+m.Number) << 30})
		case "child-dataset":
			name := fmt.Sprintf("tank/k8s/data-%d/by-hand", m.Number)
			if _, found := f.seeNAS().Datasets[fmt.Sprintf("tank/k8s/data-%d", m.Number)]; !found {
				return fmt.Errorf("there is no tank/k8s/data-%d", m.Number)
			}
			if err := c.Call(ctx, nil, "pool.dataset.create", map[string]any{"name": name, "type": "FILESYSTEM"}); err != nil {
				return err
			}
			f.layers.madeDatasets = append(f.layers.madeDatasets, name)
			f.eventually("the box has written its state", func() bool { _, found := f.seeNAS().Datasets[name]; return found })
			f.layers.datasets.Remember(f.seeNAS())
			return nil
		case "delete-dataset":
			if err := c.Call(ctx, nil, "pool.dataset.delete", "tank/k8s/nfs", map[string]any{}); err != nil {
				return err
			}
			f.layers.datasets.GiveUp("tank/k8s/nfs")
			return nil
		case "delete-share":
			var shares []struct{ ID int }
			if err := c.Call(ctx, &shares, "sharing.nfs.query", []any{}, map[string]any{}); err != nil {
				return err
			}
			if len(shares) == 0 {
				return fmt.Errorf("there is no share")
			}
			return c.Call(ctx, nil, "sharing.nfs.delete", shares[0].ID)
		}
		return fmt.Errorf("there is no move %s", m.What)
	})
}

// box calls the box with the key of the lab.
func (f *life) box(ctx context.Context, do func(context.Context, *truenas.Client) error) error {
	f.t.Helper()
	description := f.description()
	fingerprint, err := lab.NASFingerprint(f.lane.labDir(), description)
	require.NoError(f.t, err)
	box := truenas.Connection{Endpoint: description.NASEndpoint(), Fingerprint: fingerprint, Username: "em-infra", APIKey: description.NASKey}
	return box.Do(ctx, do)
}

// asRoot returns a client of the lab's Proxmox VE with all rights.
func (f *life) asRoot() *proxmox.Client {
	f.t.Helper()
	description := f.description()
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // a lab on loopback
	return proxmox.NewClient(description.ProxmoxEndpoint()+"/api2/json", proxmox.WithHTTPClient(insecure),
		proxmox.WithCredentials(&proxmox.Credentials{Username: "root@pam", Password: description.Password}))
}
