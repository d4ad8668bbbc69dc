package e2e_test

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/pve"
)

// api returns a client of the lab's Proxmox VE.
func (r *rehearsal) api() *proxmox.Client {
	r.t.Helper()
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	api, err := pve.Connection{Endpoint: description.ProxmoxEndpoint(), Token: description.Token, Insecure: true}.Client()
	require.NoError(r.t, err)
	return api
}

// asRoot returns a client with a session of root@pam.
func (r *rehearsal) asRoot() *proxmox.Client {
	r.t.Helper()
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the lab's own certificate
	return proxmox.NewClient(description.ProxmoxEndpoint()+"/api2/json", proxmox.WithHTTPClient(insecure),
		proxmox.WithCredentials(&proxmox.Credentials{Username: "root@pam", Password: description.Password}))
}

// host returns the lab's Proxmox VE node.
func (r *rehearsal) host() *proxmox.Node {
	r.t.Helper()
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	node, err := r.api().Node(r.t.Context(), description.Host)
	require.NoError(r.t, err)
	return node
}

// power switches machines on or cuts their power, as on the host.
func (r *rehearsal) power(on bool, vmids ...int) {
	r.t.Helper()
	host := r.host()
	for _, vmid := range vmids {
		machine, err := host.VirtualMachine(r.t.Context(), vmid)
		require.NoError(r.t, err)
		task, err := machine.Stop(r.t.Context())
		require.NoError(r.t, err)
		require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
		if on {
			task, err = machine.Start(r.t.Context())
			require.NoError(r.t, err)
			require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
		}
	}
}

// inventoryText returns one of the inventory's files as it is now.
func (r *rehearsal) inventoryText(name string) string {
	r.t.Helper()
	return r.read(filepath.Join(r.inventory, name))
}
