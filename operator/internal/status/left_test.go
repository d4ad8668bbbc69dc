package status_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestWhatADestroyLeaves: machines of all clusters that the stack had, and no command that deletes a running one.
func TestWhatADestroyLeaves(t *testing.T) {
	t.Parallel()
	before, earlier := ownership.Owner{Stack: "k3s-dev", Cluster: "0123456789ab"}, ownership.Owner{Stack: "k3s-dev", Cluster: "ba9876543210"}
	copied := ownership.Owner{Stack: "k3s-copy", Cluster: before.Cluster}
	guest := func(vmid int, name, state string) pve.Guest {
		return pve.Guest{VMID: vmid, Name: name, Node: "vmhost", Type: "qemu", Status: state}
	}
	found := status.Found{
		Guests: []pve.Guest{guest(102, "w-1", "running"), guest(103, "w-2", "stopped"), guest(104, "w-3", "stopped"), guest(105, "nas", "running")},
		Configs: map[int]pve.GuestConfig{
			102: {"description": before.Mark() + "\n"}, 103: {"description": earlier.Mark()}, 104: {"description": copied.Mark()},
			105: {"ide2": currentISO + ",media=cdrom"},
		},
		Volumes: map[string][]pve.Volume{"vmhost": {
			{ID: currentISO, Content: "iso", Bytes: 1 << 30}, {ID: earlierISO, Content: "iso", Bytes: 1 << 30},
			{ID: "tank:vm-101-disk-0", Content: "images", VMID: 101, Bytes: 1 << 30}, {ID: "tank:vm-900-disk-0", Content: "images", VMID: 900},
			{ID: "tank:vm-102-disk-0", Content: "images", VMID: 102},
		}},
	}
	require.Equal(t, status.Left{
		Machines: []status.Orphan{
			{What: "VM 102 (w-1) on vmhost, which runs", Host: "vmhost", Do: "shut it down, then run `em-infra destroy` again, which says how it is deleted"},
			{What: "VM 103 (w-2) on vmhost", Host: "vmhost", Remove: "qm destroy 103 --purge"},
		},
		Disks: []status.Orphan{{What: "disk tank:vm-101-disk-0 (1.0 GiB): there is no VM 101", Host: "vmhost", Remove: "pvesm free tank:vm-101-disk-0"}},
		ISOs: []status.Orphan{
			{What: currentISO + " (1.0 GiB)", Host: "vmhost", Do: "leave it: a machine names it in its drive, and would not start without it"},
			{What: earlierISO + " (1.0 GiB)", Host: "vmhost", Remove: "pvesm free " + earlierISO},
		},
	}, status.LeftOf(found, []ownership.Owner{before, earlier}, []int{101, 102}, []string{currentISO, earlierISO}))
}

// TestSystemsThatADestroyLeaves: those whose description is the mark of the stack, at their VMIDs and with their names.
func TestSystemsThatADestroyLeaves(t *testing.T) {
	t.Parallel()
	wanted := []status.System{
		{Name: "tools", Type: status.VirtualMachine, VMID: 210}, {Name: "pihole", Type: status.Container, VMID: 211},
		{Name: "mail", Type: status.VirtualMachine, VMID: 212}, {Name: "web", Type: status.VirtualMachine, VMID: 213}, {Name: "far", Type: status.Container, VMID: 214},
	}
	host := answering(t, map[string]string{
		"/nodes": `[{"node":"pve1","status":"online"}, {"node":"pve2","status":"offline"}]`,
		"/cluster/resources": `[{"vmid":210,"name":"tools","type":"qemu","node":"pve1","status":"running"}, {"vmid":211,"name":"pihole","type":"lxc","node":"pve1","status":"stopped"},
			{"vmid":212,"name":"mail","type":"qemu","node":"pve1","status":"stopped"}, {"vmid":213,"name":"others","type":"qemu","node":"pve1","status":"stopped"},
			{"vmid":214,"type":"lxc","node":"pve2","status":"unknown"}]`,
		"/nodes/pve1/qemu/210/config": `{"description":"Made by em-infra for stack site-systems."}`,
		"/nodes/pve1/lxc/211/config":  `{"description":"Made by em-infra for stack site-systems.\n"}`,
		"/nodes/pve1/qemu/212/config": `{"description":"Made by em-infra for stack another."}`,
	})
	left, err := status.Sources{Host: host}.LeftSystems(t.Context(), "site-systems", wanted)
	require.NoError(t, err)
	require.Equal(t, status.Left{Machines: []status.Orphan{
		{What: "VM 210 (tools) on pve1, which runs", Host: "pve1", Do: "shut it down, then run `em-infra destroy` again, which says how it is deleted"},
		{What: "CT 211 (pihole) on pve1", Host: "pve1", Remove: "pct destroy 211 --purge"},
	}, Unclear: []status.Orphan{{
		What: "CT 214 on pve2, which may belong to the stack: its configuration is not known (its host pve2 is off)", Host: "pve2",
		Do: "when its host answers, run `em-infra destroy` again: it tells whether this guest belongs to the stack",
	}}}, left)

	_, err = status.Sources{Host: answering(t, map[string]string{
		"/nodes":             `[{"node":"pve1","status":"online"}]`,
		"/cluster/resources": `[{"vmid":210,"name":"tools","type":"qemu","node":"pve1","status":"running"}]`,
	})}.LeftSystems(t.Context(), "site-systems", wanted)
	require.ErrorContains(t, err, "configuration of VM 210 on pve1: ")
}

// answering is a host with these answers by the ends of their paths.
func answering(t *testing.T, answers map[string]string) pve.Reader {
	t.Helper()
	return served(t, func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[strings.TrimPrefix(r.URL.Path, "/api2/json")]
		if !known {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, `{"data":%s}`, answer)
	})
}

// served is a host whose API is this.
func served(t *testing.T, api http.HandlerFunc) pve.Reader {
	t.Helper()
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "em-infra@pve!t=" + rand.Text(), Insecure: true})
	require.NoError(t, err)
	return host
}
